internal import SignalboxCore
internal import SignalboxTables

/// The stream of outcomes, and each receiver's position.
///
/// Whoever appends locks the only row of `outcome_order` until the commit, so that numbers have one order and no gap.
/// The newest row stays even if all receivers have it, because it says which number is next.
enum OutcomeTables {
    private static let order = Statement(
        "outcome_order", "SELECT id FROM signalbox.outcome_order WHERE id = 1 FOR UPDATE")

    /// The next number. The newest row is in the current half, unless that is empty; the end of the other one may be
    /// nothing but dead rows.
    static let end = CopiedTable.outcomesEnd

    private static let newest = """
        coalesce((SELECT \(end) FROM signalbox.outcome
            WHERE part = \(CurrentHalf.of("outcome")) ORDER BY first DESC LIMIT 1),
          (SELECT \(end) FROM signalbox.outcome ORDER BY first DESC LIMIT 1), 1)
        """

    private static let insert = Statement(
        "insert_outcomes",
        """
        INSERT INTO signalbox.outcome (part, first, count, at, records)
        SELECT \(CurrentHalf.of("outcome")), \(newest), $1::bigint, $2::bigint, $3::bytea
        RETURNING \(end)
        """)

    private static let floor = """
        coalesce((SELECT min(next) FROM signalbox.outcome_receiver), 9223372036854775807)
        """

    static let next = Statement("next_outcome", "SELECT \(newest)")

    /// Appends packs right before the commit; `told` gets the next number.
    static func append(
        _ packs: [OutcomePack], _ group: Group, _ transaction: Transaction, nowUnixMs: Int64,
        _ told: @escaping (Int) -> Void
    ) {
        guard !packs.isEmpty else { return }
        transaction.send(order)
        var row = OutcomePack()
        func write() {
            let values = Parameters(Int64(row.count), nowUnixMs, row.bytes)
            group.ask(transaction, insert, values) { told(Int($0.number(0, 0))) }
            row = OutcomePack()
        }
        for pack in packs {
            if !row.isEmpty, row.bytes.count + pack.bytes.count > OutcomeBatch.bytesMax { write() }
            row.append(pack)
        }
        write()
    }

    static func append(
        _ pack: OutcomePack, _ group: Group, _ transaction: Transaction, nowUnixMs: Int64
    ) throws(TransactionFault) -> Int? {
        var next: Int?
        append(pack.isEmpty ? [] : [pack], group, transaction, nowUnixMs: nowUnixMs) { next = $0 }
        try group.commit(transaction)
        return next
    }

    static func setReceivers(
        _ names: [String], _ transaction: Transaction, nowUnixMs: Int64
    ) throws(TransactionFault) -> (positions: [String: UInt64], next: Int) {
        transaction.send(order)
        let next = try transaction.run(Self.next).number(0, 0)
        name(names, transaction, nowUnixMs: nowUnixMs)
        let values = Parameters(names)
        let rows = try transaction.run(
            Statement(
                "",
                "SELECT name, next FROM signalbox.outcome_receiver WHERE name = ANY ($1::text[])"),
            values)
        var out: [String: UInt64] = [:]
        for row in 0..<rows.count { out[rows.text(row, 0)] = rows.unsigned(row, 1) }
        return (out, Int(next))
    }

    private static let insertReceivers = Statement(
        "name_receivers",
        """
        INSERT INTO signalbox.outcome_receiver (name, next, named)
        SELECT name, \(newest), $2::bigint FROM unnest($1::text[]) AS new (name)
        ON CONFLICT (name) DO NOTHING
        """)

    /// A row that is in use can be renewed next time.
    private static let renewReceivers = Statement(
        "renew_receivers",
        """
        UPDATE signalbox.outcome_receiver SET named = $2::bigint
        WHERE name IN (SELECT name FROM signalbox.outcome_receiver
          WHERE name = ANY ($1::text[]) AND named < $2::bigint - 30000 FOR UPDATE SKIP LOCKED)
        """)

    /// Records that this gateway names these receivers, and creates missing ones, which begin with the next outcome.
    static func name(_ names: [String], _ transaction: Transaction, nowUnixMs: Int64) {
        guard !names.isEmpty else { return }
        let values = Parameters(names, nowUnixMs)
        transaction.send(insertReceivers, values)
        transaction.send(renewReceivers, values)
    }

    /// Removes a receiver, unless it was named meanwhile. Returns how many outcomes waited for it.
    static func remove(
        _ receiver: ReceiverSweep.Unnamed, _ transaction: Transaction
    ) throws(TransactionFault) -> Int? {
        let values = Parameters(receiver.name, receiver.namedUnixMs)
        let rows = try transaction.run(
            Statement(
                "remove_receiver",
                """
                DELETE FROM signalbox.outcome_receiver WHERE name = $1::text AND named = $2::bigint
                RETURNING greatest(0, \(newest) - greatest(next, 0))
                """), values)
        removeTaken(transaction)
        return rows.count == 0 ? nil : Int(rows.number(0, 0))
    }

    private static let mayClaim = """
        (sender = $2::bigint OR until <= $3::bigint
          OR NOT EXISTS (SELECT 1 FROM signalbox.gateway g WHERE g.life = sender))
        """

    private static let canClaim = Statement(
        "can_claim_outcomes",
        "SELECT 1 FROM signalbox.outcome_receiver WHERE name = $1::text AND \(mayClaim)")

    private static let claim = Statement(
        "claim_outcomes",
        """
        UPDATE signalbox.outcome_receiver SET sender = $2::bigint, until = $4::bigint
        WHERE name = $1::text AND \(mayClaim) RETURNING next
        """)

    private static func claimant(
        _ receiver: String, _ life: Life, nowUnixMs: Int64
    ) -> Parameters {
        let values = Parameters(receiver, life.number, nowUnixMs)
        return values
    }

    /// Whether no other gateway sends a receiver's outcomes. Takes no lock, since waiting gateways ask often.
    static func canClaim(
        _ receiver: String, _ life: Life, nowUnixMs: Int64, _ link: PostgresLink,
        byNs deadlineNs: UInt64
    ) throws(PostgresFault) -> Bool {
        let values = claimant(receiver, life, nowUnixMs: nowUnixMs)
        return try link.run(canClaim, values, byNs: deadlineNs).count > 0
    }

    /// Claims a receiver's outcomes. Returns its position, or nil.
    static func claim(
        _ receiver: String, _ life: Life, untilUnixMs: Int64, nowUnixMs: Int64,
        _ transaction: Transaction
    ) throws(TransactionFault) -> UInt64? {
        var values = claimant(receiver, life, nowUnixMs: nowUnixMs)
        values.add(untilUnixMs)
        let rows = try transaction.run(claim, values)
        return rows.count == 0 ? nil : UInt64(clamping: rows.number(0, 0))
    }

    /// The next sweep removes what all receivers have taken.
    static func taken(by receiver: String, next: UInt64, _ transaction: Transaction) {
        let values = Parameters(receiver, next)
        transaction.send(
            Statement(
                "outcomes_taken",
                """
                UPDATE signalbox.outcome_receiver SET next = $2::bigint
                WHERE name = $1::text AND next < $2::bigint
                """), values)
    }

    private static func removeTaken(_ transaction: Transaction) {
        transaction.send(
            Statement(
                "remove_outcomes",
                """
                DELETE FROM signalbox.outcome WHERE \(end) <= \(floor)
                  AND first < (SELECT max(first) FROM signalbox.outcome)
                """))
    }

    /// Removes what is too old or too much. Returns how many each receiver lost.
    static func trim(
        nowUnixMs: Int64, _ transaction: Transaction
    ) throws(TransactionFault) -> [String: Int] {
        let values = Parameters(
            nowUnixMs - Int64(OutcomeLimits.ageMs), Int64(OutcomeLimits.countMax))
        let rows = try transaction.run(
            Statement(
                "trim_outcomes",
                """
                WITH bounds AS (
                  SELECT max(\(end)) AS next,
                    coalesce(min(first) FILTER (WHERE at >= $1::bigint), max(\(end))) AS young
                  FROM signalbox.outcome),
                  lowest AS (SELECT greatest(young, next - $2::bigint) AS first FROM bounds),
                  behind AS (SELECT r.name, r.next, l.first FROM signalbox.outcome_receiver r, lowest l
                    WHERE r.next < l.first FOR UPDATE OF r)
                UPDATE signalbox.outcome_receiver r SET next = b.first FROM behind b
                WHERE r.name = b.name RETURNING r.name, b.first - greatest(b.next, 0)
                """), values)
        removeTaken(transaction)
        var out: [String: Int] = [:]
        for row in 0..<rows.count { out[rows.text(row, 0)] = Int(rows.number(row, 1)) }
        return out
    }

    /// Rows from a number on, about one request's worth.
    static func rows(
        from first: UInt64, _ link: PostgresLink, byNs deadlineNs: UInt64
    ) throws(PostgresFault) -> (rows: [OutcomeRow], hasMore: Bool) {
        let values = Parameters(first)
        let found = try link.run(
            Statement(
                "outcomes_from",
                """
                SELECT first, count, records FROM signalbox.outcome
                WHERE first >= coalesce(
                    (SELECT max(first) FROM signalbox.outcome WHERE first <= $1::bigint), 0)
                  AND \(end) > $1::bigint
                  AND \(end) > coalesce((SELECT min(next) FROM signalbox.outcome_receiver), 0)
                ORDER BY first LIMIT 16
                """), values, byNs: deadlineNs)
        var (out, bytes) = ([OutcomeRow](), 0)
        for row in 0..<found.count {
            guard bytes < OutcomeBatch.bytesMax else { return (out, true) }
            let records = Array(found.bytes(row, 2))
            bytes += records.count
            out.append(
                OutcomeRow(
                    first: found.unsigned(row, 0),
                    count: Int(clamping: found.unsigned(row, 1)),
                    bytes: records))
        }
        return (out, found.count == 16)
    }
}
