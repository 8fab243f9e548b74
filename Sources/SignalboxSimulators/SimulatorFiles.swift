internal import Glibc
internal import SignalboxCore

/// The files that a gateway needs to talk to simulators.
public struct SimulatorFiles: Sendable {
    /// The folder that they are in.
    public let folder: String

    /// Trusted root of both simulators, PEM.
    public var ca: String { "\(folder)/ca.pem" }
    /// APNs key, PKCS#8 PEM.
    public var apnsKey: String { "\(folder)/apns.p8" }
    /// FCM service account, JSON.
    public var serviceAccount: String { "\(folder)/fcm.json" }

    /// Uses a folder that is there, or makes it; nil: makes one under the system's temporary folder.
    init(folder given: String?) throws(SimulatorFault) {
        if let given {
            guard mkdir(given, 0o700) == 0 || errno == EEXIST else {
                throw SimulatorFault(message: "cannot make the folder \(given)")
            }
            folder = given
            return
        }
        var template = Array(("/tmp/signalbox-" + String(repeating: "X", count: 6)).utf8CString)
        guard let made = mkdtemp(&template) else {
            throw SimulatorFault(message: "cannot make a folder under /tmp")
        }
        folder = String(cString: made)
    }

    /// Writes a file that only its owner may read.
    func write(_ bytes: [UInt8], to path: String) throws(SimulatorFault) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SimulatorFault(message: "cannot write \(path)") }
        defer { close(descriptor) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { throw SimulatorFault(message: "cannot write \(path)") }
            rest = rest.dropFirst(count)
        }
    }

    /// Where a gateway beside the simulators may keep its database.
    public var data: String { "\(folder)/data" }

    /// Removes the files, the database of a gateway among them, and the folder if it is empty then.
    func remove() {
        for path in [ca, apnsKey, serviceAccount] { unlink(path) }
        for name in ["signalbox.sqlite", "signalbox.sqlite-wal", "signalbox.sqlite-shm", "lock"] {
            unlink("\(data)/\(name)")
        }
        rmdir(data)
        rmdir(folder)
    }
}

/// Why simulators cannot be started.
public struct SimulatorFault: Error, Sendable, CustomStringConvertible {
    let message: String

    /// Names the thing and the reason.
    public var description: String { message }
}
