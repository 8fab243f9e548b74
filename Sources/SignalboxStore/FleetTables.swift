internal import Foundation
internal import GRDB
public import SignalboxCore

extension SQLiteStore: FleetStore {
    /// The gateway, which is alone, knows it.
    public func setConfiguration(_ digest: String) {}

    /// The backlog of each lane, as of the last commit. What is leased is counted as waiting, because only the process
    /// that has leased it knows.
    public func fleet() async throws -> Fleet {
        let now = nowUnixMs()
        return try await withCheckedThrowingContinuation { continuation in
            look({ _, db in try FleetTables.read(nowUnixMs: now, db) }) {
                continuation.resume(with: $0)
            }
        }
    }
}

/// What an operator sees of the queue.
enum FleetTables {
    static func read(nowUnixMs: UInt64, _ db: Database) throws -> Fleet {
        var backlogs: [Int64: Fleet.Backlog] = [:]
        for row in try Row.fetchAll(db, sql: "SELECT sender, app, kind, id FROM lane") {
            backlogs[row[3]] = Fleet.Backlog(LaneKey(row))
        }
        let blocks = try Row.fetchCursor(
            db,
            sql: """
                SELECT b.lane, b.count, p.done FROM (
                  SELECT id, lane, count FROM block UNION ALL SELECT id, lane, count FROM flight) b
                LEFT JOIN progress p ON p.block = b.id
                """)
        while let row = try blocks.next() {
            let done: Data? = row[2]
            backlogs[row[0]]?.waiting += (row[1] as Int) - (done.map { Marks($0).marked } ?? 0)
        }
        for (lane, backlog) in backlogs {
            backlogs[lane]?.oldestDueUnixMs = try oldest(of: lane, backlog.lane, db)
        }
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT lane, count(*), min(due) FILTER (WHERE leased = 0 AND due BETWEEN 1 AND ?)
                FROM delivery GROUP BY lane
                """, arguments: [Int64(clamping: nowUnixMs)])
        for row in rows {
            let (lane, due): (Int64, Int64?) = (row[0], row[2])
            backlogs[lane]?.waiting += row[1]
            let known = [backlogs[lane]?.oldestDueUnixMs, due.map { UInt64(clamping: $0) }]
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
            guard let bytes = try Data.fetchOne(first, arguments: [lane, rank]) else { continue }
            let contents = bytes.withUnsafeBytes { BlockReader($0, lane: name).contents }
            found += contents.map(\.receivedUnixMs)
        }
        return found.min()
    }
}
