/// Reads one record in place; see `RecordWriter`.
///
/// The bytes are not trusted: a malformed record is a fault. Parts must be contiguous and in the order of their
/// fields, so that a record cannot claim more than its bytes hold.
@safe public struct RecordReader {
    private let bytes: UnsafeRawBufferPointer
    private let mask: UInt32
    /// Offset of the slots.
    private let slots: Int
    /// Offset at which the next part must begin.
    private var next = RecordWriter.headBytes

    /// Reads the record at the start of `bytes`, which must stay valid while it is read.
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

    /// Size of the record, in bytes.
    public var size: Int { unsafe bytes.count }

    /// Whether a field is present.
    public func has(_ field: UInt32) -> Bool { mask & 1 << field != 0 }

    /// A number; 0 if missing.
    public func number(_ field: UInt32) -> UInt64 { has(field) ? slot(field) : 0 }

    /// A number; 0 if missing.
    public func number(_ field: UInt32) -> UInt32 {
        has(field) ? UInt32(truncatingIfNeeded: slot(field)) : 0
    }

    /// A number that may be 0; nil if missing.
    public func optional(_ field: UInt32) -> Int32? {
        has(field) ? Int32(truncatingIfNeeded: slot(field)) : nil
    }

    /// A text; empty if missing.
    public mutating func text(_ field: UInt32) throws(RecordFault) -> String {
        guard has(field) else { return "" }
        return unsafe String(decoding: try part(field), as: UTF8.self)
    }

    /// A nested record; nil if missing.
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

    /// A list; empty if missing.
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
            throw RecordFault(what: "a part is at the wrong offset")
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
