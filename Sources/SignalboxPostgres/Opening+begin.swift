internal import SignalboxCore

/// What a gateway does before it serves.
extension Opening {
    /// What the database said.
    struct State {
        var life: Life
        var seed: (UInt64, UInt64)
        var nowUnixMs: Int64
        var waiting: Int
        var nextOutcome: Int
        /// What an operator should know.
        var notices: [PostgresNotice]
    }

    /// Creates the tables if they are missing, and begins a life of the owner.
    func begin(owner: String, version: String) throws(StoreError) -> State {
        try makeTables()
        let hasCopy = try reporting { () throws(PostgresFault) in
            try run(Opening.hasCopy).number(0, 0) != 0
        }
        guard !hasCopy else { throw StoreError.unfinishedCopy(place) }
        return try reporting { () throws(PostgresFault) in
            let notices = try durability()
            let seed = try seed()
            let (life, now) = try retrying { () throws(PostgresFault) in
                try start(owner, version)
            }
            return State(
                life: life, seed: seed, nowUnixMs: now,
                waiting: Int(try run(QueueSQL.waiting.sql).number(0, 0)),
                nextOutcome: Int(try run(OutcomeTables.next.sql).number(0, 0)), notices: notices)
        }
    }

    /// The key of `SeenKey`, created by the first gateway to start.
    private func seed() throws(PostgresFault) -> (UInt64, UInt64) {
        for name in ["seed_0", "seed_1"] {
            let values = Parameters(name, Int64.random(in: .min ... .max))
            _ = try run(
                """
                INSERT INTO signalbox.meta (name, value) VALUES ($1::text, $2::bigint)
                ON CONFLICT (name) DO NOTHING
                """, values)
        }
        let rows = try run(
            "SELECT value FROM signalbox.meta WHERE name IN ('seed_0', 'seed_1') ORDER BY name")
        return (UInt64(bitPattern: rows.number(0, 0)), UInt64(bitPattern: rows.number(1, 0)))
    }
}
