internal import Foundation
internal import GRDB
internal import SignalboxCore

/// What a start mends or removes, so that a damaged row neither ends the process nor blocks its neighbours: numbers that rise would
/// overflow, and what has no possible priority or time would never be found.
struct RowRepair {
    private let damage: DamagedRows
    /// The year 2200: no push waits until then, whatever the clock was set to.
    private static let lastUnixMs: Int64 = 7_258_118_400_000

    init(_ damage: DamagedRows) { self.damage = damage }

    /// In a transaction of its own, since a page that cannot be read ends it: then what it would have mended stays as it is.
    func run(_ queue: DatabaseQueue) throws {
        do {
            try queue.write { db in try run(db) }
        } catch let error where BlockTables.isDamage(error) {
            damage.tell("the numbers of its rows cannot be looked at: \(error)")
        }
    }

    private func run(_ db: Database) throws {
        try blocks(db)
        for table in ["delivery", "block"] {
            try mend(table, "rank = 1", where: "rank NOT IN (0, 1, 2)", db)
        }
        try mend(
            "delivery", "due = 0",
            where: "typeof(due) <> 'integer' OR due NOT BETWEEN 0 AND \(Self.lastUnixMs)", db)
        try mend("delivery", "leased = 0", where: "leased NOT IN (0, 1)", db)
        // Its parts cannot be told apart from another delivery's, or its number is never given out.
        for (table, key) in [
            ("delivery", "id"), ("block", "id"), ("history", "id"), ("seen_group", "id"),
            ("outbox", "id"),
            ("outcome", "first"),
        ] {
            // Each of the two is a search.
            try remove(table, key, where: "\(key) < 1", db)
            try remove(table, key, where: "\(key) > \(StoredNumber.max)", db)
        }
        try remove(
            "outcome", "first",
            where: "typeof(count) <> 'integer' OR count NOT BETWEEN 0 AND \(Int32.max)", db)
        try mend(
            "outcome_receiver", "next = 0",
            where: "typeof(next) <> 'integer' OR next NOT BETWEEN 0 AND \(StoredNumber.max)",
            key: "name", db)
        // The next registration gets the number after the highest one.
        try mend(
            "device",
            "id = (SELECT coalesce(max(id), 0) + 1 FROM device WHERE id BETWEEN 0 AND \(StoredNumber.max))",
            where: "id > \(StoredNumber.max)", db)
        try db.execute(
            sql: """
                UPDATE sqlite_sequence SET seq = (SELECT coalesce(max(id), 0) FROM outbox)
                WHERE name = 'outbox' AND (typeof(seq) <> 'integer' OR seq NOT BETWEEN 0 AND ?)
                """, arguments: [StoredNumber.max])
    }

    /// The number of a block's deliveries; if its bytes say nothing, there is one.
    private func blocks(_ db: Database) throws {
        let ids = try Int64.fetchAll(
            db,
            sql: """
                SELECT id FROM block
                WHERE typeof(count) <> 'integer' OR count NOT BETWEEN 0 AND \(Marks.count)
                """)
        for id in ids {
            damage.note("block", id)
            let row = try Row.fetchOne(
                db, sql: "SELECT bytes FROM block WHERE id = ?", arguments: [id])
            let bytes = (try? row?.bytes("bytes")) ?? Data()
            let lane = LaneKey(sender: "", app: "")
            let count = bytes.withUnsafeBytes {
                BlockReader($0, lane: lane).deliveries.count
            }
            try db.execute(
                sql: "UPDATE block SET count = ? WHERE id = ?", arguments: [max(1, count), id])
        }
    }

    private func mend(
        _ table: String, _ change: String, where condition: String, key: String = "id",
        _ db: Database
    ) throws {
        try note(
            table,
            try Row.fetchAll(
                db,
                sql: "UPDATE OR IGNORE \(table) SET \(change) WHERE \(condition) RETURNING \(key)"),
            key)
    }

    private func remove(
        _ table: String, _ key: String, where condition: String, _ db: Database
    ) throws {
        try note(
            table,
            try Row.fetchAll(db, sql: "DELETE FROM \(table) WHERE \(condition) RETURNING \(key)"),
            key)
    }

    private func note(_ table: String, _ rows: [Row], _ key: String) throws {
        for row in rows { damage.note(table, row.shown(key)) }
    }
}

extension BlockTables {
    /// SQLite cannot use a page of the file.
    static func isDamage(_ error: any Error) -> Bool {
        (error as? DatabaseError)?.resultCode.primaryResultCode == .SQLITE_CORRUPT
    }
}
