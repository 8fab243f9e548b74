internal import GRDB
internal import GRDBSQLite
internal import SignalboxTables

/// One prepared statement: its arguments are bound in order, then it is stepped.
final class HotStatement: TableRow {
    /// Tells SQLite to make a copy of a text.
    private static nonisolated(unsafe) let transient = unsafeBitCast(
        -1, to: sqlite3_destructor_type.self)

    /// Keeps the statement alive.
    private let owner: Statement
    private let raw: OpaquePointer
    private let connection: OpaquePointer?
    private var bound: Int32 = 0

    init(_ owner: Statement, _ db: Database) {
        self.owner = owner
        raw = owner.sqliteStatement
        connection = db.sqliteConnection
    }

    /// Resets it, even if it was not run to its end.
    func begin() {
        sqlite3_reset(raw)
        bound = 0
    }

    func bind(_ number: Int64) {
        bound += 1
        sqlite3_bind_int64(raw, bound, number)
    }

    func bind(_ number: Int64?) {
        guard let number else {
            bound += 1
            sqlite3_bind_null(raw, bound)
            return
        }
        bind(number)
    }

    func bind(_ text: String) {
        bound += 1
        var text = text
        text.withUTF8 { bytes in
            // A nil address would bind NULL, which differs from an empty text.
            bytes.withMemoryRebound(to: CChar.self) { bytes in
                _ = sqlite3_bind_text(
                    raw, bound, bytes.baseAddress ?? Self.nothing, Int32(bytes.count),
                    Self.transient)
            }
        }
    }

    func bind(_ value: TableValue) {
        switch value {
        case .number(let number): bind(number)
        case .text(let text?): bind(text)
        case .bytes(let bytes?): bind(blob: bytes)
        case .text(nil), .bytes(nil): bind(Int64?.none)
        }
    }

    func bind(blob: [UInt8]) {
        bound += 1
        blob.withUnsafeBytes { bytes in
            _ = sqlite3_bind_blob(
                raw, bound, bytes.baseAddress ?? UnsafeRawPointer(Self.nothing),
                Int32(bytes.count), Self.transient)
        }
    }

    /// Binds the last argument, a blob that SQLite reads in place, and runs the statement to its end.
    func run(last blob: [UInt8]) throws {
        bound += 1
        try blob.withUnsafeBytes { bytes in
            sqlite3_bind_blob(
                raw, bound, bytes.baseAddress ?? UnsafeRawPointer(Self.nothing),
                Int32(bytes.count), nil)
            // It was reset, and must not remember an address that is no longer valid.
            defer { sqlite3_bind_null(raw, bound) }
            try run()
        }
    }

    private static nonisolated(unsafe) let nothing = UnsafePointer<CChar>(
        UnsafeMutablePointer<CChar>.allocate(capacity: 1))

    /// Runs it to its end and drops its rows.
    func run() throws { while try step() {} }

    /// Steps to the next row; false at the end, when the statement is reset.
    func step() throws -> Bool {
        let status = sqlite3_step(raw)
        if status == SQLITE_ROW { return true }
        let message = status == SQLITE_DONE ? nil : sqlite3_errmsg(connection)
        let words = message.map { String(cString: $0) }
        sqlite3_reset(raw)
        guard status == SQLITE_DONE else {
            throw DatabaseError(resultCode: ResultCode(rawValue: status), message: words)
        }
        return false
    }

    /// Resets it before its last row.
    func end() { sqlite3_reset(raw) }

    func number(_ column: Int) -> Int64 { sqlite3_column_int64(raw, Int32(column)) }

    func isNull(_ column: Int) -> Bool { sqlite3_column_type(raw, Int32(column)) == SQLITE_NULL }

    func text(_ column: Int) -> String {
        guard let start = sqlite3_column_text(raw, Int32(column)) else { return "" }
        let count = Int(sqlite3_column_bytes(raw, Int32(column)))
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    /// Reads a blob in place; valid until the next step.
    func withBytes<Value>(_ column: Int, _ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        let start = sqlite3_column_blob(raw, Int32(column))
        let count = start == nil ? 0 : Int(sqlite3_column_bytes(raw, Int32(column)))
        return body(UnsafeRawBufferPointer(start: start, count: count))
    }

    func holds(_ type: StoreTable.ValueType, _ column: Int) -> Bool {
        let held =
            switch type {
            case .number: SQLITE_INTEGER
            case .text: SQLITE_TEXT
            case .bytes: SQLITE_BLOB
            }
        return sqlite3_column_type(raw, Int32(column)) == held
    }
}
