/// Reads one record in place; see `RecordWriter`.
///
/// The bytes may be anything: what does not fit is a fault. Parts must lie one behind the other in the order of their
/// fields, so that a record cannot claim to hold more than it has bytes for.
@safe public struct RecordReader {
    private let bytes: UnsafeRawBufferPointer
    private let mask: UInt32
    /// Where the slots begin.
    private let slots: Int
    /// Where the next part must begin.
    private var next = RecordWriter.headBytes

    /// Begins to read the record at the start of some bytes, which must stay until it is read.
    public init(_ bytes: UnsafeRawBufferPointer) throws(RecordFault) {
        guard bytes.count >= RecordWriter.headBytes else {
            throw RecordFault(what: "a record is cut off")
        }
        let head = unsafe UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self))
        let size = Int(UInt32(truncatingIfNeeded: head))
        mask = UInt32(truncatingIfNeeded: head >> 32)
        slots = size - 8 * mask.nonzeroBitCount
        guard size <= bytes.count, slots >= next else {
            throw RecordFault(what: "a record's size does not fit")
        }
        unsafe self.bytes = UnsafeRawBufferPointer(rebasing: bytes[..<size])
    }

    /// Bytes of the record.
    public var size: Int { unsafe bytes.count }

    /// A field is given.
    public func has(_ field: UInt32) -> Bool { mask & 1 << field != 0 }

    /// A number; 0 if it is not given.
    public func number(_ field: UInt32) -> UInt64 { has(field) ? slot(field) : 0 }

    /// A number; 0 if it is not given.
    public func number(_ field: UInt32) -> UInt32 {
        has(field) ? UInt32(truncatingIfNeeded: slot(field)) : 0
    }

    /// A number that may be 0; nil if it is not given.
    public func optional(_ field: UInt32) -> Int32? {
        has(field) ? Int32(truncatingIfNeeded: slot(field)) : nil
    }

    /// A text; empty if it is not given.
    public mutating func text(_ field: UInt32) throws(RecordFault) -> String {
        guard has(field) else { return "" }
        return unsafe String(decoding: try part(field), as: UTF8.self)
    }

    /// A record inside this one; nil if it is not given.
    public mutating func record<Value: RecordValue>(
        _ field: UInt32, as type: Value.Type = Value.self
    ) throws(RecordFault) -> Value? {
        guard has(field) else { return nil }
        let part = unsafe try part(field)
        var inner = unsafe try RecordReader(part)
        guard inner.size == part.count else {
            throw RecordFault(what: "a record is shorter than its part")
        }
        return try inner.read()
    }

    /// A list; empty if it is not given.
    public mutating func list<Value: RecordValue>(
        _ field: UInt32, of type: Value.Type = Value.self
    ) throws(RecordFault) -> [Value] {
        guard has(field) else { return [] }
        var rest = unsafe try part(field)
        var out: [Value] = []
        while unsafe !rest.isEmpty {
            var inner = unsafe try RecordReader(rest)
            unsafe rest = UnsafeRawBufferPointer(rebasing: rest[inner.size...])
            out.append(try inner.read())
        }
        return out
    }

    /// The whole record as a value.
    public mutating func read<Value: RecordValue>(
        as type: Value.Type = Value.self
    ) throws(RecordFault) -> Value { try Value(from: &self) }

    private mutating func part(_ field: UInt32) throws(RecordFault) -> UnsafeRawBufferPointer {
        let slot = slot(field)
        let (start, count) = (Int(UInt32(truncatingIfNeeded: slot)), Int(slot >> 32))
        guard start == next, count <= slots - next else {
            throw RecordFault(what: "a part is not in its place")
        }
        next += count
        return unsafe UnsafeRawBufferPointer(rebasing: bytes[start..<start + count])
    }

    private func slot(_ field: UInt32) -> UInt64 {
        let place = slots + 8 * (mask & (1 << field - 1)).nonzeroBitCount
        return unsafe UInt64(
            littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
    }
}
