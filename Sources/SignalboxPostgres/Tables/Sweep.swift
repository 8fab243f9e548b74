internal import SignalboxCore

/// Removes what has had its time. Every gateway sweeps; what one has locked, another leaves alone.
enum Sweep {
    /// Keys that are removed in one transaction.
    private static let keysMax = 20_000
    /// How often it removes so many keys in one sweep.
    private static let roundsMax = 50

    private static let keys = Statement(
        "forget_keys",
        """
        DELETE FROM signalbox.seen WHERE key IN (
          SELECT key FROM signalbox.seen WHERE until <= $1::bigint LIMIT \(keysMax)
          FOR UPDATE SKIP LOCKED)
        """)

    private static let values = Statement(
        "forget_values", "DELETE FROM signalbox.value WHERE expires <= $1::bigint")

    /// Gateways that are gone for a week.
    private static let gateways = Statement(
        "forget_gateways",
        """
        DELETE FROM signalbox.gateway
        WHERE heartbeat < $1::bigint - 604800000 AND life <> $2::bigint
        """)

    /// Marks of lives that have long ended: the last ones may still be asked for.
    private static let marks = Statement(
        "forget_old_marks",
        """
        DELETE FROM signalbox.mark m WHERE m.life < $1::bigint - 100
          AND NOT EXISTS (SELECT 1 FROM signalbox.gateway g WHERE g.life = m.life)
        """)

    static func run(
        _ session: Session, life: Life, _ clock: DatabaseClock,
        _ onNotice: @Sendable (PostgresNotice) -> Void
    ) -> TransactionFault? {
        var now = Parameters()
        now.add(clock.nowUnixMs)
        var rounds = 0
        do throws(TransactionFault) {
            var count = keysMax
            while count == keysMax, rounds < roundsMax {
                rounds += 1
                count = try session.transaction { transaction throws(TransactionFault) in
                    try transaction.run(keys, now).changed
                }
            }
            let lost = try session.transaction { transaction throws(TransactionFault) in
                transaction.send(values, now)
                var old = now
                old.add(life.number)
                transaction.send(gateways, old)
                var own = Parameters()
                own.add(life.number)
                transaction.send(marks, own)
                return try OutcomeTables.trim(nowUnixMs: clock.nowUnixMs, transaction)
            }
            for (name, count) in lost { onNotice(.outcomesLost(receiver: name, count: count)) }
            return nil
        } catch {
            return error
        }
    }
}
