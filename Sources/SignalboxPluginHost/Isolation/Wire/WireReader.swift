internal import SignalboxCore

/// A received message.
///
/// `@unchecked Sendable`: it is filled by the reading thread before any other thread sees it.
final class WireFrame: @unchecked Sendable {
    let method: UInt16
    let kind: UInt16
    let call: UInt64
    let start: UnsafeMutableRawPointer
    let count: Int

    init(method: UInt16, kind: UInt16, call: UInt64, count: Int) {
        self.method = method
        self.kind = kind
        self.call = call
        self.count = count
        // Memory costs nothing until it is written to, so a false length costs nothing either.
        start = .allocate(byteCount: max(1, count), alignment: 16)
    }

    deinit { start.deallocate() }

    var reader: WireReader { WireReader(self) }
}

/// Reads the values of a message; every step is checked against its end.
struct WireReader {
    private let frame: WireFrame
    private var at = 0

    init(_ frame: WireFrame) { self.frame = frame }

    /// Bytes not read yet.
    var left: Int { frame.count - at }

    mutating func bits<Value: BitwiseCopyable>(
        _ type: Value.Type = Value.self
    ) throws(WireFault) -> Value {
        let size = MemoryLayout<Value>.size
        guard left >= size else { throw WireFault("it is too short") }
        defer { at += size }
        return frame.start.loadUnaligned(fromByteOffset: at, as: Value.self)
    }

    /// Bytes inside the message, valid as long as its frame.
    mutating func raw() throws(WireFault) -> UnsafeRawBufferPointer {
        try raw(count: Int(try bits(UInt32.self)))
    }

    /// The next `count` bytes inside the message, valid as long as its frame.
    mutating func raw(count: Int) throws(WireFault) -> UnsafeRawBufferPointer {
        guard count >= 0, left >= count else { throw WireFault("it is too short") }
        defer { at += count }
        return UnsafeRawBufferPointer(start: frame.start + at, count: count)
    }

    /// A record, which contains its own size.
    mutating func record<Value: RecordValue>(
        _ type: Value.Type = Value.self
    ) throws(WireFault) -> Value {
        do throws(RecordFault) {
            var record = try RecordReader(
                UnsafeRawBufferPointer(start: frame.start + at, count: left))
            at += record.size
            return try record.read()
        } catch {
            throw WireFault(error.what)
        }
    }

    /// How many elements follow, each of at least `least` bytes.
    mutating func count(least: Int = 1) throws(WireFault) -> Int {
        let count = Int(try bits(UInt32.self))
        guard count <= left / least else { throw WireFault("a list is longer than its message") }
        return count
    }

    /// Throws if bytes are left.
    func end() throws(WireFault) {
        guard left == 0 else { throw WireFault("\(left) bytes are too many") }
    }
}
