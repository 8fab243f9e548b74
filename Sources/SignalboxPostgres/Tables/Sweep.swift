internal import SignalboxCore

/// Removes what has had its time. Every gateway sweeps; what one has locked, another leaves alone.
enum Sweep {
    private static let values = Statement(
        "forget_values", "DELETE FROM signalbox.value WHERE expires <= $1::bigint")

    /// Gateways that are gone for a week.
    private static let gateways = Statement(
        "forget_gateways",
        """
        DELETE FROM signalbox.gateway
        WHERE abs(greatest(heartbeat, -9223372036854775807)) < $1::bigint - 604800000 AND life <> $2::bigint
        """)

    /// Marks of lives that have long ended: the last ones may still be asked for.
    private static let marks = Statement(
        "forget_old_marks",
        """
        DELETE FROM signalbox.mark m WHERE m.life < $1::bigint - 100
          AND NOT EXISTS (SELECT 1 FROM signalbox.gateway g WHERE g.life = m.life)
        """)

    static func run(
        _ session: Session, life: Life, _ clock: DatabaseClock, _ rotation: TableRotation,
        _ history: HistoryRotation,
        _ receivers: ReceiverSweep, _ onNotice: @Sendable (PostgresNotice) -> Void
    ) -> TransactionFault? {
        let nowUnixMs = clock.nowUnixMs
        let now = Parameters(nowUnixMs)
        do throws(TransactionFault) {
            let (lost, unnamed) = try session.transaction { transaction throws(TransactionFault) in
                transaction.send(values, now)
                var old = now
                old.add(life.number)
                transaction.send(gateways, old)
                let own = Parameters(life.number)
                transaction.send(marks, own)
                let unnamed = try receivers.look(transaction, nowUnixMs: nowUnixMs)
                return (try OutcomeTables.trim(nowUnixMs: nowUnixMs, transaction), unnamed)
            }
            for (name, count) in lost { onNotice(.outcomesLost(receiver: name, count: count)) }
            try receivers.judge(unnamed, session)
            try rotation.tidy(session, nowUnixMs: nowUnixMs)
            try history.tidy(session, nowUnixMs: nowUnixMs)
            return nil
        } catch {
            return error
        }
    }
}
