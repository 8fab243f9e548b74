internal import SignalboxCore
internal import SignalboxThreads

/// Keeps history within its limits: it is written into one of several partitions, and when that has its share of the
/// bytes or of the time, the oldest one is emptied and becomes the current one.
///
/// `TRUNCATE` frees the space at once, whatever snapshot is open, and leaves nothing to vacuum.
///
/// `@unchecked Sendable`: used by its connection's thread alone.
final class HistoryRotation: @unchecked Sendable {
    private static let restNs: UInt64 = 600_000_000_000

    private let shared: SharedState
    /// When partitions that are too old are looked for next.
    private var nextNs: UInt64 = 0

    init(_ shared: SharedState) { self.shared = shared }

    /// Changes the partition if it is time.
    func tidy(_ session: Session, nowUnixMs: Int64) throws(TransactionFault) {
        guard let limits = shared.historyLimits else { return }
        if limits.bytesMax > 0 { try rotate(limits, session, nowUnixMs: nowUnixMs) }
        guard SystemClock.monotonicNs >= nextNs else { return }
        nextNs = SystemClock.monotonicNs + Self.restNs
        // A limit of 0 turns history off, which also deletes existing rows.
        let oldest =
            limits.bytesMax > 0 ? nowUnixMs - Int64(clamping: limits.keepMs) : Int64.max
        for part in 0..<Schema.historyParts { try empty(part, before: oldest, session) }
    }

    private func rotate(
        _ limits: HistoryLimits, _ session: Session, nowUnixMs: Int64
    ) throws(TransactionFault) {
        try session.transaction { transaction throws(TransactionFault) in
            let rows = try transaction.run(
                Statement(
                    "",
                    """
                    SELECT abs(value % \(Schema.historyParts)) FROM signalbox.meta WHERE name = 'history_part'
                    FOR UPDATE SKIP LOCKED
                    """))
            guard rows.count > 0 else { return }
            try self.change(rows.number(0, 0), limits, transaction, nowUnixMs: nowUnixMs)
        }
    }

    private func change(
        _ part: Int64, _ limits: HistoryLimits, _ transaction: Transaction, nowUnixMs: Int64
    ) throws(TransactionFault) {
        let found = try transaction.run(
            Statement(
                "",
                """
                SELECT pg_total_relation_size('signalbox.history_\(part)'),
                  (SELECT min(at) FROM signalbox.history_\(part))
                """))
        let isLarge = found.number(0, 0) > Int64(clamping: limits.bytesMax) / Schema.historyParts
        let age = found.optional(0, 1).map { nowUnixMs - $0 } ?? 0
        guard isLarge || age > Int64(clamping: limits.keepMs) / (Schema.historyParts - 1) else {
            return
        }
        let next = (part + 1) % Schema.historyParts
        guard try Self.empty(next, transaction) else { return }
        transaction.send(
            Statement(
                "", "UPDATE signalbox.meta SET value = \(next) WHERE name = 'history_part'"))
    }

    /// Without new events no partition becomes the current one, and what is too old goes all the same.
    private func empty(
        _ part: Int64, before oldest: Int64, _ session: Session
    ) throws(TransactionFault) {
        try session.transaction { transaction throws(TransactionFault) in
            let found = try transaction.run(
                Statement("", "SELECT max(at) FROM signalbox.history_\(part)"))
            guard let newest = found.optional(0, 0), newest < oldest else { return }
            _ = try Self.empty(part, transaction)
        }
    }

    /// Empties a partition. False if somebody reads it.
    private static func empty(
        _ part: Int64, _ transaction: Transaction
    ) throws(TransactionFault) -> Bool {
        let table = "signalbox.history_\(part)"
        guard
            try TableRotation.wait(for: "LOCK TABLE \(table) IN ACCESS EXCLUSIVE MODE", transaction)
        else { return false }
        transaction.send(Statement("", "TRUNCATE \(table)"))
        return true
    }
}
