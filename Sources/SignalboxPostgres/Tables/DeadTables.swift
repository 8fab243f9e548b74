internal import SignalboxCore
internal import SignalboxJSON

/// The statements of the dead letters.
enum DeadTables {
    /// The conditions of a filter, with their arguments.
    private struct Conditions {
        var sql = ["d.id >= $1::bigint"]
        var values = Parameters()

        init(_ filter: DeadFilter, fromID: UInt64) {
            values.add(fromID)
            add(filter.sender, "l.sender = ?::text")
            add(filter.route, "d.route = ?::text")
            add(filter.reason, "d.reason = ?::text")
            add(filter.app, "l.app = ?::text")
            if let user = filter.user {
                // The rows that are left are read to see whose they are.
                values.add(Array(user.utf8))
                sql.append("position($\(values.places.count)::bytea in d.body) > 0")
            }
            if let before = filter.beforeUnixMs { add(before, "d.at < ?::bigint") }
            if let since = filter.sinceUnixMs { add(since, "d.at >= ?::bigint") }
            if !filter.ids.isEmpty {
                values.add(filter.ids.map { Int64(clamping: $0) })
                sql.append("d.id = ANY ($\(values.places.count)::bigint[])")
            }
        }

        private mutating func add(_ text: String?, _ condition: String) {
            guard let text else { return }
            values.add(text)
            sql.append(condition.replacing("?", with: "$\(values.places.count)"))
        }

        private mutating func add(_ number: UInt64, _ condition: String) {
            values.add(number)
            sql.append(condition.replacing("?", with: "$\(values.places.count)"))
        }

        /// Dead letters with their lanes.
        func select(_ columns: String, _ rest: String = "") -> Statement {
            Statement(
                "",
                """
                SELECT \(columns) FROM signalbox.dead d JOIN signalbox.lane l ON l.id = d.lane
                WHERE \(sql.joined(separator: " AND ")) \(rest)
                """)
        }
    }

    /// How many letters are looked at in one part of a search for a user.
    private static let searchPart = 1_000

    static func count(
        _ filter: DeadFilter, _ link: PostgresLink, byNs deadlineNs: UInt64
    ) throws(PostgresFault) -> Int {
        guard filter.user == nil else {
            return try list(filter, fromID: 0, limit: .max, link, byNs: deadlineNs).count
        }
        let conditions = Conditions(filter, fromID: 0)
        let rows = try link.run(
            conditions.select("count(*)"), conditions.values, byNs: deadlineNs)
        return Int(rows.number(0, 0))
    }

    static func list(
        _ filter: DeadFilter, fromID: UInt64, limit: Int, _ link: PostgresLink,
        byNs deadlineNs: UInt64
    ) throws(PostgresFault) -> [DeadLetter] {
        var letters: [DeadLetter] = []
        var next: UInt64? = fromID
        while let from = next, letters.count < limit {
            let part = filter.user == nil ? limit : searchPart
            let conditions = Conditions(filter, fromID: from)
            let statement = conditions.select(
                "d.id, d.at, d.reason, d.stable, d.route, d.received, d.attempts::text, d.body, l.sender, l.app, l.kind",
                "ORDER BY d.id LIMIT \(part)")
            let rows = try link.run(statement, conditions.values, byNs: deadlineNs)
            let found = (0..<rows.count).map { letter(rows, $0) }
            letters += found.filter { filter.takes(user: $0.device.user) }
                .prefix(limit - letters.count)
            next = rows.count < part ? nil : found.last.map { $0.id + 1 }
        }
        return letters
    }

    private static func letter(_ rows: Rows, _ row: Int) -> DeadLetter {
        let lane = LaneKey(rows, row, from: 8)
        let reader = BlockReader(rows.bytes(row, 7), lane: lane)
        let delivery = reader.deliveries.first?.delivery
        let content = reader.contents.first
        return DeadLetter(
            kind: lane.kind, id: UInt64(clamping: rows.number(row, 0)),
            unixMs: UInt64(clamping: rows.number(row, 1)), reason: rows.text(row, 2),
            sender: lane.sender, route: rows.text(row, 4), eventID: content?.event ?? 0,
            source: content?.source ?? "", type: content?.type ?? "",
            subject: content?.subject ?? "",
            receivedUnixMs: UInt64(clamping: rows.number(row, 5)), stableID: rows.text(row, 3),
            notification: content?.note.notification ?? PushNotification(),
            device: delivery?.device ?? Device(app: lane.app),
            attempts: attempts(rows.text(row, 6)))
    }

    static func attempts(_ text: String) -> [Attempt] {
        guard case .array(let items) = try? JSONValue.parse(text) else { return [] }
        return items.map { item in
            func number(_ name: String) -> Int64 { item[name]?.integer ?? 0 }
            var attempt = Attempt(
                number: StoredNumber.attempts(number("number"), free: 0).attempt,
                unixMs: UInt64(clamping: number("unix_ms")), reason: item["reason"]?.string ?? "",
                code: UInt32(clamping: number("code")), detail: item["detail"]?.string ?? "")
            attempt.owner = item["gateway"]?.string ?? ""
            return attempt
        }
    }

    /// Ids of the next part, their lanes, and the id at which the part after it starts.
    ///
    /// What is replayed must be readable.
    private static func part(
        _ filter: DeadFilter, fromID: UInt64, limit: Int, isRead: Bool, _ transaction: Transaction
    ) throws(TransactionFault) -> (ids: [Int64], lanes: [Int64: LaneKey], nextID: UInt64?) {
        let conditions = Conditions(filter, fromID: fromID)
        let hasBody = isRead || filter.user != nil
        let rows = try transaction.run(
            conditions.select(
                "d.id, d.lane, l.sender, l.app, l.kind" + (hasBody ? ", d.body" : ""),
                "ORDER BY d.id LIMIT \(limit + 1) FOR UPDATE OF d"),
            conditions.values)
        var lanes: [Int64: LaneKey] = [:]
        var ids: [Int64] = []
        for row in 0..<min(rows.count, limit) {
            let lane = LaneKey(rows, row, from: 2)
            if hasBody {
                let delivery = BlockReader(rows.bytes(row, 5), lane: lane).deliveries.first?
                    .delivery
                if isRead, delivery == nil { continue }
                guard filter.takes(user: delivery?.device.user ?? "") else { continue }
            }
            ids.append(rows.number(row, 0))
            lanes[rows.number(row, 1)] = lane
        }
        return (ids, lanes, rows.count > limit ? UInt64(clamping: rows.number(limit, 0)) : nil)
    }

    static func purge(
        _ filter: DeadFilter, fromID: UInt64, limit: Int, _ transaction: Transaction
    ) throws(TransactionFault) -> DeadPart {
        let (ids, _, next) = try part(
            filter, fromID: fromID, limit: limit, isRead: false, transaction)
        var values = Parameters()
        values.add(ids)
        transaction.send(
            Statement("purge", "DELETE FROM signalbox.dead WHERE id = ANY ($1::bigint[])"), values)
        return DeadPart(count: ids.count, nextID: next)
    }

    /// Removes what is too old or too much, the oldest first.
    static func trim(
        _ limits: DeadLimits, max: Int, nowUnixMs: Int64, _ transaction: Transaction
    ) throws(TransactionFault) -> DeadTrim {
        func remove(
            _ condition: String, _ number: Int64, _ limit: Int
        ) throws(TransactionFault) -> Int {
            var values = Parameters()
            values.add(number)
            return try transaction.run(
                Statement(
                    "",
                    """
                    DELETE FROM signalbox.dead WHERE id IN (SELECT id FROM signalbox.dead
                      WHERE \(condition) ORDER BY at, id LIMIT \(limit) FOR UPDATE SKIP LOCKED)
                    """), values
            ).changed
        }
        let oldest = nowUnixMs - min(nowUnixMs, Int64(clamping: limits.keepMs))
        let old = try remove("at < $1::bigint", oldest, max)
        let count = try transaction.run(Statement("", "SELECT count(*) FROM signalbox.dead"))
        let surplus = Int(count.number(0, 0)) - limits.countMax
        guard surplus > 0 else { return DeadTrim(old: old, surplus: 0) }
        return DeadTrim(old: old, surplus: try remove("at <= $1::bigint", .max, min(max, surplus)))
    }

    /// Makes deliveries of a part again: first attempt, and as much time as they had.
    static func replay(
        _ filter: DeadFilter, fromID: UInt64, limit: Int, nowUnixMs: Int64,
        _ transaction: Transaction
    ) throws(TransactionFault) -> (part: DeadPart, lanes: [Int64: LaneKey]) {
        let (ids, lanes, next) = try part(
            filter, fromID: fromID, limit: limit, isRead: true, transaction)
        var values = Parameters()
        values.add(ids)
        values.add(nowUnixMs)
        values.add(nowUnixMs - min(nowUnixMs, Int64(clamping: Replay.ageMs)))
        transaction.send(
            Statement(
                "replay",
                """
                WITH gone AS (DELETE FROM signalbox.dead WHERE id = ANY ($1::bigint[]) RETURNING *)
                INSERT INTO signalbox.delivery (part, id, lane, rank, due, owner, attempt, free,
                  deadline, received, stable, route, is_report, attempts, body, \(StaleColumns.names))
                SELECT \(CurrentHalf.of("delivery")), id, lane,
                  CASE WHEN rank IN (0, 1, 2) THEN rank ELSE 1 END, 0, 0, 1, 0,
                  CASE WHEN deadline BETWEEN 1 AND \(StoredNumber.max)
                      AND received BETWEEN 0 AND \(StoredNumber.max)
                    THEN $2::bigint + greatest(0, deadline - received) ELSE 0 END,
                  $3::bigint, stable, route, is_report, '[]'::jsonb, body, shown_key, badge_key,
                  CASE accepted WHEN 0 THEN received ELSE accepted END, stale
                FROM gone
                """), values)
        return (DeadPart(count: ids.count, nextID: next), lanes)
    }
}
