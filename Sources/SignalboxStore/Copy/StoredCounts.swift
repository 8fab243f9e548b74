internal import Foundation
internal import GRDB
internal import SignalboxCore
internal import SignalboxTables

/// How many records a database has.
enum StoredCounts {
    static func all(
        _ link: SQLiteTables, recent: [SeenKey: Int64]
    ) throws -> [StoredKind: Int] {
        let db = link.db
        func count(_ sql: String) throws -> Int { try Int.fetchOne(db, sql: sql) ?? 0 }
        var out = try CopiedTable.counts(link)
        out[.seen] = try count("SELECT count(*) FROM seen_key") + recent.count
        let isInTree = try db.cachedStatement(sql: "SELECT 1 FROM seen_key WHERE key = ?")
        for key in recent.keys where try Row.fetchOne(isInTree, arguments: [key.data]) != nil {
            out[.seen, default: 0] -= 1
        }
        out[.waiting] = try waiting(db).reduce(0) { $0 + $1.count }
        return out
    }

    /// Waiting deliveries of each lane.
    static func waiting(_ db: Database) throws -> [(lane: LaneKey, count: Int)] {
        var counts: [Int64: Int] = [:]
        let parts = [
            "SELECT lane, sum(count) AS n FROM block WHERE count BETWEEN 1 AND 256 GROUP BY lane",
            "SELECT lane, sum(count) AS n FROM flight WHERE count BETWEEN 1 AND 256 GROUP BY lane",
            "SELECT lane, count(*) AS n FROM delivery GROUP BY lane",
        ]
        for sql in parts {
            for row in try Row.fetchAll(db, sql: sql) {
                guard let lane = try? row.number("lane"), let count = try? row.unsigned("n") else {
                    continue
                }
                counts[lane, default: 0] += Int(clamping: count)
            }
        }
        let done = try Row.fetchCursor(
            db,
            sql: """
                SELECT b.lane, p.done FROM progress p
                JOIN (SELECT id, lane FROM block UNION ALL SELECT id, lane FROM flight) b ON b.id = p.block
                """)
        while let row = try done.next() {
            guard let lane = try? row.number("lane") else { continue }
            let marked = try row.withUnsafeData(atIndex: 1) { $0.map { Marks($0).marked } ?? 0 }
            counts[lane, default: 0] -= marked
        }
        return try LaneKey.all(DamagedRows(), db)
            .map { id, lane in (lane, counts[id] ?? 0) }
            .sorted { $0.0 < $1.0 }
    }

    /// Keys that are not in the tree yet, or are moving there.
    static func recentKeys(_ db: Database) throws -> [SeenKey: Int64] {
        var out: [SeenKey: Int64] = [:]
        let rows = try Row.fetchCursor(db, sql: "SELECT keys FROM seen_group ORDER BY id")
        while let row = try rows.next() {
            try row.withUnsafeData(atIndex: 0) { data in
                data?.withUnsafeBytes { SeenKeys.each($0) { out[$0] = $1 } }
            }
        }
        return out
    }
}
