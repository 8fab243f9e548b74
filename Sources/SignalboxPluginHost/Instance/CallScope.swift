internal import CSignalbox
internal import Glibc
internal import SignalboxCore
internal import SignalboxJSON

/// The memory that lives until a call into a plugin returns: structs for it, parsed JSON, borrowed text.
///
/// One per thread; the services find it through the current thread.
package final class CallScope {
    let arena = CArena()
    private var parsers: [JSONParser] = []
    private var used = 0
    /// Parses documents that are kept longer than the call.
    private var keeper: JSONParser?
    /// The documents of this call.
    private var documents: Set<UnsafeRawPointer> = []
    /// Documents of this call that are also kept elsewhere.
    private var kept: [JSONDocument] = []
    /// The document used last, which is usually the next one too.
    private var recent: UnsafeRawPointer?
    private var depth = 0
    /// Texts shortened since the last `takeFit`; nil if the plugin has fitted nothing.
    private var fitted: ShortenedTexts?
    /// Whether the call may block.
    private var isControl = false

    /// The scope of this thread, or nil outside of a call.
    package static var current: CallScope? {
        let scope = ThreadSlot.scope
        return scope.depth > 0 ? scope : nil
    }

    /// Whether this thread is in a `[control]` call.
    static var isControl: Bool { current?.isControl ?? false }

    /// Whether a value belongs to a document of the call on this thread; false outside of a call.
    ///
    /// Asked for each value that a plugin reads, so the scope is not retained for it.
    static func owns(_ value: sbx_json_value) -> Bool {
        guard let known = ThreadSlot.known else { return false }
        return Unmanaged<CallScope>.fromOpaque(known)._withUnsafeGuaranteedRef {
            $0.depth > 0 && $0.owns(value)
        }
    }

    /// Runs a call into a plugin; `owner` is the instance's name, which lives as long as the instance.
    package static func run<Result>(
        of owner: UnsafePointer<CChar>? = nil, isControl: Bool = false,
        _ body: (CArena) throws -> Result
    ) rethrows -> Result {
        let outer = CrashReport.enter(owner)
        defer { CrashReport.leave(to: outer, from: owner) }
        let scope = ThreadSlot.scope
        if scope.depth == 0 { scope.isControl = isControl }
        scope.depth += 1
        defer { scope.leave() }
        return try body(scope.arena)
    }

    /// Parses text into a document that lives as long as the scope.
    ///
    /// JSON that the host gave to the plugin in this call is not parsed again.
    func parse(_ text: UnsafeBufferPointer<UInt8>) throws(JSONFault) -> JSONParser.Value {
        if let document = arena.given.document(text, { document($0) }) {
            if let memory = document.root.document, documents.insert(memory).inserted {
                kept.append(document)
            }
            recent = document.root.document
            return document.root
        }
        if used == parsers.count {
            guard let made = JSONParser() else {
                throw JSONFault(message: "there is no memory for it")
            }
            parsers.append(made)
        }
        let root = try parsers[used].parse(text)
        if let document = root.document {
            documents.insert(document)
            recent = document
        }
        used += 1
        return root
    }

    /// Parses text into a document that outlives the scope.
    func document(
        _ text: UnsafeBufferPointer<UInt8>
    ) throws(JSONFault) -> JSONDocument {
        guard let parser = keeper ?? JSONParser() else {
            throw JSONFault(message: "there is no memory for it")
        }
        keeper = parser
        return try JSONDocument(text, with: parser)
    }

    /// Parses text into a document that outlives the scope; nil if it is not JSON.
    func document(_ text: String) -> JSONDocument? {
        var text = text
        return text.withUTF8 { try? document($0) }
    }

    /// The value's JSON, in memory of the scope.
    func text(of value: JSONParser.Value) -> sbx_str? {
        JSONParser.text(of: value).map { arena.bytes(UnsafeRawBufferPointer($0)) }
    }

    /// Whether a value belongs to a document of this call: the plugin may have kept an old one.
    func owns(_ value: sbx_json_value) -> Bool {
        guard let document = value.document else { return false }
        if document == recent { return true }
        guard documents.contains(document) else { return false }
        recent = document
        return true
    }

    /// The plugin has fitted a payload; these texts were shortened.
    func noteFit(_ shortened: ShortenedTexts) { fitted = (fitted ?? []).union(shortened) }

    /// Returns and clears the texts shortened since the last call; nil if nothing was fitted.
    func takeFit() -> ShortenedTexts? {
        defer { fitted = nil }
        return fitted
    }

    private func leave() {
        depth -= 1
        guard depth == 0 else { return }
        fitted = nil
        arena.reset()
        documents.removeAll(keepingCapacity: true)
        kept.removeAll(keepingCapacity: true)
        recent = nil
        // A batch of many answers needs many parsers once; a few are enough between batches.
        if parsers.count > 8 { parsers.removeLast(parsers.count - 8) }
        used = 0
    }
}

/// The scope of each thread.
private enum ThreadSlot {
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key) { scope in
            guard let scope else { return }
            Unmanaged<CallScope>.fromOpaque(scope).release()
        }
        return key
    }()

    /// The scope of this thread, if it has one.
    static var known: UnsafeMutableRawPointer? { pthread_getspecific(key) }

    static var scope: CallScope {
        if let known {
            return Unmanaged<CallScope>.fromOpaque(known).takeUnretainedValue()
        }
        let made = CallScope()
        pthread_setspecific(key, Unmanaged.passRetained(made).toOpaque())
        return made
    }
}
