public import SignalboxCore
internal import SignalboxJSON

/// The statements of the dead letters.
public enum DeadTable {
    // MARK: Rows

    /// A row of a dead letter.
    public static func values(
        _ stored: StoredDelivery, _ death: StoredDelivery.Death
    ) -> [TableValue] {
        let delivery = stored.delivery
        let own = death.isDamaged ? nil : delivery.supersession
        return [
            .number(clamping: delivery.id), .number(clamping: death.unixMs), .text(death.reason),
            .text(delivery.sender), .text(delivery.device.app),
            .number(Int64(delivery.kind.rawValue)), .text(delivery.route), .number(delivery.rank),
            .number(clamping: delivery.deadlineUnixMs), .number(clamping: stored.receivedUnixMs),
            .text(delivery.stableID), .text(stored.attempts.record),
            // Of a replay, the body has the time of its first life.
            .bytes(
                death.isDamaged ? [] : delivery.body(receivedUnixMs: delivery.acceptedUnixMs)),
            .number(own?.shown), .number(own?.badge), .number(clamping: delivery.acceptedUnixMs),
            .number(Int64(stored.stale.rawValue)),
        ]
    }

    /// A row of a delivery of which only the lane is known.
    public static func lost(_ id: UInt64, of lane: LaneKey, _ attempt: Attempt) -> [TableValue] {
        let delivery = Delivery(
            kind: lane.kind, id: id, eventID: 0, route: "", sender: lane.sender, stableID: "",
            deadlineUnixMs: 0, content: SharedNotification(PushNotification(), receivedUnixMs: 0),
            device: Device(app: lane.app))
        return values(
            StoredDelivery(delivery, receivedUnixMs: attempt.unixMs, attempts: [attempt]),
            .init(attempt.reason, unixMs: attempt.unixMs, isDamaged: true))
    }

    /// Of one that cannot be read there is what its columns say.
    static func stored(_ row: any TableRow) -> StoredDelivery {
        let lane = LaneKey(
            sender: row.text(3), app: row.text(4),
            kind: DeliveryKind(rawValue: UInt8(clamping: row.number(5))) ?? .push)
        let found = row.withBytes(12) {
            Delivery(
                body: $0, of: lane, receivedUnixMs: row.time(9), deadlineUnixMs: row.time(8))
        }
        let delivery =
            found
            ?? Delivery(
                kind: lane.kind, id: row.time(0), eventID: 0, source: "", subject: "",
                route: row.text(6), sender: lane.sender, stableID: row.text(10),
                deadlineUnixMs: row.time(8),
                content: SharedNotification(PushNotification(), receivedUnixMs: 0),
                device: Device(app: lane.app))
        return StoredDelivery(
            delivery, receivedUnixMs: row.time(9), attempts: [Attempt](record: row.text(11)),
            death: .init(row.text(2), unixMs: row.time(1), isDamaged: found == nil),
            stale: Staleness(stored: row.number(16)))
    }

    private static func letter(_ stored: StoredDelivery) -> DeadLetter {
        let delivery = stored.delivery
        return DeadLetter(
            kind: delivery.kind, id: delivery.id, unixMs: stored.death?.unixMs ?? 0,
            reason: stored.death?.reason ?? "", sender: delivery.sender, route: delivery.route,
            eventID: delivery.eventID, source: delivery.source,
            type: delivery.content.eventType, subject: delivery.subject,
            receivedUnixMs: stored.receivedUnixMs, stableID: delivery.stableID,
            notification: delivery.content.notification, device: delivery.device,
            attempts: stored.attempts)
    }

    // MARK: Searching

    /// The conditions of a filter, with their arguments.
    private struct Search {
        var sql: [String] = []
        var values: [TableValue] = []

        init(_ filter: DeadFilter, fromID: UInt64) {
            add("id >=", .number(clamping: fromID))
            if let sender = filter.sender { add("sender =", .text(sender)) }
            if let route = filter.route { add("route =", .text(route)) }
            if let reason = filter.reason { add("reason =", .text(reason)) }
            if let app = filter.app { add("app =", .text(app)) }
            if let before = filter.beforeUnixMs { add("at <", .number(clamping: before)) }
            if let since = filter.sinceUnixMs { add("at >=", .number(clamping: since)) }
            if !filter.ids.isEmpty {
                sql.append(DeadTable.isOneOf(filter.ids.map { Int64(clamping: $0) }))
            }
            if let user = filter.user {
                // The rows that are left are read to see whose they are.
                values.append(.bytes(Array(user.utf8)))
                sql.append("pg_catalog.\"position\"(body, $\(values.count)) > 0")
            }
        }

        private mutating func add(_ condition: String, _ value: TableValue) {
            values.append(value)
            sql.append("\(condition) $\(values.count)")
        }

        func select(_ columns: String, _ rest: String = "") -> TableStatement {
            TableStatement(
                "",
                """
                SELECT \(columns) FROM signalbox.dead WHERE \(sql.joined(separator: " AND ")) \(rest)
                """)
        }
    }

    private static func isOneOf(_ ids: [Int64]) -> String {
        "id IN (\(ids.map { "\($0)" }.joined(separator: ", ")))"
    }

    /// A part of the dead letters, and the id at which the part after it starts.
    public struct Part {
        /// Without their contents, unless they were asked for.
        public var found: [(id: Int64, stored: StoredDelivery?)] = []
        /// nil: it is the last part.
        public var nextID: UInt64?

        /// For a caller.
        public var answer: DeadPart { DeadPart(count: found.count, nextID: nextID) }
    }

    /// The next part. What is to be replayed must be readable.
    public static func part(
        _ filter: DeadFilter, fromID: UInt64, limit: Int, isReplay: Bool = false,
        isLocked: Bool = true, _ link: any TableLink
    ) throws -> Part {
        let search = Search(filter, fromID: fromID)
        let isRead = isReplay || !isLocked || filter.user != nil
        let select = search.select(
            isRead ? Tables.dead.names : "id",
            "ORDER BY id LIMIT \(limit + 1)\(isLocked ? " FOR UPDATE" : "")")
        var part = Part()
        var count = 0
        try link.each(select, search.values) { row in
            count += 1
            guard count <= limit else {
                part.nextID = row.time(0)
                return
            }
            let stored = isRead ? stored(row) : nil
            if isReplay, stored?.death?.isDamaged == true { return }
            guard filter.takes(user: stored?.delivery.device.user ?? "") else { return }
            part.found.append((row.number(0), stored))
        }
        return part
    }

    /// How many letters are looked at in one part of a search for a user.
    private static let searchMax = 1_000

    static func list(
        _ filter: DeadFilter, fromID: UInt64, limit: Int, _ link: any TableLink
    ) throws -> [DeadLetter] {
        var letters: [DeadLetter] = []
        var next: UInt64? = fromID
        while let from = next, letters.count < limit {
            let part = try part(
                filter, fromID: from, limit: filter.user == nil ? limit : searchMax,
                isLocked: false, link)
            letters += part.found.compactMap { $0.stored.map(letter) }
                .prefix(limit - letters.count)
            next = part.nextID
        }
        return letters
    }

    static func count(_ filter: DeadFilter, _ link: any TableLink) throws -> Int {
        guard filter.user == nil else {
            return try list(filter, fromID: 0, limit: Int(Int32.max), link).count
        }
        let search = Search(filter, fromID: 0)
        return Int(try link.number(search.select("count(*)"), search.values))
    }

    // MARK: Changes

    /// Removes letters.
    public static func remove(_ ids: [Int64], _ link: any TableLink) throws {
        guard !ids.isEmpty else { return }
        try link.send(
            TableStatement("", "DELETE FROM signalbox.dead WHERE \(isOneOf(ids))"), [])
    }

    static func purge(
        _ filter: DeadFilter, fromID: UInt64, limit: Int, _ link: any TableLink
    ) throws -> DeadPart {
        let part = try part(filter, fromID: fromID, limit: limit, link)
        try remove(part.found.map(\.id), link)
        return part.answer
    }

    /// Removes what is too old or too much, the oldest first.
    static func trim(
        _ limits: DeadLimits, max: Int, nowUnixMs: Int64, _ link: any TableLink
    ) throws -> DeadTrim {
        func remove(before unixMs: Int64, _ limit: Int) throws -> Int {
            try link.change(
                TableStatement(
                    "",
                    """
                    DELETE FROM signalbox.dead WHERE id IN (SELECT id FROM signalbox.dead
                      WHERE at < $1 ORDER BY at, id LIMIT \(limit) FOR UPDATE SKIP LOCKED)
                    """), [.number(unixMs)])
        }
        let oldest = nowUnixMs - min(nowUnixMs, Int64(clamping: limits.keepMs))
        let old = try remove(before: oldest, max)
        let count = try link.number(
            TableStatement("count_dead", "SELECT count(*) FROM signalbox.dead"))
        let surplus = Int(count) - limits.countMax
        guard surplus > 0 else { return DeadTrim(old: old, surplus: 0) }
        return DeadTrim(old: old, surplus: try remove(before: .max, min(max, surplus)))
    }
}
