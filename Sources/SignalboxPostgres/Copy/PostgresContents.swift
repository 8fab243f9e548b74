public import SignalboxCore
internal import SignalboxTables
internal import SignalboxThreads

/// What a database holds, while no gateway uses it.
public final class PostgresContents: StoreContents {
    /// How long a gateway that lives may say nothing: it beats every five seconds.
    public static let silenceMs: Int64 = 15_000
    /// How long statements may take.
    static let maxNs: UInt64 = 600_000_000_000

    let link: PostgresLink
    /// Host and database.
    public let place: String
    var lanes = LaneNumbers()
    /// Ids for blocks.
    var ids: Range<UInt64> = 0..<0

    /// Takes a database for a copy. The tables of a source must exist; those of a target are made.
    ///
    /// Throws if a gateway lives on it, which takes up to `silenceMs` to see: one that was just stopped looks the same
    /// until then. `waiting` gets its name.
    public init(
        _ address: PostgresAddress, _ role: CopyRole, silenceMs: Int64 = silenceMs,
        waiting: (String) -> Void = { _ in }
    ) throws(StoreError) {
        place = address.place
        // One store waits in a transaction while the other one works.
        let limits = Limits(statementMs: Self.maxNs / 1_000_000, idleMs: 0)
        let opening = try Opening(address, usesNames: false, limits: limits)
        link = opening.link
        switch role {
        case .source: try opening.requireTables()
        case .target: try opening.markForCopy()
        }
        try opening.makeTables()
        try requireSilence(forMs: silenceMs, waiting)
        do throws(PostgresFault) {
            if role == .source { try holdStill() }
            try lanes.learn([], link, byNs: SystemClock.monotonicNs + Self.maxNs)
        } catch {
            throw fault(error)
        }
    }

    /// No gateway can start or commit until the connection ends, and all pages show one moment.
    private func holdStill() throws(PostgresFault) {
        // Whatever is asked before the lock is there would fix the moment too early.
        link.limits = nil
        _ = try run("BEGIN ISOLATION LEVEL REPEATABLE READ")
        for setting in [
            "statement_timeout = 0", "idle_in_transaction_session_timeout = 0",
            "lock_timeout = '10s'", "application_name = 'signalbox store copy'",
        ] { _ = try run("SET LOCAL \(setting)") }
        _ = try run("LOCK TABLE signalbox.gateway IN EXCLUSIVE MODE")
    }

    private func requireSilence(
        forMs silenceMs: Int64, _ waiting: (String) -> Void
    ) throws(StoreError) {
        var first: [String: Int64]?
        let pause = Gate(())
        while true {
            let found: Rows
            do throws(PostgresFault) {
                found = try run(
                    """
                    SELECT name, heartbeat, \(ClockSQL.nowMs) - greatest(heartbeat, 0) FROM signalbox.gateway
                    """)
            } catch {
                throw fault(error)
            }
            var beats: [String: Int64] = [:]
            for row in 0..<found.count where found.number(row, 2) < silenceMs {
                beats[found.text(row, 0)] = found.number(row, 1)
            }
            let names = beats.keys.sorted()
            guard !names.isEmpty else { return }
            if let first, let living = beats.first(where: { first[$0.key] != $0.value }) {
                throw StoreError(
                    "store-in-use",
                    "the gateway \(living.key) uses the database \(place); stop all its gateways")
            }
            if first == nil { waiting(names.joined(separator: ", ")) }
            first = first ?? beats
            let until = SystemClock.monotonicNs + 500_000_000
            pause.wait(until: { _ in (SystemClock.monotonicNs >= until ? () : nil, until) })
        }
    }

    /// The database, and how many lives gateways had on it.
    public func identity() throws -> String {
        let rows = try ask(
            """
            SELECT (SELECT value FROM signalbox.meta WHERE name = 'seed_0'),
              (SELECT last_value FROM signalbox.life),
              (SELECT coalesce(sum(epoch), 0)::bigint FROM signalbox.gateway)
            """)
        let numbers = (0..<3).map { "\(rows.number(0, $0))" }
        return "postgres \(place) \(numbers.joined(separator: " "))"
    }

    /// How many records there are.
    public func counts() throws -> [StoredKind: Int] {
        try reporting { try TableCounts.all(tables) }
    }

    /// Ends the connection.
    public func close() { link.end() }

    // MARK: Statements

    func run(
        _ sql: String, _ parameters: Parameters = Parameters()
    ) throws(PostgresFault) -> Rows {
        try link.run(
            Statement("", sql), parameters, byNs: SystemClock.monotonicNs + Self.maxNs)
    }

    func ask(_ sql: String, _ parameters: Parameters = Parameters()) throws(StoreError) -> Rows {
        do throws(PostgresFault) { return try run(sql, parameters) } catch { throw fault(error) }
    }

    func finish() throws(PostgresFault) -> [Rows] {
        try link.finish(byNs: SystemClock.monotonicNs + Self.maxNs)
    }

    var tables: PostgresTables { PostgresTables(link: link, deadlineNs: deadlineNs) }

    func reporting<Value>(_ body: () throws -> Value) throws -> Value {
        do { return try body() } catch let error as PostgresFault { throw fault(error) }
    }

    func fault(_ fault: PostgresFault) -> StoreError {
        if fault.isFull {
            return StoreError(
                "store-full",
                "the disk of the database \(place) is full: \(fault.failure.message); make room there"
            )
        }
        if fault.isLocked {
            return StoreError(
                "store-locked", "the tables in \(place) are locked: \(LockWait.words(link))")
        }
        if fault.isAway {
            return StoreError(
                "store-unreachable", "the database \(place) is away: \(fault.failure.message)")
        }
        return StoreError("store-failed", "the database \(place): \(fault.failure.message)")
    }

    // MARK: The mark of a copy

    /// How far the copy into this database has come.
    public func mark() throws -> CopyMark? { try reporting { try CopyMark.read(tables) } }

    /// The last mark of the copy that made this database's store.
    public func finished() throws -> CopyMark? {
        try reporting { try CopyMark.read(from: "copied", tables) }
    }
}
