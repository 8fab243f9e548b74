internal import SignalboxCore
internal import SignalboxThreads

/// Keeps tables of short-lived rows small, even if somebody keeps an old snapshot for hours, which prevents PostgreSQL
/// from reusing the space of removed rows.
///
/// Each of these tables has two halves (partitions). New rows go into the current one. When most of it is dead, the
/// other half becomes the current one. Once nearly all rows of the former half are gone, the last ones are moved and
/// it is truncated. That needs an exclusive lock. If somebody reads the table for long, as a dump does, the half waits
/// and grows.
///
/// `@unchecked Sendable`: used by its connection's thread alone.
final class TableRotation: @unchecked Sendable {
    private struct Table {
        var name: String
        /// Orders its rows; the last ones move first.
        var key: String
        /// Rows that are still needed at `$1`.
        var alive = "$1::bigint > 0"
        /// About how many bytes such a row has.
        var bytes: String
        /// With more rows still needed than this, a half waits until they have expired.
        var aliveMax: Int64?
        /// Moves the remaining rows, under an exclusive lock.
        var moveRest: String?
    }

    private static let tables = [
        Table(name: "block", key: "id", bytes: "pg_column_size(body) + 300"),
        Table(name: "delivery", key: "id", bytes: "pg_column_size(body) + 500"),
        Table(name: "outcome", key: "first", bytes: "pg_column_size(records) + 150"),
        Table(
            name: "seen", key: "key", alive: "until > $1::bigint", bytes: "150", aliveMax: 50_000),
        // A claim for a mark is in both halves; a mark that was written counts more than a claim.
        Table(
            name: "mark", key: "n", bytes: "150",
            moveRest: """
                INSERT INTO signalbox.mark AS m (part, life, channel, n, is_claim)
                SELECT $2::bigint, life, channel, n, is_claim FROM signalbox.mark
                WHERE part = 1 - $2::bigint AND $1::bigint > 0
                ON CONFLICT (life, channel, n, part)
                DO UPDATE SET is_claim = m.is_claim AND excluded.is_claim
                """),
    ]

    /// Rows that move in one transaction, and how many such transactions a sweep does for a table.
    private static let (rowsMax, roundsMax) = (500, 20)
    /// Pause before the next try if a half was in use, in nanoseconds: short for a busy gateway, long for a dump.
    private static let lockedNs: ClosedRange<UInt64> = 5_000_000_000...120_000_000_000

    /// Of a half that is larger, at most a half may be dead.
    private let bytesMax: Int64
    /// When a table is looked at next.
    private var nextNs: [String: UInt64] = [:]
    /// How long it waits after the next try that fails.
    private var waitNs: [String: UInt64] = [:]

    init(bytesMax: Int64 = 8 << 20) { self.bytesMax = bytesMax }

    /// What a look at a table led to.
    private enum Step {
        case nothing
        /// It counted what is alive, which is too much.
        case count
        /// More rows must be moved.
        case more
        /// The former half can be emptied.
        case empty
    }

    /// Looks at each table.
    func tidy(_ session: Session, nowUnixMs: Int64) throws(TransactionFault) {
        for table in Self.tables where nextNs[table.name, default: 0] <= SystemClock.monotonicNs {
            let start = SystemClock.monotonicNs
            var step = Step.nothing
            var rounds = 0
            repeat {
                rounds += 1
                step = try session.transaction { transaction throws(TransactionFault) in
                    try self.step(table, transaction, nowUnixMs: nowUnixMs)
                }
            } while step == .more && rounds < Self.roundsMax
            if step == .empty {
                let isDone = try end(table, session, nowUnixMs: nowUnixMs)
                let waitNs = waitNs[table.name, default: Self.lockedNs.lowerBound]
                self.waitNs[table.name] = isDone ? nil : min(2 * waitNs, Self.lockedNs.upperBound)
                if !isDone { nextNs[table.name] = SystemClock.monotonicNs + waitNs }
            } else if step == .count {
                // A long queue is counted now and then.
                let now = SystemClock.monotonicNs
                nextNs[table.name] = now + (now - start) * 20
            }
        }
    }

    private func step(
        _ table: Table, _ transaction: Transaction, nowUnixMs: Int64
    ) throws(TransactionFault) -> Step {
        guard let part = try Self.lock(table, transaction) else { return .nothing }
        let old = 1 - part
        let sizes = try transaction.run(
            Statement(
                "",
                """
                SELECT pg_total_relation_size('signalbox.\(table.name)_\(part)'),
                  pg_relation_size('signalbox.\(table.name)_\(old)')
                """))
        var values = Parameters(nowUnixMs)
        guard sizes.number(0, 1) == 0 else {
            guard table.moveRest == nil else { return .empty }
            if let aliveMax = table.aliveMax {
                let alive = try transaction.run(Self.alive(table, "1", part: old), values)
                guard alive.number(0, 0) <= aliveMax else { return .count }
            }
            values.add(part)
            let moved = try transaction.run(
                Self.move(table, "ORDER BY \(table.key) DESC LIMIT \(Self.rowsMax)"), values)
            return moved.changed == Self.rowsMax ? .more : .empty
        }
        let size = sizes.number(0, 0)
        guard size > bytesMax else { return .nothing }
        let live = try transaction.run(Self.alive(table, table.bytes, part: part), values)
            .number(0, 0)
        guard size > bytesMax + 2 * live else { return .count }
        try Self.change(table, to: old, transaction)
        return .nothing
    }

    private static func alive(_ table: Table, _ sum: String, part: Int64) -> Statement {
        Statement(
            "",
            """
            SELECT coalesce(sum(\(sum)), 0)::bigint FROM signalbox.\(table.name)_\(part)
            WHERE \(table.alive)
            """)
    }

    /// One gateway at a time looks at a table. Returns the current half.
    private static func lock(
        _ table: Table, _ transaction: Transaction
    ) throws(TransactionFault) -> Int64? {
        let rows = try transaction.run(
            Statement(
                "",
                """
                SELECT abs(value % 2) FROM signalbox.meta WHERE name = '\(table.name)_part'
                FOR UPDATE SKIP LOCKED
                """))
        return rows.count == 0 ? nil : rows.number(0, 0)
    }

    /// Makes the other half the current one, between two transactions that write to the table: a key that is new must
    /// be so in both halves, and numbers of outcomes rise.
    private static func change(
        _ table: Table, to part: Int64, _ transaction: Transaction
    ) throws(TransactionFault) {
        guard
            try wait(
                for: "LOCK TABLE signalbox.\(table.name) IN SHARE ROW EXCLUSIVE MODE", transaction)
        else { return }
        transaction.send(
            Statement(
                "", "UPDATE signalbox.meta SET value = \(part) WHERE name = '\(table.name)_part'"))
    }

    /// Rows that are locked, or that another transaction moves, are skipped until later.
    private static func move(_ table: Table, _ limit: String) -> Statement {
        Statement(
            "",
            """
            UPDATE signalbox.\(table.name) SET part = $2::bigint
            WHERE part = 1 - $2::bigint AND \(table.key) IN (
              SELECT \(table.key) FROM signalbox.\(table.name)
              WHERE part = 1 - $2::bigint AND \(table.alive) \(limit) FOR UPDATE SKIP LOCKED)
            """)
    }

    /// Moves the remaining rows out of the half that is not current, and truncates it. False if it is in use.
    private func end(
        _ table: Table, _ session: Session, nowUnixMs: Int64
    ) throws(TransactionFault) -> Bool {
        try session.transaction { transaction throws(TransactionFault) in
            guard let part = try Self.lock(table, transaction) else { return false }
            let half = "signalbox.\(table.name)_\(1 - part)"
            guard
                try Self.wait(
                    for: "LOCK TABLE \(half) IN ACCESS EXCLUSIVE MODE", transaction)
            else { return false }
            let values = Parameters(nowUnixMs, part)
            transaction.send(
                table.moveRest.map { Statement("", $0) } ?? Self.move(table, ""), values)
            transaction.send(Statement("", "TRUNCATE \(half)"))
            return true
        }
    }

    /// Waits only 50 ms for a lock, because all others queue behind it. Rolls back and returns false without the lock.
    static func wait(
        for lock: String, _ transaction: Transaction
    ) throws(TransactionFault) -> Bool {
        transaction.send(Statement("", "SET LOCAL lock_timeout = '50ms'"))
        do throws(TransactionFault) {
            _ = try transaction.run(Statement("", lock))
            return true
        } catch {
            guard case .database(let fault) = error, fault.sqlState == "55P03" else { throw error }
            transaction.rollBack()
            return false
        }
    }
}
