internal import Glibc
internal import SignalboxCrypto

/// The files that a gateway and a sink of Benchmarks/ need to talk to each other.
public enum BenchKeys {
    /// Writes `ca.pem`, `server.pem`, `server.key` and `apns.p8` into a folder, which is made if need be.
    public static func write(folder: String) throws {
        let files = try SimulatorFiles(folder: folder)
        let authority = try ThrowAway.certificateAuthority(name: "bench")
        let server = try ThrowAway.serverIdentity(authority: authority)
        try files.write(authority.certificatePEM, to: files.ca)
        try files.write(server.certificatePEM, to: "\(folder)/server.pem")
        try files.write(server.privateKeyPEM, to: "\(folder)/server.key")
        try files.write(try ThrowAway.p256Key().privateKeyPEM(), to: files.apnsKey)
    }
}
