internal import GRDB
public import SignalboxTables

/// A connection to the file, inside a transaction.
public struct SQLiteTables: TableLink {
    let hot: HotStatements
    let db: Database

    init(_ hot: HotStatements, _ db: Database) {
        self.hot = hot
        self.db = db
    }

    private func bound(
        _ statement: TableStatement, _ values: [TableValue]
    ) throws -> HotStatement {
        let bound = try hot.statement(statement, db)
        for value in values { bound.bind(value) }
        return bound
    }

    /// Runs a statement.
    public func each(
        _ statement: TableStatement, _ values: [TableValue], _ body: (any TableRow) throws -> Void
    ) throws {
        let rows = try bound(statement, values)
        defer { rows.end() }
        while try rows.step() { try body(rows) }
    }

    /// Runs a statement.
    public func send(_ statement: TableStatement, _ values: [TableValue]) throws {
        try bound(statement, values).run()
    }

    /// Runs a statement.
    public func change(_ statement: TableStatement, _ values: [TableValue]) throws -> Int {
        try send(statement, values)
        return db.changesCount
    }

    /// Adds rows.
    public func insert(_ rows: [[TableValue]], into table: StoreTable) throws {
        let insert = table.insert()
        for row in rows { try send(insert, row) }
    }
}
