internal import SignalboxCore
public import SignalboxTables

/// A row that a statement found.
final class FoundRow: TableRow {
    private let rows: Rows
    private var row = 0

    private init(_ rows: Rows) { self.rows = rows }

    static func each(_ rows: Rows, _ body: (any TableRow) throws -> Void) rethrows {
        let found = FoundRow(rows)
        for row in 0..<rows.count {
            found.row = row
            try body(found)
        }
    }

    func isNull(_ column: Int) -> Bool { rows.isNull(row, column) }
    func number(_ column: Int) -> Int64 { rows.number(row, column) }
    func text(_ column: Int) -> String { rows.text(row, column) }
    func withBytes<Value>(_ column: Int, _ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        body(rows.bytes(row, column))
    }
    /// The server sees to it.
    func holds(_ type: StoreTable.ValueType, _ column: Int) -> Bool { true }
}

/// A connection with a time until which its statements may take.
public struct PostgresTables: TableLink {
    let link: PostgresLink
    let deadlineNs: UInt64

    private func run(
        _ statement: TableStatement, _ values: [TableValue]
    ) throws(PostgresFault) -> Rows {
        try link.run(Statement(statement), Parameters(values), byNs: deadlineNs)
    }

    /// Runs a statement.
    public func each(
        _ statement: TableStatement, _ values: [TableValue], _ body: (any TableRow) throws -> Void
    ) throws { try FoundRow.each(try run(statement, values), body) }

    /// Sends a statement; the sender waits for the answers to all.
    public func send(_ statement: TableStatement, _ values: [TableValue]) {
        link.send(Statement(statement), Parameters(values))
    }

    /// Runs a statement.
    public func change(_ statement: TableStatement, _ values: [TableValue]) throws -> Int {
        try run(statement, values).changed
    }

    /// Sends rows.
    public func insert(_ rows: [[TableValue]], into table: StoreTable) {
        let (statement, values) = Statement.insert(rows, into: table)
        link.send(statement, values)
    }
}

extension Transaction: TableLink {
    func each(
        _ statement: TableStatement, _ values: [TableValue], _ body: (any TableRow) throws -> Void
    ) throws { try FoundRow.each(try run(Statement(statement), Parameters(values)), body) }

    func send(_ statement: TableStatement, _ values: [TableValue]) {
        send(Statement(statement), Parameters(values))
    }

    func change(_ statement: TableStatement, _ values: [TableValue]) throws -> Int {
        try run(Statement(statement), Parameters(values)).changed
    }

    func insert(_ rows: [[TableValue]], into table: StoreTable) {
        let (statement, values) = Statement.insert(rows, into: table)
        send(statement, values)
    }
}

extension Statement {
    init(_ shared: TableStatement) { self.init(shared.name, shared.postgres) }

    /// An array for each column: one statement takes thousands of rows.
    static func insert(
        _ rows: [[TableValue]], into table: StoreTable
    ) -> (Statement, Parameters) {
        var values = Parameters()
        for (index, column) in table.columns.enumerated() {
            values.add(column.type, rows.map { $0[index] })
        }
        let arrays = table.columns.indices.map { "$\($0 + 1)" }.joined(separator: ", ")
        return (
            Statement(
                "rows_\(table.name)",
                "INSERT INTO signalbox.\(table.name) (\(table.names)) SELECT * FROM unnest(\(arrays))"
            ), values
        )
    }
}

extension PostgresFault {
    /// Runs shared statements on a connection, which throw nothing else.
    static func only<Value>(_ body: () throws -> Value) throws(PostgresFault) -> Value {
        do {
            return try body()
        } catch {
            throw (error as? PostgresFault) ?? PostgresFault(kind: .refused, message: "\(error)")
        }
    }
}

extension TransactionFault {
    /// What the shared statements threw.
    init(_ error: any Error) {
        self =
            switch error {
            case let fault as TransactionFault: fault
            case let fault as PostgresFault: .database(fault)
            case let failure as StoreFailure: .failure(failure)
            default: .failure(StoreFailure(message: "\(error)"))
            }
    }
}
