public import SignalboxCore

/// A connection that runs statements, one after the other.
public protocol TableLink {
    /// Runs a statement. `body` gets each row, which is valid until it returns.
    func each(
        _ statement: TableStatement, _ values: [TableValue], _ body: (any TableRow) throws -> Void
    ) throws
    /// Runs a statement whose result nobody needs; its fault may come with that of a later one.
    func send(_ statement: TableStatement, _ values: [TableValue]) throws
    /// Runs a statement. Returns how many rows it changed or found.
    func change(_ statement: TableStatement, _ values: [TableValue]) throws -> Int
    /// Adds rows with all columns of a table.
    func insert(_ rows: [[TableValue]], into table: StoreTable) throws
}

extension TableLink {
    /// What `read` makes of the rows.
    public func all<Value>(
        _ statement: TableStatement, _ values: [TableValue] = [],
        _ read: (any TableRow) throws -> Value?
    ) throws -> [Value] {
        var found: [Value] = []
        try each(statement, values) { if let value = try read($0) { found.append(value) } }
        return found
    }

    /// The number in the first column of the first row; 0 without rows.
    public func number(_ statement: TableStatement, _ values: [TableValue] = []) throws -> Int64 {
        try all(statement, values) { $0.number(0) }.first ?? 0
    }
}

/// A row that a statement found. Its columns are asked for by their places.
///
/// A value of another type than its column's, which SQLite may hold, is read as well as it can be.
public protocol TableRow: AnyObject {
    /// Whether a value is NULL.
    func isNull(_ column: Int) -> Bool
    /// A number; 0 if NULL.
    func number(_ column: Int) -> Int64
    /// A text; empty if NULL.
    func text(_ column: Int) -> String
    /// Bytes, valid until this returns; none if NULL.
    func withBytes<Value>(_ column: Int, _ body: (UnsafeRawBufferPointer) -> Value) -> Value
    /// Whether a value is of a type.
    func holds(_ type: StoreTable.ValueType, _ column: Int) -> Bool
}

extension TableRow {
    /// A number, or nil if NULL.
    public func optional(_ column: Int) -> Int64? { isNull(column) ? nil : number(column) }

    /// A time in Unix milliseconds; 0 if it is below.
    public func time(_ column: Int) -> UInt64 { UInt64(clamping: number(column)) }

    /// An id, a position or a count; nil if no store wrote it.
    public func unsigned(_ column: Int) -> UInt64? { StoredNumber.unsigned(number(column)) }

    /// A copy of bytes.
    public func bytes(_ column: Int) -> [UInt8] { withBytes(column) { Array($0) } }

    /// A record; nil if it is damaged.
    public func record<Value: RecordValue>(_ column: Int) -> Value? {
        withBytes(column) { bytes in
            guard var record = try? RecordReader(bytes), record.size == bytes.count else {
                return nil
            }
            return try? record.read()
        }
    }
}

extension TableValue {
    /// A value as a record.
    public static func record(_ value: some RecordValue) -> TableValue {
        var out = RecordWriter()
        out.append(value)
        return .bytes(out.bytes)
    }
}
