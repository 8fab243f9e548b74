internal import SignalboxCore
internal import SignalboxJSON
internal import Synchronization

/// The secrets of one instance.
final class SecretBox: Sendable {
    private struct State {
        var secrets: [String: PluginSecret]
        var watches: [(name: String, body: @Sendable () -> Void)] = []
        /// Values of files that cannot be used.
        var refused: [String: [UInt8]] = [:]
        /// How many looks in a row found nothing in a file.
        var lost: [String: Int] = [:]
    }

    private let state: Mutex<State>

    init(_ secrets: [String: PluginSecret]) { state = Mutex(State(secrets: secrets)) }

    func bytes(_ name: String) -> [UInt8]? { state.withLock { $0.secrets[name]?.bytes } }

    /// A secret, or a member of it if it is a JSON document.
    func bytes(_ name: String, pointer: String) throws(PluginFault) -> [UInt8] {
        guard let bytes = bytes(name) else {
            throw PluginFault(.notFound, "there is no secret \"\(name)\"")
        }
        if pointer.isEmpty { return bytes }
        let missing = PluginFault(
            .notFound, "the secret \"\(name)\" is not a JSON document with text at \(pointer)")
        guard let parser = JSONParser() else { throw missing }
        let found = bytes.withUnsafeBufferPointer { text -> [UInt8]? in
            guard let root = try? parser.parse(text) else { return nil }
            let path = Array(pointer.utf8)
            let value = path.withUnsafeBufferPointer { JSONParser.at(root, pointer: $0) }
            return value.flatMap { JSONParser.string($0) }.map { Array($0) }
        }
        guard let found else { throw missing }
        return found
    }

    /// Registers a function to call when a secret changes; false if there is no such secret.
    func watch(_ name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            guard state.secrets[name] != nil else { return false }
            state.watches.append((name, body))
            return true
        }
    }

    /// All secrets, with their current values.
    var all: [String: PluginSecret] { state.withLock { $0.secrets } }

    /// Whether one of them came from this file.
    func isFile(_ path: String) -> Bool {
        state.withLock { $0.secrets.values.contains { $0.file == path } }
    }

    /// Whether some came from files, so that they can change.
    var hasFiles: Bool { state.withLock { $0.secrets.values.contains { $0.file != nil } } }

    /// Removes all watches.
    func endWatches() { state.withLock { $0.watches = [] } }

    /// What the files hold.
    struct Look {
        /// Values that differ from the secrets, and were not refused.
        var news: [String: [UInt8]] = [:]
        /// Secrets whose files have been gone or empty for two looks.
        var lost: [String] = []
    }

    /// Reads the files again, and changes nothing.
    func look(_ read: (String) -> [UInt8]?) -> Look {
        let files = state.withLock { state in
            state.secrets.compactMap { name, secret in
                secret.file.map { (name: name, file: $0) }
            }
        }
        var look = Look()
        for (name, file) in files {
            let bytes = read(file).map(Self.trimmed) ?? []
            state.withLock { state in
                guard !bytes.isEmpty else {
                    // A file that is being replaced may be gone or empty for a moment.
                    state.lost[name, default: 0] += 1
                    if state.lost[name] == 2 { look.lost.append(name) }
                    return
                }
                state.lost[name] = nil
                guard state.secrets[name]?.bytes != bytes else { return state.refused[name] = nil }
                look.news[name] = bytes
            }
        }
        // Tried again as soon as one of them is another: a key and its certificate are two files.
        let refused = state.withLock { $0.refused }
        if look.news.allSatisfy({ refused[$0.key] == $0.value }) { look.news = [:] }
        return look
    }

    /// These values cannot be used: they are not looked at again.
    func refuse(_ news: [String: [UInt8]]) {
        state.withLock { $0.refused.merge(news) { $1 } }
    }

    /// These values are the secrets from now on. Returns the functions to call.
    func take(_ news: [String: [UInt8]]) -> [@Sendable () -> Void] {
        state.withLock { state in
            for (name, bytes) in news {
                state.secrets[name]?.bytes = bytes
                state.refused[name] = nil
            }
            return state.watches.filter { news[$0.name] != nil }.map(\.body)
        }
    }

    /// Text without the line break that editors put at the end of a file.
    private static func trimmed(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.last == UInt8(ascii: "\n"),
            String(validating: bytes, as: UTF8.self) != nil
        else { return bytes }
        let out = bytes.dropLast()
        return Array(out.last == UInt8(ascii: "\r") ? out.dropLast() : out)
    }
}
