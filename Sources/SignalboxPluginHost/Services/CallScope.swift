internal import CSignalbox
internal import Glibc
internal import SignalboxJSON

/// What lives until a call into a plugin returns: structs for it, parsed JSON, borrowed text.
///
/// One per thread, found by the services through the thread.
package final class CallScope {
    let arena = CArena()
    private var parsers: [JSONParser] = []
    private var used = 0
    private var documents: [UnsafeRawPointer: Int] = [:]
    /// The document that was asked for last: mostly it is the next one, too.
    private var recent: (document: UnsafeRawPointer, index: Int)?
    private var depth = 0
    /// The call is one that may block.
    private var isControl = false

    /// The scope of this thread, or nil outside of a call.
    package static var current: CallScope? {
        let scope = ThreadSlot.scope
        return scope.depth > 0 ? scope : nil
    }

    /// This thread is in a `[control]` call.
    static var isControl: Bool { current?.isControl ?? false }

    /// Runs a call into a plugin.
    package static func run<Result>(
        isControl: Bool = false, _ body: (CArena) throws -> Result
    ) rethrows -> Result {
        let scope = ThreadSlot.scope
        if scope.depth == 0 { scope.isControl = isControl }
        scope.depth += 1
        defer { scope.leave() }
        return try body(scope.arena)
    }

    /// Parses text into a document that lives as long as the scope.
    func parse(_ text: UnsafeBufferPointer<UInt8>) throws(JSONFault) -> JSONParser.Value {
        if used == parsers.count {
            guard let made = JSONParser() else {
                throw JSONFault(message: "there is no memory for it")
            }
            parsers.append(made)
        }
        let root = try parsers[used].parse(text)
        if let document = root.document {
            documents[document] = used
            recent = (document, used)
        }
        used += 1
        return root
    }

    /// The value's JSON, in memory of its document.
    func text(of value: JSONParser.Value) -> UnsafeBufferPointer<UInt8>? {
        guard let document = value.document else { return nil }
        return index(of: document).flatMap { parsers[$0].text(of: value) }
    }

    /// Whether a value belongs to a document of this call: the plugin may have kept an old one.
    func owns(_ value: sbx_json_value) -> Bool {
        value.document.map { index(of: $0) != nil } ?? false
    }

    private func index(of document: UnsafeRawPointer) -> Int? {
        if let recent, recent.document == document { return recent.index }
        guard let index = documents[document] else { return nil }
        recent = (document, index)
        return index
    }

    private func leave() {
        depth -= 1
        guard depth == 0 else { return }
        arena.reset()
        documents.removeAll(keepingCapacity: true)
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

    static var scope: CallScope {
        if let known = pthread_getspecific(key) {
            return Unmanaged<CallScope>.fromOpaque(known).takeUnretainedValue()
        }
        let made = CallScope()
        pthread_setspecific(key, Unmanaged.passRetained(made).toOpaque())
        return made
    }
}
