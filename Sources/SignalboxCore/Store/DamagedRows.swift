internal import Synchronization

/// Reports rows that are skipped because they cannot be read: each row once, up to a limit.
public final class DamagedRows: Sendable {
    private static let rowsMax = 1_000
    private let known = Mutex<Set<String>>([])
    /// Writes a sentence to the log.
    public let tell: @Sendable (String) -> Void

    /// `tell` gets a sentence for the log.
    public init(_ tell: @escaping @Sendable (String) -> Void = { _ in }) { self.tell = tell }

    /// A row of a table is left out.
    public func note(_ table: String, _ id: some CustomStringConvertible) {
        let row = "row \(id) of the table \(table)"
        let isNew = known.withLock { known in
            known.count < Self.rowsMax && known.insert(row).inserted
        }
        if isNew { tell("\(row) is damaged in the database, and left out") }
    }

    /// The values of the rows that can be read.
    public func read<Row, Value>(
        _ table: String, _ rows: some Sequence<Row>, id: (Row) -> String,
        _ read: (Row) throws -> Value
    ) throws -> [Value] {
        try rows.compactMap { row in
            do {
                return try read(row)
            } catch is RowFault {
                note(table, id(row))
                return nil
            }
        }
    }
}
