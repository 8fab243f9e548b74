import Glibc
import SignalboxCrypto

/// The files that a gateway and a sink of Benchmarks/ need to connect to each other.
enum BenchKeys {
    /// Writes `ca.pem`, `server.pem`, `server.key` and `apns.p8` into a folder.
    ///
    /// The folder is created if missing.
    static func write(folder: String) throws {
        let authority = try ThrowAway.certificateAuthority(name: "bench")
        let server = try ThrowAway.serverIdentity(authority: authority)
        mkdir(folder, 0o700)
        try write(authority.certificatePEM, to: "\(folder)/ca.pem")
        try write(server.certificatePEM, to: "\(folder)/server.pem")
        try write(server.privateKeyPEM, to: "\(folder)/server.key")
        try write(try ThrowAway.p256Key().privateKeyPEM(), to: "\(folder)/apns.p8")
    }

    private static func write(_ bytes: [UInt8], to path: String) throws {
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        defer { close(file) }
        guard Glibc.write(file, bytes, bytes.count) == bytes.count else {
            throw BenchFault(description: "cannot write \(path)")
        }
    }
}
