internal import SignalboxCore
internal import SignalboxThreads

/// What a gateway finds and does before it serves: its tables, its life, its lanes.
struct Opening {
    let link: PostgresLink
    let place: String
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
        _ address: PostgresAddress, usesNames: Bool,
        locks: LockWait = LockWait(maxMs: LockWait.startMs),
        limits: Limits = Limits(statementMs: maxNs / 1_000_000)
    ) throws(StoreError) {
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

    /// Makes the tables if there are none, and begins a life of the owner.
    func begin(owner: String, version: String) throws(StoreError) -> State {
        try makeTables()
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

    // MARK: Faults

    static let (unknown, unversioned) = ("unknown", "unversioned")
    private static let denied = "42501"
    private static let codes = [
        unknown: "store-newer", denied: "store-denied", unversioned: "store-damaged",
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
        case Self.unknown, Self.unversioned: fault.message
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
}
