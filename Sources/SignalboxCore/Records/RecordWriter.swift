/// Writes records one behind the other into one run of bytes.
///
/// A record is `size`, a mask of its fields, its parts, and a slot of eight bytes per field that is given, all in the
/// byte order of the machine:
///
///     u32 size | u32 mask | parts ... | slot | slot | ...
///
/// Bit n of the mask says that field n is given; a field that is not costs nothing. A slot is a number, or where its
/// part begins in the record and how many bytes it has. A part is text, another record, or a list: records one behind
/// the other. So a record can be moved, copied and read in place. Fields are numbered as the contract appends them; a
/// reader skips those it is too old for, and takes what an older writer left out as not given.
public struct RecordWriter: Sendable {
    /// A record that is being written, while one inside it is.
    public struct Open: Sendable {
        fileprivate var start: Int
        fileprivate var slots: Int
        fileprivate var mask: UInt32
    }

    /// Bytes in front of the parts.
    static let headBytes = 8

    /// What was written.
    public private(set) var bytes: [UInt8]
    /// Slots of the open records, the innermost last.
    private var slots: [UInt64] = []
    private var open = Open(start: 0, slots: 0, mask: 0)

    /// Makes a writer; records follow what is there.
    public init(_ bytes: [UInt8] = []) { self.bytes = bytes }

    /// Adds a byte between records.
    public mutating func append(_ byte: UInt8) { bytes.append(byte) }

    /// Empties it, and keeps its room.
    public mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    /// Adds a record.
    public mutating func append(_ record: some RecordValue) {
        let outer = begin()
        record.write(to: &self)
        end(outer)
    }

    /// Begins a record; give what this returns to `end`.
    public mutating func begin() -> Open {
        let outer = open
        open = Open(start: bytes.count, slots: slots.count, mask: 0)
        store(0)
        return outer
    }

    /// Ends the record that was begun last.
    public mutating func end(_ outer: Open) {
        for slot in slots[open.slots...] { store(slot) }
        slots.removeLast(slots.count - open.slots)
        let head = UInt64(UInt32(truncatingIfNeeded: bytes.count - open.start))
        var word = head | UInt64(open.mask) << 32
        for index in open.start..<open.start + Self.headBytes {
            bytes[index] = UInt8(truncatingIfNeeded: word)
            word >>= 8
        }
        open = outer
    }

    // MARK: Fields of the open record, in ascending order

    /// A text; empty: not given.
    public mutating func put(_ field: UInt32, _ text: String) {
        if text.isEmpty { return }
        let start = bytes.count
        var text = text
        text.withUTF8 { unsafe bytes.append(contentsOf: $0) }
        part(field, from: start)
    }

    /// A number; 0: not given.
    public mutating func put(_ field: UInt32, _ number: UInt64) {
        if number != 0 { slot(field, number) }
    }

    /// A number; 0: not given.
    public mutating func put(_ field: UInt32, _ number: UInt32) { put(field, UInt64(number)) }

    /// A number that may be 0.
    public mutating func put(_ field: UInt32, _ number: Int32?) {
        if let number { slot(field, UInt64(UInt32(bitPattern: number))) }
    }

    /// A record inside this one.
    public mutating func put(_ field: UInt32, _ record: some RecordValue) {
        let start = bytes.count
        append(record)
        part(field, from: start)
    }

    /// A list; empty: not given.
    public mutating func put(_ field: UInt32, _ list: [some RecordValue]) {
        if list.isEmpty { return }
        let start = bytes.count
        for record in list { append(record) }
        part(field, from: start)
    }

    private mutating func part(_ field: UInt32, from start: Int) {
        slot(field, UInt64(start - open.start) | UInt64(bytes.count - start) << 32)
    }

    private mutating func slot(_ field: UInt32, _ value: UInt64) {
        open.mask |= 1 << field
        slots.append(value)
    }

    private mutating func store(_ value: UInt64) {
        unsafe withUnsafeBytes(of: value.littleEndian) { unsafe bytes.append(contentsOf: $0) }
    }
}

/// A value that is written as a record.
public protocol RecordValue: SendableMetatype {
    /// Puts its fields into the record that is open.
    func write(to out: inout RecordWriter)
    /// Takes them out of one.
    init(from record: inout RecordReader) throws(RecordFault)
}

/// Bytes that are no record, or not of this kind.
public struct RecordFault: Error, Hashable {
    /// What is wrong with them.
    public let what: String

    /// Makes a fault.
    public init(what: String) { self.what = what }
}
