internal import Foundation
internal import GRDB
public import SignalboxCore

extension SQLiteStore: FleetStore {
    /// The gateway, which is alone, knows it.
    public func setConfiguration(_ digest: String) {}

    /// The backlog of each lane, as of the last commit. What is leased is counted as waiting, because only the process
    /// that has leased it knows.
    public func fleet() async throws -> Fleet {
        let (now, damage) = (nowUnixMs(), damage)
        return try await look { _, db in try FleetTables.read(nowUnixMs: now, damage, db) }
    }
}

/// What an operator sees of the queue.
enum FleetTables {
    static func read(nowUnixMs: UInt64, _ damage: DamagedRows, _ db: Database) throws -> Fleet {
        var backlogs: [Int64: Fleet.Backlog] = [:]
        for (id, lane) in try LaneKey.all(damage, db) { backlogs[id] = Fleet.Backlog(lane) }
        let blocks = try Row.fetchCursor(
            db,
            sql: """
                SELECT b.lane, b.count, p.done FROM (
                  SELECT id, lane, count FROM block UNION ALL SELECT id, lane, count FROM flight) b
                LEFT JOIN progress p ON p.block = b.id
                """)
        while let row = try blocks.next() {
            guard let lane = try? row.number("lane"), let count = try? row.unsigned("count") else {
                continue
            }
            let done = Marks((try? row.bytes("done")) ?? Data()).marked
            backlogs[lane]?.waiting += max(0, Int(clamping: count) - done)
        }
        for (lane, backlog) in backlogs {
            backlogs[lane]?.oldestDueUnixMs = try oldest(of: lane, backlog.lane, db)
        }
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT lane, count(*) AS n, min(due) FILTER (WHERE leased = 0 AND due BETWEEN 1 AND ?) AS due
                FROM delivery GROUP BY lane
                """, arguments: [Int64(clamping: nowUnixMs)])
        for row in rows {
            guard let lane = try? row.number("lane") else { continue }
            backlogs[lane]?.waiting += Int(clamping: try row.number("n"))
            let due = try row.optional("due").map { UInt64(clamping: $0) }
            let known = [backlogs[lane]?.oldestDueUnixMs, due]
            backlogs[lane]?.oldestDueUnixMs = known.compactMap { $0 }.min()
        }
        var out = Fleet(nowUnixMs: nowUnixMs)
        out.set(backlogs.values)
        return out
    }

    /// When the first block of a lane came in.
    private static func oldest(
        of lane: Int64, _ name: LaneKey, _ db: Database
    ) throws -> UInt64? {
        let first = try db.cachedStatement(
            sql: "SELECT bytes FROM block WHERE lane = ? AND rank = ? ORDER BY id LIMIT 1")
        var found: [UInt64] = []
        for rank in 0...2 {
            guard let row = try Row.fetchOne(first, arguments: [lane, rank]),
                let bytes = try? row.bytes("bytes")
            else { continue }
            let contents = bytes.withUnsafeBytes { BlockReader($0, lane: name).contents }
            found += contents.map(\.receivedUnixMs)
        }
        return found.min()
    }
}
