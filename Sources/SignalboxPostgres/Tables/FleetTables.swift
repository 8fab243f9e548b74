internal import SignalboxCore
internal import SignalboxThreads

/// What an operator sees of the fleet.
enum FleetTables {
    private static let members = Statement(
        "fleet_members",
        """
        SELECT life, name, version, started, heartbeat, \(ClockSQL.nowMs), config
        FROM signalbox.gateway ORDER BY name
        """)

    static let configure = Statement(
        "configure", "UPDATE signalbox.gateway SET config = $2::text WHERE life = $1::bigint")

    /// Per lane and life; life 0 if no gateway holds it. Released deliveries have due time 0.
    private static let backlogs = Statement(
        "fleet_backlogs",
        """
        WITH work AS (
          SELECT lane, CASE WHEN due > $1::bigint THEN owner ELSE 0 END AS life, least(greatest(n, 0), 256) AS n, due
          FROM signalbox.block
          UNION ALL
          SELECT lane, CASE WHEN due > $1::bigint THEN owner ELSE 0 END, 1, due
          FROM signalbox.delivery
          UNION ALL SELECT id, 0, 0, NULL FROM signalbox.lane),
          sums AS (SELECT lane, life, sum(n)::bigint AS n,
              min(due) FILTER (WHERE due BETWEEN 1 AND $1::bigint) AS due
            FROM work GROUP BY lane, life)
        SELECT l.sender, l.app, l.kind, s.life, s.n, s.due
        FROM sums s JOIN signalbox.lane l ON l.id = s.lane
        """)

    static func read(
        _ link: PostgresLink, byNs deadlineNs: UInt64
    ) throws(PostgresFault) -> Fleet {
        let gateways = try link.run(members, Parameters(), byNs: deadlineNs)
        let now = gateways.count == 0 ? 0 : gateways.number(0, 5)
        let values = Parameters(now)
        let work = try link.run(backlogs, values, byNs: deadlineNs)
        var lanes: [LaneKey: Fleet.Backlog] = [:]
        var leased: [Int64: Int] = [:]
        for row in 0..<work.count {
            let key = LaneKey(work, row, from: 0)
            var lane = lanes[key] ?? Fleet.Backlog(key)
            let (life, count) = (work.number(row, 3), Int(work.number(row, 4)))
            if life == 0 {
                lane.waiting += count
                lane.oldestDueUnixMs = work.optional(row, 5).map { UInt64(clamping: $0) }
            } else {
                lane.leased += count
                leased[life, default: 0] += count
            }
            lanes[key] = lane
        }
        var out = Fleet(nowUnixMs: UInt64(clamping: now))
        for row in 0..<gateways.count {
            out.members.append(
                Fleet.Member(
                    name: gateways.text(row, 1), version: gateways.text(row, 2),
                    configuration: gateways.text(row, 6),
                    startedUnixMs: UInt64(clamping: gateways.number(row, 3)),
                    heartbeatUnixMs: gateways.number(row, 4).magnitude,
                    isStopped: gateways.number(row, 4) < 0,
                    leased: leased[gateways.number(row, 0)] ?? 0))
        }
        out.set(lanes.values)
        return out
    }
}
