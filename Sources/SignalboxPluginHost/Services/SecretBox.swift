internal import SignalboxCore
internal import SignalboxJSON
internal import Synchronization

/// The secrets of one instance.
final class SecretBox: Sendable {
    private struct State {
        var secrets: [String: PluginSecret]
        var watches: [(name: String, body: @Sendable () -> Void)] = []
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

    /// Reads the files again. Returns whether any secret changed, and the functions to call.
    func reread(
        _ read: (String) -> [UInt8]?
    ) -> (hasChanged: Bool, due: [@Sendable () -> Void]) {
        let files = state.withLock { state in
            state.secrets.compactMap { name, secret in
                secret.file.map { (name: name, file: $0) }
            }
        }
        var hasChanged = false
        var due: [@Sendable () -> Void] = []
        for (name, file) in files {
            // A file that is being replaced may be gone or empty for a moment.
            guard let bytes = read(file).map(Self.trimmed), !bytes.isEmpty else { continue }
            state.withLock { state in
                guard let secret = state.secrets[name], secret.bytes != bytes else { return }
                state.secrets[name]?.bytes = bytes
                hasChanged = true
                due += state.watches.filter { $0.name == name }.map(\.body)
            }
        }
        return (hasChanged, due)
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
