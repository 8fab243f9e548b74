internal import SignalboxCore
internal import SignalboxThreads

/// A connection to a database whose tables may be missing, or locked by others.
struct Opening {
    let link: PostgresLink
    let place: String
    let locks: LockWait
    /// How long a statement may take: one that changes the tables, or counts what waits.
    static let maxNs: UInt64 = 120_000_000_000

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
}
