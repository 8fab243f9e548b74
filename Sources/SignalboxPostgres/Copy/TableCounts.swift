internal import SignalboxCore
internal import SignalboxTables

/// How many records a database has.
enum TableCounts {
    static func all(_ tables: PostgresTables) throws -> [StoredKind: Int] {
        var out = try CopiedTable.counts(tables)
        out[.seen] = Int(
            try tables.number(
                TableStatement("", "SELECT count(DISTINCT key) FROM signalbox.seen")))
        let waiting = try tables.link.run(QueueSQL.waiting, byNs: tables.deadlineNs)
        out[.waiting] = Int(waiting.number(0, 0))
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
