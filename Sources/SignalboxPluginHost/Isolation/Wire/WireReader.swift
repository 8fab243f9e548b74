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

    mutating func number<Number: FixedWidthInteger & BitwiseCopyable>(
        _ type: Number.Type = Number.self
    ) throws(WireFault) -> Number {
        let size = MemoryLayout<Number>.size
        guard left >= size else { throw WireFault("it is too short") }
        defer { at += size }
        return frame.start.loadUnaligned(fromByteOffset: at, as: Number.self)
    }

    mutating func flag() throws(WireFault) -> Bool {
        switch try number(UInt8.self) {
        case 0: false
        case 1: true
        default: throw WireFault("a flag is neither 0 nor 1")
        }
    }

    /// Bytes inside the message, valid as long as its frame.
    mutating func raw() throws(WireFault) -> UnsafeRawBufferPointer {
        try raw(count: Int(try number(UInt32.self)))
    }

    /// The next `count` bytes inside the message, valid as long as its frame.
    mutating func raw(count: Int) throws(WireFault) -> UnsafeRawBufferPointer {
        guard count >= 0, left >= count else { throw WireFault("it is too short") }
        defer { at += count }
        return UnsafeRawBufferPointer(start: frame.start + at, count: count)
    }

    mutating func bytes() throws(WireFault) -> [UInt8] { Array(try raw()) }

    mutating func text() throws(WireFault) -> String {
        String(decoding: try raw(), as: UTF8.self)
    }

    mutating func value<Value: WireValue>(
        _ type: Value.Type = Value.self
    ) throws(WireFault) -> Value { try Value(from: &self) }

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
        let count = Int(try number(UInt32.self))
        guard count <= left / least else { throw WireFault("a list is longer than its message") }
        return count
    }

    mutating func list<Value: WireValue>(
        _ type: Value.Type = Value.self, max: Int = .max
    ) throws(WireFault) -> [Value] {
        let count = try count()
        guard count <= max else { throw WireFault("a list has \(count) elements") }
        var out: [Value] = []
        out.reserveCapacity(min(count, 1_024))
        for _ in 0..<count { out.append(try Value(from: &self)) }
        return out
    }

    mutating func optional<Value>(
        _ read: (inout WireReader) throws(WireFault) -> Value
    ) throws(WireFault) -> Value? {
        guard try flag() else { return nil }
        return try read(&self)
    }

    /// Throws if bytes are left.
    func end() throws(WireFault) {
        guard left == 0 else { throw WireFault("\(left) bytes are too many") }
    }
}

extension WireValue {
    /// Reads a message that holds this value and nothing else.
    init(reading frame: WireFrame) throws(WireFault) {
        var reader = frame.reader
        self = try reader.value()
        try reader.end()
    }
}
