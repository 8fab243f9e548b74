internal import Foundation
internal import GRDB
internal import SignalboxCore

/// History: one row per commit, or a few.
///
/// A row's id is how many bytes were ever written up to its end, so ids rise and their difference is a size.
struct HistoryTables {
    /// Old rows are removed each time that so many were written, at most four times as many.
    private static let trimEvery = 64
    /// Most rows that a sweep removes, or a disk that is full.
    static let sweepMax = 4_096
    /// How many bytes one step of a search looks at.
    private static let searchBytes: Int64 = 4 << 20

    /// How much is kept; nil until it is set, and existing history stays until then.
    var limits: HistoryLimits?
    /// The id of the newest row.
    private var end: Int64 = 0
    private var committedEnd: Int64 = 0
    private var untrimmed = 0
    /// What this transaction adds.
    private var row = HistoryRow()

    mutating func start(_ db: Database) throws {
        end = try Self.newest(db)
        committedEnd = end
    }

    mutating func add(_ pack: HistoryPack, isDuplicate: Bool = false) {
        guard !pack.isEmpty, let limits, limits.bytesMax > 0 else { return }
        pack.append(to: &row, isDuplicate: isDuplicate)
    }

    /// Writes what was added. A row may be larger than `HistoryRow.bytesMax` by one pack.
    mutating func flush(
        isWhole: Bool = true, nowUnixMs: UInt64, _ hot: HotStatements, _ db: Database
    ) throws {
        guard row.size > (isWhole ? 0 : HistoryRow.bytesMax) else { return }
        end += Int64(row.size)
        let insert = try hot.statement(.insertHistory, db)
        insert.bind(end)
        insert.bind(Int64(clamping: nowUnixMs))
        insert.bind(blob: row.tags)
        try insert.run(last: row.records)
        row.tags.removeAll(keepingCapacity: true)
        row.records.removeAll(keepingCapacity: true)
        untrimmed += 1
        guard untrimmed >= Self.trimEvery else { return }
        try trim(max: 4 * untrimmed, nowUnixMs: nowUnixMs, hot, db)
    }

    /// Removes old rows, and rows above the limit.
    mutating func trim(
        max: Int, nowUnixMs: UInt64, _ hot: HotStatements, _ db: Database
    ) throws {
        untrimmed = 0
        guard let limits else { return }
        let delete = try hot.statement(.trimHistory, db)
        delete.bind(Int64(max))
        delete.bind(end - Int64(clamping: limits.bytesMax))
        delete.bind(Int64(clamping: nowUnixMs - min(nowUnixMs, limits.keepMs)))
        try delete.run()
    }

    /// Removes the oldest rows: the disk is full.
    static func giveWay(_ hot: HotStatements, _ db: Database) throws {
        let delete = try hot.statement(.trimHistory, db)
        delete.bind(Int64(sweepMax))
        delete.bind(Int64.max)
        delete.bind(0)
        try delete.run()
    }

    mutating func committed() { committedEnd = end }

    mutating func rolledBack() {
        end = committedEnd
        row = HistoryRow()
    }

    private static func newest(_ db: Database) throws -> Int64 {
        try Int64.fetchOne(
            db, sql: "SELECT max(id) FROM history WHERE id BETWEEN 0 AND \(StoredNumber.max)") ?? 0
    }

    /// One step of a search.
    static func page(_ search: HistorySearch, _ db: Database) throws -> HistoryPage {
        var page = HistoryPage()
        page.next = try rows(search, db) { page.rows.append($1) }
        return page
    }

    /// Changes the rows of one step of a search. Returns where the next step continues.
    static func change(
        _ search: HistorySearch, _ db: Database, _ body: (HistoryRow) -> HistoryRow?
    ) throws -> UInt64? {
        var found: [(id: Int64, row: HistoryRow)] = []
        let next = try rows(search, db) { found.append(($0, $1)) }
        for (id, row) in found {
            let changed = body(row)
            if changed == row { continue }
            guard let changed else {
                try db.cachedStatement(sql: "DELETE FROM history WHERE id = ?").execute(
                    arguments: [id])
                continue
            }
            try db.cachedStatement(sql: "UPDATE history SET tags = ?, records = ? WHERE id = ?")
                .execute(arguments: [Data(changed.tags), Data(changed.records), id])
        }
        return next
    }

    /// The rows of one step of a search, newest first. Returns where the next step continues.
    private static func rows(
        _ search: HistorySearch, _ db: Database, _ found: (Int64, HistoryRow) -> Void
    ) throws -> UInt64? {
        let last = try search.cursor.map { Int64(clamping: $0) } ?? newest(db)
        let first = last - searchBytes
        let isMeant = search.tags.map { _ in "instr(tags, ?) > 0" }.joined(separator: " OR ")
        let select = try db.cachedStatement(
            sql: """
                SELECT id, at, tags, records FROM history
                WHERE id > ? AND id <= ? AND at >= ? AND (\(isMeant)) ORDER BY id DESC
                """)
        let since = Int64(clamping: search.sinceUnixMs)
        var arguments: [any DatabaseValueConvertible] = [first, last, since]
        for tag in search.tags { arguments.append(Data(tag.bytes)) }
        let rows = try Row.fetchCursor(select, arguments: StatementArguments(arguments))
        while let next = try rows.next() {
            var row = HistoryRow()
            row.unixMs = (try? next.time("at")) ?? 0
            row.tags = Array((try? next.bytes("tags")) ?? Data())
            row.records = Array((try? next.bytes("records")) ?? Data())
            found(try next.number("id"), row)
        }
        let older = try Row.fetchOne(
            db.cachedStatement(
                sql: "SELECT id FROM history WHERE id <= ? AND at >= ? ORDER BY id DESC LIMIT 1"),
            arguments: [first, since])
        return try older.map { UInt64(clamping: try $0.number("id")) }
    }
}
