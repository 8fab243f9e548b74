internal import SignalboxCore

/// The lives of an owner.
extension Opening {
    /// On a connection that exists.
    init(_ link: PostgresLink, _ options: PostgresOptions) {
        self.link = link
        place = options.address.place
        locks = LockWait(maxMs: 0)
    }

    /// Begins another life, unless a gateway of this name has shown itself lately; nil then.
    func renew(_ owner: String, _ version: String) throws(PostgresFault) -> Life? {
        let values = Parameters(owner)
        let living = try run(
            """
            SELECT 1 FROM signalbox.gateway WHERE name = $1::text
              AND \(ClockSQL.isLive)
            """, values)
        guard living.count == 0 else { return nil }
        return try retrying { () throws(PostgresFault) in try start(owner, version).0 }
    }

    /// Begins a life: takes back what the previous one held, and fences it.
    func start(_ owner: String, _ version: String) throws(PostgresFault) -> (Life, Int64) {
        _ = try run(Statement.beginSQL)
        let values = Parameters(owner)
        let old = try run(
            "SELECT life FROM signalbox.gateway WHERE name = $1::text FOR UPDATE", values)
        var named = values
        named.add(version)
        let rows = try run(
            """
            INSERT INTO signalbox.gateway AS g (name, version, life, epoch, started, heartbeat)
            SELECT $1::text, $2::text, nextval('signalbox.life'), 1, t.now, t.now
            FROM (SELECT \(ClockSQL.nowMs) AS now) t
            ON CONFLICT (name) DO UPDATE SET life = excluded.life, epoch = least(greatest(g.epoch, 0), \(StoredNumber.max)) + 1,
              version = excluded.version, started = excluded.started, heartbeat = excluded.heartbeat
            RETURNING life, epoch, started
            """, named)
        if old.count > 0 {
            let life = Parameters(old.number(0, 0))
            for table in ["block", "delivery"] {
                _ = try run(
                    "UPDATE signalbox.\(table) SET owner = 0, due = 0 WHERE owner = $1::bigint",
                    life)
            }
        }
        _ = try run("COMMIT")
        return (Life(owner: owner, number: rows.number(0, 0)), rows.number(0, 2))
    }
}
