internal import Glibc
internal import SignalboxConfig
internal import SignalboxHTTP
internal import SignalboxPluginHost

/// The process that listens on a Unix socket of the configuration.
struct ListeningProcess {
    /// 0 if unknown.
    let id: Int32
    private let name: String

    /// nil if nobody listens there.
    init?(_ path: String) {
        guard let id = SocketOwner.process(listeningOn: path) else { return nil }
        self.id = id
        name = id > 0 ? Self.text("/proc/\(id)/comm") ?? "" : ""
    }

    var words: String { id > 0 ? "process \(id)\(name.isEmpty ? "" : " (\(name))")" : "somebody" }

    /// Whether it is this configuration's gateway: the process that holds the lock of the data folder. Without a
    /// folder, or where the system does not list locks, its name decides.
    func isGateway(data: String?) -> Bool {
        if id == getpid(), data == nil { return true }
        guard let data, let locks = Self.text("/proc/locks") else { return name == "signalbox" }
        guard let lock = FilePlace.facts(of: "\(data)/signalbox.sqlite") else { return false }
        // 1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF
        return locks.split(separator: "\n").contains { line in
            let parts = line.split(separator: " ")
            return parts.count > 5 && parts[1] == "FLOCK" && parts[4] == "\(id)"
                && parts[5].hasSuffix(":\(lock.number)")
        }
    }

    /// The text of a small system file; nil if it cannot be read.
    private static func text(_ path: String) -> String? {
        guard case .success(let bytes) = ConfigEnvironment.read(path) else { return nil }
        let text = String(decoding: bytes, as: UTF8.self)
        return text.hasSuffix("\n") ? String(text.dropLast()) : text
    }
}
