internal import Glibc
internal import SignalboxCore

/// The files that a gateway needs to talk to simulators.
public struct SimulatorFiles: Sendable {
    /// The absolute path of the files' folder: a gateway reads relative paths from the folder of its gateway.yaml.
    public let folder: String

    /// Root certificate of the simulators, PEM.
    public var ca: String { "\(folder)/ca.pem" }
    /// APNs key, PKCS#8 PEM.
    public var apnsKey: String { "\(folder)/apns.p8" }
    /// FCM service account, JSON.
    public var serviceAccount: String { "\(folder)/fcm.json" }

    /// HMS service account, JSON.
    public var hmsAccount: String { "\(folder)/hms.json" }

    /// Uses an existing folder or creates it; if nil, creates one in the system's temporary folder.
    init(folder given: String?) throws(SimulatorFault) {
        if let given {
            guard mkdir(given, 0o700) == 0 || errno == EEXIST else {
                throw SimulatorFault(message: "cannot make the folder \(given)")
            }
            guard let path = realpath(given, nil) else {
                throw SimulatorFault(message: "cannot find the folder \(given)")
            }
            defer { free(path) }
            folder = String(cString: path)
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

    /// Where a gateway that uses the simulators may keep its database.
    public var data: String { "\(folder)/data" }

    /// Removes the files, including a gateway's database, and then the folder if it is empty.
    func remove() {
        for path in [ca, apnsKey, serviceAccount, hmsAccount] { unlink(path) }
        for name in ["signalbox.sqlite", "signalbox.sqlite-wal", "signalbox.sqlite-shm"] {
            unlink("\(data)/\(name)")
        }
        rmdir(data)
        rmdir(folder)
    }
}

/// Why the simulators cannot start.
public struct SimulatorFault: Error, Sendable, CustomStringConvertible {
    let message: String

    /// Names the object and the reason.
    public var description: String { message }
}
