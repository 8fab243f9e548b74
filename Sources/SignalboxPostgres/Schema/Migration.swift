internal import SignalboxCore
internal import SignalboxThreads

/// What a gateway finds and does before it serves: its tables, its life, its lanes.
struct Opening {
    let link: PostgresLink
    let place: String
    let steps: [SchemaStep]
    let locks: LockWait
    /// How long a statement may take: one that changes the tables, or counts what waits.
    static let maxNs: UInt64 = 120_000_000_000

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

    init(
        _ address: PostgresAddress, usesNames: Bool, steps: [SchemaStep] = SchemaSteps.all,
        locks: LockWait = LockWait(maxMs: LockWait.startMs),
        limits: Limits = Limits(statementMs: maxNs / 1_000_000)
    ) throws(StoreError) {
        self.steps = steps
        self.locks = locks
        place = address.place
        do throws(PostgresFault) {
            let made = try PostgresLink(address, usesNames: usesNames)
            // Not with a pooler, which would keep it for its other clients.
            if usesNames {
                _ = try made.run(
                    limits.statement(made.serverVersion, ofTransaction: false),
                    byNs: SystemClock.monotonicNs + Self.maxNs)
            }
            link = made
        } catch {
            throw StoreError(
                "store-unreachable",
                "the database \(address.place) cannot be reached: \(error.message)")
        }
        guard link.serverVersion >= 130_000 else {
            throw StoreError(
                "store-too-old",
                "the database \(place) is PostgreSQL \(link.serverVersion / 10_000); use 13 or newer"
            )
        }
        var limits = limits
        limits.lockMs = locks.stepMs
        link.limits = limits.statement(link.serverVersion, ofTransaction: true)
    }

    func run(
        _ sql: String, _ parameters: Parameters = Parameters()
    ) throws(PostgresFault) -> Rows {
        while true {
            do throws(PostgresFault) {
                return try link.run(
                    Statement("", sql), parameters, byNs: SystemClock.monotonicNs + Self.maxNs)
            } catch {
                // In a transaction all of it is done again.
                guard error.isLocked, !link.isInTransaction, locks.goesOn(link) else { throw error }
            }
        }
    }

    /// Brings the tables up to date and begins a life of the owner.
    func begin(owner: String, version: String) throws(StoreError) -> State {
        _ = try update()
        let hasCopy = try reporting { () throws(PostgresFault) in
            try run(CopyTable.isThere).number(0, 0) != 0
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

    /// Brings the tables up to date. Returns their version before, and now.
    func update() throws(StoreError) -> (from: Int, to: Int) {
        try reporting { () throws(PostgresFault) in
            let from = try stepsDone()
            try retrying(migrate)
            return (from, try stepsDone())
        }
    }

    /// The version of the tables, maybe a newer one; 0: there are none.
    ///
    /// Whoever makes tables makes `meta` before them, and its version together with them.
    func stepsDone() throws(PostgresFault) -> Int {
        let found = try run(
            """
            SELECT count(*) FILTER (WHERE relname = 'meta'), count(*) FILTER (WHERE relname <> 'meta')
            FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = 'signalbox' AND relname IN ('meta', 'gateway', 'lane', 'device')
            """)
        if found.number(0, 0) > 0 {
            let rows = try run("SELECT value FROM signalbox.meta WHERE name = 'schema'")
            if rows.count > 0, rows.number(0, 0) > 0 { return Int(rows.number(0, 0)) }
        }
        guard found.number(0, 1) == 0 else {
            throw PostgresFault(
                kind: .refused, sqlState: Self.unversioned,
                message:
                    "nobody knows which version the tables in \(place) have: their table signalbox.meta "
                    + "was dropped or emptied; restore a backup, or make that table again "
                    + "(docs/operations.md)")
        }
        return 0
    }

    /// Before the first table: whatever ends the copy, no gateway starts on a database that was made for it.
    func markForCopy() throws(StoreError) {
        try reporting { () throws(PostgresFault) in
            guard try stepsDone() == 0 else { return }
            _ = try run("CREATE SCHEMA IF NOT EXISTS signalbox")
            _ = try run(CopyTable.make)
        }
    }

    /// A database without tables is none that a gateway ever used.
    func requireTables() throws(StoreError) {
        guard try reporting({ () throws(PostgresFault) in try stepsDone() }) > 0 else {
            throw StoreError(
                "store-missing",
                "there is no store in the database \(place): it has no tables in the schema signalbox; "
                    + "check the name of the database")
        }
    }

    /// Names the database and the fix.
    func reporting<Value>(
        _ body: () throws(PostgresFault) -> Value
    ) throws(StoreError) -> Value {
        do throws(PostgresFault) {
            return try body()
        } catch {
            throw StoreError(code(error), words(error))
        }
    }

    // MARK: Tables

    private static let (newer, busy, denied) = ("newer", "busy", "42501")
    private static let unversioned = "unversioned"
    private static let codes = [
        newer: "store-newer", busy: "store-busy", denied: "store-denied",
        unversioned: "store-damaged",
    ]

    private func code(_ fault: PostgresFault) -> String {
        if fault.isLocked { return "store-locked" }
        return fault.isAway
            ? "store-unreachable" : Self.codes[fault.sqlState, default: "store-failed"]
    }

    private func words(_ fault: PostgresFault) -> String {
        switch fault.sqlState {
        case _ where fault.isLocked:
            "the tables in \(place) are locked: \(LockWait.words(link)); try again when it has ended"
        case Self.newer, Self.busy, Self.unversioned: fault.message
        case Self.denied:
            "the database \(place): \(fault.message); let a user who owns the schema signalbox, or "
                + "may create it, make the tables (signalbox store migrate), and grant the gateway's "
                + "user what docs/configuration.md names"
        default: "the database \(place): \(fault.failure.message)"
        }
    }

    /// Two gateways that create the same thing at once: the later one is told that it exists, or that it does not yet.
    private static let races: Set = ["23505", "42P07", "42P06", "42710", "XX000"]

    func retrying<Value>(
        _ body: () throws(PostgresFault) -> Value
    ) throws(PostgresFault) -> Value {
        var tries = 0
        var pauses = Pauses()
        while true {
            tries += 1
            do throws(PostgresFault) {
                return try body()
            } catch {
                guard error.kind == .refused else { throw error }
                _ = try? run("ROLLBACK")
                if error.isLocked, locks.goesOn(link) { continue }
                guard tries < 20, !error.isLocked,
                    error.isPassing || Self.races.contains(error.sqlState)
                else { throw error }
                pauses.wait {}
            }
        }
    }

    func migrate() throws(PostgresFault) {
        let has = try run("SELECT to_regclass('signalbox.meta') IS NOT NULL")
        if has.number(0, 0) == 0 {
            _ = try run("CREATE SCHEMA IF NOT EXISTS signalbox")
            _ = try run(
                """
                CREATE TABLE IF NOT EXISTS signalbox.meta (
                  name text PRIMARY KEY, value bigint NOT NULL)
                """)
        }
        _ = try run(
            """
            INSERT INTO signalbox.meta (name, value) VALUES ('schema', 0)
            ON CONFLICT (name) DO NOTHING
            """)
        if try version() >= steps.count { return }
        _ = try run(Statement.beginSQL)
        // Whoever holds this row changes the tables; others wait and find it done.
        let known = try version("FOR UPDATE")
        for step in steps.dropFirst(known) {
            if step.needsRest, known > 0 { try expectRest() }
            for sql in step.sql { _ = try run(sql) }
        }
        if known < steps.count {
            _ = try run(
                "UPDATE signalbox.meta SET value = \(steps.count) WHERE name = 'schema'")
        }
        _ = try run("COMMIT")
        for sql in SchemaSteps.tuning { try tune(sql) }
    }

    /// How many steps the tables have seen: more than this version knows, if a newer one came before.
    func version(_ lock: String = "") throws(PostgresFault) -> Int {
        let rows = try run(
            "SELECT value FROM signalbox.meta WHERE name = 'schema' \(lock)")
        let major = try major()
        guard major <= SchemaSteps.major else {
            throw PostgresFault(
                kind: .refused, sqlState: Self.newer,
                message:
                    "the tables in \(place) are of a newer signalbox (major version \(major), this "
                    + "one knows \(SchemaSteps.major)); run that version")
        }
        return rows.count == 0 ? 0 : Int(rows.number(0, 0))
    }

    /// The major version of the tables; 0: there is none.
    func major() throws(PostgresFault) -> Int {
        let rows = try run("SELECT value FROM signalbox.meta WHERE name = 'major'")
        return rows.count == 0 ? 0 : Int(rows.number(0, 0))
    }

    /// Fails if a gateway of the version before has been seen lately.
    private func expectRest() throws(PostgresFault) {
        let rows = try run(
            """
            SELECT string_agg(name, ', ' ORDER BY name) FROM signalbox.gateway
            WHERE \(ClockSQL.isLive)
            """)
        guard !rows.isNull(0, 0) else { return }
        throw PostgresFault(
            kind: .refused, sqlState: Self.busy,
            message:
                "the tables in \(place) must be changed while no gateway runs: stop \(rows.text(0, 0)); "
                + "this one can start half a minute later")
    }

    private func tune(_ sql: String) throws(PostgresFault) {
        do throws(PostgresFault) {
            _ = try run(sql)
        } catch {
            guard error.kind == .refused else { throw error }
        }
    }

    // MARK: Facts

    /// The key of `SeenKey`, made by whoever comes first.
    private func seed() throws(PostgresFault) -> (UInt64, UInt64) {
        for name in ["seed_0", "seed_1"] {
            var values = Parameters()
            values.add(name)
            values.add(Int64.random(in: .min ... .max))
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

    /// Begins a life: takes back what the previous one held, and fences it.
    func start(_ owner: String, _ version: String) throws(PostgresFault) -> (Life, Int64) {
        _ = try run(Statement.beginSQL)
        var values = Parameters()
        values.add(owner)
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
            var life = Parameters()
            life.add(old.number(0, 0))
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
