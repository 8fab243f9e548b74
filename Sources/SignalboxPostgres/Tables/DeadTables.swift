internal import SignalboxCore
internal import SignalboxTables

/// How dead letters become deliveries again.
enum DeadTables {
    /// A lane that has ended since is made again.
    private static let makeLanes = Statement(
        "make_lanes_of_dead",
        """
        INSERT INTO signalbox.lane (sender, app, kind)
        SELECT DISTINCT sender, app, \(kind) FROM signalbox.dead WHERE id = ANY ($1::bigint[])
        ORDER BY 1, 2, 3 ON CONFLICT (sender, app, kind) DO NOTHING
        """)

    private static let kind = "CASE kind WHEN 1 THEN 1::bigint ELSE 0::bigint END"

    private static let replay = Statement(
        "replay",
        """
        WITH gone AS (DELETE FROM signalbox.dead WHERE id = ANY ($1::bigint[])
          RETURNING *, \(kind) AS lane_kind)
        INSERT INTO signalbox.delivery (part, id, lane, rank, due, owner, attempt, free,
          deadline, received, stable, route, is_report, attempts, body, \(StaleColumns.names))
        SELECT \(CurrentHalf.of("delivery")), g.id, l.id,
          CASE WHEN rank IN (0, 1, 2) THEN rank ELSE 1 END, 0, 0, 1, 0,
          CASE WHEN deadline BETWEEN 1 AND \(StoredNumber.max)
              AND received BETWEEN 0 AND \(StoredNumber.max)
            THEN $2::bigint + greatest(0, deadline - received) ELSE 0 END,
          $3::bigint, stable, route, lane_kind = 1, '[]'::jsonb, body, shown_key, badge_key,
          CASE accepted WHEN 0 THEN received ELSE accepted END, stale
        FROM gone g JOIN signalbox.lane l
          ON l.sender = g.sender AND l.app = g.app AND l.kind = lane_kind
        RETURNING lane
        """)

    /// Makes deliveries of a part again: first attempt, and as much time as they had. Returns their lanes, too.
    static func replay(
        _ filter: DeadFilter, fromID: UInt64, limit: Int, nowUnixMs: Int64,
        _ transaction: Transaction
    ) throws -> (part: DeadPart, lanes: Set<LaneKey>, numbers: Set<Int64>) {
        let part = try DeadTable.part(
            filter, fromID: fromID, limit: limit, isReplay: true, transaction)
        var values = Parameters(part.found.map(\.id))
        transaction.send(makeLanes, values)
        values.add(nowUnixMs)
        values.add(nowUnixMs - min(nowUnixMs, Int64(clamping: Replay.ageMs)))
        let rows = try transaction.run(replay, values)
        let lanes = part.found.compactMap { $0.stored.map { LaneKey($0.delivery) } }
        return (
            part.answer, Set(lanes), Set((0..<rows.count).map { rows.number($0, 0) })
        )
    }
}
