internal import SignalboxCore
internal import SignalboxThreads

/// How many records a database has.
enum TableCounts {
    /// Outcomes below this number were taken by every receiver.
    static let floor = """
        coalesce((SELECT min(next) FROM signalbox.outcome_receiver), 9223372036854775807)
        """

    private static let tables: [(StoredKind, String)] = [
        (.devices, "count(*) FROM signalbox.device"),
        (.badges, "count(*) FROM signalbox.badge"),
        (.values, "count(*) FROM signalbox.value"),
        (.seen, "count(DISTINCT key) FROM signalbox.seen"),
        (.dead, "count(*) FROM signalbox.dead"),
        (.reports, "count(*) FROM signalbox.outbox"),
        (.receivers, "count(*) FROM signalbox.outcome_receiver"),
        (
            .outcomes,
            "coalesce(sum(least(greatest(count, 0), \(Int32.max))), 0)::bigint FROM signalbox.outcome WHERE \(OutcomeTables.end) > \(floor)"
        ),
    ]

    static func all(_ link: PostgresLink) throws(PostgresFault) -> [StoredKind: Int] {
        for (_, what) in tables { link.send(Statement("", "SELECT \(what)")) }
        link.send(QueueSQL.waiting)
        let rows = try link.finish(byNs: SystemClock.monotonicNs + 600_000_000_000)
        var out: [StoredKind: Int] = [:]
        for (index, (kind, _)) in tables.enumerated() { out[kind] = Int(rows[index].number(0, 0)) }
        out[.waiting] = rows.last.map { Int($0.number(0, 0)) }
        return out
    }

    /// Waiting deliveries of each lane.
    static let waiting = """
        SELECT l.sender, l.app, l.kind, sum(w.n)::bigint FROM signalbox.lane l JOIN (
          SELECT lane, sum(least(greatest(n, 0), 256)) AS n FROM signalbox.block GROUP BY lane
          UNION ALL SELECT lane, count(*) FROM signalbox.delivery GROUP BY lane) w ON w.lane = l.id
        GROUP BY l.sender, l.app, l.kind
        """
}
