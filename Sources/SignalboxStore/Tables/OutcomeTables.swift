internal import Foundation
internal import GRDB
internal import SignalboxCore

/// The stream of outcomes: one row per commit, in order, and each receiver's position.
///
/// A row is removed when every receiver is past it, or when it is too old or one too many. Sequence numbers only
/// grow; a failed commit leaves a gap.
struct OutcomeTables {
    /// About the size of a row, so that a reader reads little more than it sends.
    private static let rowBytesMax = OutcomeBatch.bytesMax

    /// The next sequence number.
    private(set) var next: UInt64 = 1
    /// Outcomes that did not fit on the disk; they are written when there is room.
    private var unwritten = OutcomePack()
    /// A commit is about to write them.
    private var isWriting = false
    static let counter = "outcome"

    var hasUnwritten: Bool { !unwritten.isEmpty }

    mutating func start(_ db: Database) throws {
        let last = try Int64.fetchOne(
            db,
            sql: """
                SELECT max(
                  coalesce((SELECT first + count FROM outcome WHERE first <= ?1 AND typeof(count) = 'integer'
                    AND count <= ?1 ORDER BY first DESC LIMIT 1), 1),
                  coalesce((SELECT max(next) FROM outcome_receiver
                    WHERE typeof(next) = 'integer' AND next <= ?1), 1),
                  coalesce((SELECT value FROM counter
                    WHERE name = ?2 AND typeof(value) = 'integer' AND value <= ?1), 1))
                """, arguments: [StoredNumber.max, Self.counter])
        next = max(1, UInt64(clamping: last ?? 1))
    }

    // MARK: Appending

    /// Writes packs, and what was unwritten before them.
    mutating func write(
        _ packs: [OutcomePack], nowUnixMs: UInt64, _ hot: HotStatements, _ db: Database
    ) throws {
        // Runs once per transaction.
        var row = isWriting ? OutcomePack() : unwritten
        isWriting = isWriting || hasUnwritten
        for pack in packs {
            if !row.isEmpty, row.bytes.count + pack.bytes.count > Self.rowBytesMax {
                try insert(row, nowUnixMs, hot, db)
                row = OutcomePack()
            }
            if row.isEmpty { row = pack } else { row.append(pack) }
        }
        if !row.isEmpty { try insert(row, nowUnixMs, hot, db) }
    }

    private mutating func insert(
        _ row: OutcomePack, _ nowUnixMs: UInt64, _ hot: HotStatements, _ db: Database
    ) throws {
        let insert = try hot.statement(.insertOutcomes, db)
        insert.bind(Int64(clamping: next))
        insert.bind(Int64(row.count))
        insert.bind(Int64(clamping: nowUnixMs))
        try insert.run(last: row.bytes)
        next += UInt64(row.count)
    }

    /// Keeps packs for later: their deliveries have ended, and the disk had no room.
    ///
    /// Returns how many were dropped because too many wait.
    mutating func postpone(_ packs: [OutcomePack]) -> Int {
        var lost = 0
        for pack in packs {
            if unwritten.bytes.count + pack.bytes.count > OutcomeLimits.unwrittenBytesMax {
                lost += pack.count
            } else {
                unwritten.append(pack)
            }
        }
        return lost
    }

    mutating func committed() {
        if isWriting { unwritten = OutcomePack() }
        isWriting = false
    }

    mutating func rolledBack() { isWriting = false }

    // MARK: Receivers

    /// Returns the position of each, and how many outcomes waited for those that were removed.
    mutating func setReceivers(
        _ names: [String], _ db: Database
    ) throws -> (places: [String: UInt64], removed: [(name: String, count: Int)]) {
        // Without receivers this is the only record of it.
        try db.execute(
            sql: "INSERT OR REPLACE INTO counter (name, value) VALUES (?, ?)",
            arguments: [Self.counter, Int64(clamping: next)])
        var removed: [(name: String, count: Int)] = []
        for (name, place) in try Self.receivers(db) where !names.contains(name) {
            try db.execute(sql: "DELETE FROM outcome_receiver WHERE name = ?", arguments: [name])
            removed.append((name, Int(clamping: next - min(next, place))))
        }
        for name in names {
            try db.execute(
                sql: "INSERT OR IGNORE INTO outcome_receiver (name, next) VALUES (?, ?)",
                arguments: [name, Int64(clamping: next)])
        }
        try removeTaken(db)
        return (try Self.receivers(db), removed)
    }

    /// A position that cannot be read is that of what is kept.
    private static func receivers(_ db: Database) throws -> [String: UInt64] {
        var out: [String: UInt64] = [:]
        for row in try Row.fetchAll(db, sql: "SELECT name, next FROM outcome_receiver") {
            guard let name = try? row.text("name") else { continue }
            out[name] = (try? row.unsigned("next")) ?? 0
        }
        return out
    }

    static func place(of receiver: String, _ db: Database) throws -> UInt64? {
        try Row.fetchOne(
            db.cachedStatement(sql: "SELECT next FROM outcome_receiver WHERE name = ?"),
            arguments: [receiver]
        ).map { (try? $0.unsigned("next")) ?? 0 }
    }

    static func taken(by receiver: String, next: UInt64, _ db: Database) throws {
        try db.cachedStatement(
            sql: "UPDATE outcome_receiver SET next = ?1 WHERE name = ?2 AND next < ?1"
        ).execute(arguments: [Int64(clamping: next), receiver])
    }

    /// Removes what every receiver has taken; everything if there is no receiver.
    func removeTaken(_ db: Database) throws {
        try db.cachedStatement(
            sql: """
                DELETE FROM outcome WHERE first + count <= coalesce(
                  (SELECT min(next) FROM outcome_receiver), ?)
                """
        ).execute(arguments: [Int64(clamping: next)])
    }

    // MARK: Bounds

    /// Removes outcomes that are too old or too many. Returns how many each receiver lost.
    func trim(nowUnixMs: UInt64, _ db: Database) throws -> [String: Int] {
        let oldest = Int64(clamping: nowUnixMs - min(nowUnixMs, OutcomeLimits.ageMs))
        let first = try db.cachedStatement(
            sql: "SELECT first, at FROM outcome ORDER BY first LIMIT 1")
        guard let row = try Row.fetchOne(first) else { return [:] }
        let tooMany = Int64(clamping: next - min(next, OutcomeLimits.countMax))
        // A time that cannot be read is old.
        let at = (try? row.number("at")) ?? 0
        guard try at < oldest || row.number("first") < tooMany else { return [:] }
        let young =
            try Int64.fetchOne(
                db,
                sql: """
                    SELECT first FROM outcome WHERE typeof(at) = 'integer' AND at >= ?
                    ORDER BY first LIMIT 1
                    """, arguments: [oldest]) ?? Int64(clamping: next)
        let floor = max(young, tooMany)
        var lost: [String: Int] = [:]
        for (name, place) in try Self.receivers(db) where place < UInt64(clamping: floor) {
            lost[name] = Int(clamping: UInt64(clamping: floor) - place)
        }
        try db.execute(
            sql: "UPDATE outcome_receiver SET next = ?1 WHERE next < ?1", arguments: [floor])
        try removeTaken(db)
        return lost
    }

    // MARK: Reading

    /// Rows from a sequence number on, about one request's worth.
    static func rows(
        from first: UInt64, _ hot: HotStatements, _ db: Database
    ) throws -> (rows: [OutcomeRow], hasMore: Bool) {
        let select = try hot.statement(.outcomesFrom, db)
        select.bind(Int64(clamping: first))
        var rows: [OutcomeRow] = []
        var bytes = 0
        while try select.step() {
            guard bytes < OutcomeBatch.bytesMax else {
                select.end()
                return (rows, true)
            }
            let records = select.withBytes(2) { Array($0) }
            bytes += records.count
            rows.append(
                OutcomeRow(
                    first: UInt64(clamping: select.number(0)),
                    count: Int(clamping: max(0, select.number(1))),
                    bytes: records))
        }
        return (rows, false)
    }
}
