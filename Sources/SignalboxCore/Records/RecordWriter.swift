/// Writes records one after another into one buffer.
///
/// A record is its size, a mask of its fields, its parts, and a slot of eight bytes per present field, all in the
/// machine's byte order:
///
///     u32 size | u32 mask | parts ... | slot | slot | ...
///
/// Bit n of the mask is set if field n is present; a missing field costs nothing. A slot is a number, or the offset
/// of a part in the record and its length in bytes. A part is text, a nested record, or a list: records one after
/// another. So a record can be moved, copied and read in place. Fields are numbered as the contract appends them. A
/// reader skips fields that it does not know, and treats fields that an older writer does not know as missing.
public struct RecordWriter: Sendable {
    /// An unfinished record whose nested record is being written.
    public struct Open: Sendable {
        fileprivate var start: Int
        fileprivate var slots: Int
        fileprivate var mask: UInt32
    }

    /// Bytes before the parts.
    static let headBytes = 8

    /// The bytes written so far.
    public private(set) var bytes: [UInt8]
    /// Slots of the unfinished records in their stored form, innermost last.
    private var slots: [UInt64] = []
    private var open = Open(start: 0, slots: 0, mask: 0)

    /// Makes a writer that appends records to `bytes`, with room for so many bytes.
    ///
    /// A record has at most 32 fields, and few records are open at a time.
    public init(_ bytes: [UInt8] = [], bytesExpected: Int = 0, fieldsExpected: Int = 32) {
        self.bytes = bytes
        self.bytes.reserveCapacity(bytesExpected)
        slots.reserveCapacity(fieldsExpected)
    }

    /// Adds a byte between records.
    public mutating func append(_ byte: UInt8) { bytes.append(byte) }

    /// Adds a number between records.
    public mutating func append(_ number: UInt32) {
        unsafe withUnsafeBytes(of: number.littleEndian) { unsafe bytes.append(contentsOf: $0) }
    }

    /// Removes all bytes and keeps the capacity.
    public mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    /// Adds a record.
    public mutating func append(_ record: some RecordValue) {
        let outer = begin()
        record.write(to: &self)
        end(outer)
    }

    /// Begins a record; pass the result to `end`.
    public mutating func begin() -> Open {
        let outer = open
        open = Open(start: bytes.count, slots: slots.count, mask: 0)
        store(0)
        return outer
    }

    /// Ends the record that was begun last; `outer` is what `begin` returned.
    public mutating func end(_ outer: Open) {
        let count = slots.count - open.slots
        unsafe slots.withUnsafeBytes {
            // A slice of a buffer is copied byte by byte, a buffer at once.
            let own = unsafe UnsafeRawBufferPointer(rebasing: $0.suffix(8 * count))
            unsafe bytes.append(contentsOf: own)
        }
        slots.removeLast(count)
        let head = UInt64(UInt32(truncatingIfNeeded: bytes.count - open.start))
        let word = head | UInt64(open.mask) << 32
        let start = open.start
        unsafe bytes.withUnsafeMutableBytes {
            unsafe $0.storeBytes(of: word.littleEndian, toByteOffset: start, as: UInt64.self)
        }
        open = outer
    }

    // MARK: Fields of the open record, in ascending order

    /// A text; left out if empty.
    public mutating func put(_ field: UInt32, _ text: String) {
        if text.isEmpty { return }
        let start = bytes.count
        unsafe text.utf8.span.withUnsafeBufferPointer { unsafe bytes.append(contentsOf: $0) }
        part(field, from: start)
    }

    /// A number; left out if 0.
    public mutating func put(_ field: UInt32, _ number: UInt64) {
        if number != 0 { slot(field, number) }
    }

    /// A number; left out if 0.
    public mutating func put(_ field: UInt32, _ number: UInt32) { put(field, UInt64(number)) }

    /// A number that may be 0; left out if nil.
    public mutating func put(_ field: UInt32, _ number: Int32?) {
        if let number { slot(field, UInt64(UInt32(bitPattern: number))) }
    }

    /// A nested record.
    public mutating func put(_ field: UInt32, _ record: some RecordValue) {
        let start = bytes.count
        append(record)
        part(field, from: start)
    }

    /// A list; left out if empty.
    public mutating func put(_ field: UInt32, _ list: [some RecordValue]) {
        if list.isEmpty { return }
        let start = bytes.count
        // By index: a loop over the elements copies each.
        for index in list.indices { append(list[index]) }
        part(field, from: start)
    }

    private mutating func part(_ field: UInt32, from start: Int) {
        slot(field, UInt64(start - open.start) | UInt64(bytes.count - start) << 32)
    }

    private mutating func slot(_ field: UInt32, _ value: UInt64) {
        open.mask |= 1 << field
        slots.append(value.littleEndian)
    }

    private mutating func store(_ value: UInt64) {
        unsafe withUnsafeBytes(of: value.littleEndian) { unsafe bytes.append(contentsOf: $0) }
    }
}

/// A value that can be stored as a record.
public protocol RecordValue: SendableMetatype {
    /// Writes the fields into the open record.
    func write(to out: inout RecordWriter)
    /// Reads the fields from a record.
    init(from record: inout RecordReader) throws(RecordFault)
}

/// Malformed bytes, or a record of another kind.
public struct RecordFault: Error, Hashable, CustomStringConvertible {
    /// What is wrong with them.
    public let what: String

    /// Makes a fault.
    public init(what: String) { self.what = what }

    /// What is wrong with them.
    public var description: String { what }
}
