internal import Foundation
internal import GRDB
internal import SignalboxCore

/// The statements of the dead letters.
enum DeadTables {
    /// The conditions of a filter, with their arguments.
    private static func conditions(
        _ filter: DeadFilter, fromID: UInt64
    ) -> (sql: String, arguments: StatementArguments) {
        var parts = ["id >= ?"]
        var arguments: StatementArguments = [Int64(clamping: fromID)]
        func add(_ sql: String, _ value: (any DatabaseValueConvertible)?) {
            guard let value else { return }
            parts.append(sql)
            arguments += [value]
        }
        add("sender = ?", filter.sender)
        add("route = ?", filter.route)
        add("reason = ?", filter.reason)
        add("app = ?", filter.app)
        // The rows that are left are read to see whose they are.
        add(
            "(typeof(device) = 'text' OR instr(device, ?) > 0)", filter.user.map { Data($0.utf8) })
        add("at < ?", filter.beforeUnixMs.map { Int64(clamping: $0) })
        add("at >= ?", filter.sinceUnixMs.map { Int64(clamping: $0) })
        if !filter.ids.isEmpty {
            let marks = filter.ids.map { _ in "?" }.joined(separator: ", ")
            parts.append("id IN (\(marks))")
            arguments += StatementArguments(filter.ids.map { Int64(clamping: $0) })
        }
        return (parts.joined(separator: " AND "), arguments)
    }

    /// How many letters are looked at in one part of a search for a user.
    private static let countPart = 1_000

    static func count(_ filter: DeadFilter, _ db: Database) throws -> Int {
        guard filter.user == nil else {
            var (count, next) = (0, UInt64?.some(0))
            while let from = next {
                let (ids, more) = try part(filter, fromID: from, limit: countPart, db)
                count += ids.count
                next = more
            }
            return count
        }
        let (sql, arguments) = conditions(filter, fromID: 0)
        return try Int.fetchOne(
            db, sql: "SELECT count(*) FROM dead WHERE \(sql)", arguments: arguments) ?? 0
    }

    static func list(
        _ filter: DeadFilter, fromID: UInt64, limit: Int, _ db: Database
    ) throws -> [DeadLetter] {
        let wanted = limit
        var letters: [DeadLetter] = []
        var next: UInt64? = fromID
        while let from = next, letters.count < wanted {
            let limit = filter.user == nil ? limit : max(limit, countPart)
            let (ids, more) = try part(filter, fromID: from, limit: limit, db)
            next = more
            let select = try db.cachedStatement(sql: "SELECT * FROM dead WHERE id = ?")
            for id in ids.prefix(wanted - letters.count) {
                guard let row = try Row.fetchOne(select, arguments: [id]) else { continue }
                letters.append(try letter(row, db))
            }
        }
        return letters
    }

    /// Of one that is damaged there is what can be read, so that it can be seen and purged.
    private static func letter(_ row: Row, _ db: Database) throws -> DeadLetter {
        func number(_ column: String) -> UInt64 { (try? row.time(column)) ?? 0 }
        func text(_ column: String) -> String { (try? row.text(column)) ?? "" }
        let id = try row.number("id")
        return DeadLetter(
            kind: number("kind") == 1 ? .report : .push, id: UInt64(clamping: id),
            unixMs: number("at"), reason: text("reason"),
            sender: text("sender"), route: text("route"), eventID: number("event"),
            source: text("source"), type: text("type"), subject: text("subject"),
            receivedUnixMs: number("received"), stableID: text("stable"),
            notification: RowCodec.notification(row.value("note")) ?? PushNotification(),
            device: RowCodec.device(row.value("device"))
                ?? Device(app: text("app")),
            attempts: try attempts(id, db))
    }

    /// What was tried of a delivery.
    static func attempts(_ id: Int64, _ db: Database) throws -> [Attempt] {
        let select = try db.cachedStatement(
            sql: "SELECT * FROM attempt WHERE delivery = ? ORDER BY number")
        return try Row.fetchAll(select, arguments: [id]).compactMap { row in
            try? Attempt(
                number: StoredNumber.attempts(row.number("number"), free: 0).attempt,
                unixMs: row.time("at"), reason: row.text("reason"),
                code: UInt32(clamping: row.number("code")), detail: row.text("detail"))
        }
    }

    /// Ids of the next part, and the id at which the part after it starts.
    private static func part(
        _ filter: DeadFilter, fromID: UInt64, limit: Int, _ db: Database
    ) throws -> (ids: [Int64], nextID: UInt64?) {
        let (sql, arguments) = conditions(filter, fromID: fromID)
        let columns = filter.user == nil ? "id" : "id, app, device"
        var rows = try Row.fetchAll(
            db, sql: "SELECT \(columns) FROM dead WHERE \(sql) ORDER BY id LIMIT ?",
            arguments: arguments + [limit + 1])
        let next = try rows.count > limit ? rows.removeLast().number("id") : nil
        let meant = rows.filter { row in
            filter.user == nil
                || filter.takes(user: RowCodec.device(row.value("device"))?.user ?? "")
        }
        return (try meant.map { try $0.number("id") }, next.map { UInt64(clamping: $0) })
    }

    static func purge(
        _ filter: DeadFilter, fromID: UInt64, limit: Int, _ db: Database
    ) throws -> DeadPart {
        let (ids, next) = try part(filter, fromID: fromID, limit: limit, db)
        for id in ids { try remove(id, db) }
        return DeadPart(count: ids.count, nextID: next)
    }

    /// Removes what is too old or too much, the oldest first.
    static func trim(
        _ limits: DeadLimits, max: Int, nowUnixMs: UInt64, _ db: Database
    ) throws -> DeadTrim {
        let oldest = Int64(clamping: nowUnixMs - min(nowUnixMs, limits.keepMs))
        let old = try Int64.fetchAll(
            db, sql: "SELECT id FROM dead WHERE at < ? ORDER BY at LIMIT ?",
            arguments: [oldest, max])
        for id in old { try remove(id, db) }
        let count = try Int.fetchOne(db, sql: "SELECT count(*) FROM dead") ?? 0
        guard count > limits.countMax else { return DeadTrim(old: old.count, surplus: 0) }
        let surplus = try Int64.fetchAll(
            db, sql: "SELECT id FROM dead ORDER BY at, id LIMIT ?",
            arguments: [min(max, count - limits.countMax)])
        for id in surplus { try remove(id, db) }
        return DeadTrim(old: old.count, surplus: surplus.count)
    }

    private static func remove(_ id: Int64, _ db: Database) throws {
        try db.cachedStatement(sql: "DELETE FROM attempt WHERE delivery = ?").execute(arguments: [
            id
        ])
        try db.cachedStatement(sql: "DELETE FROM dead WHERE id = ?").execute(arguments: [id])
    }

    /// Each gets its own payload row, because the one it shared was removed. One whose content was lost stays.
    static func replay(
        _ filter: DeadFilter, fromID: UInt64, limit: Int, nowUnixMs: UInt64,
        nextID: inout UInt64, _ db: Database
    ) throws -> (part: DeadPart, lanes: Set<LaneKey>) {
        let (ids, next) = try part(filter, fromID: fromID, limit: limit, db)
        var lanes: Set<LaneKey> = []
        var count = 0
        let now = Int64(clamping: nowUnixMs)
        let received = Int64(clamping: nowUnixMs - min(nowUnixMs, Replay.ageMs))
        for id in ids {
            let select = try db.cachedStatement(
                sql: "SELECT sender, app, kind, note, device FROM dead WHERE id = ?")
            guard let row = try Row.fetchOne(select, arguments: [id]),
                RowCodec.notification(row.value("note")) != nil,
                RowCodec.device(row.value("device")) != nil,
                let lane = try? LaneKey(row)
            else { continue }
            count += 1
            lanes.insert(lane)
            try db.cachedStatement(
                sql: "INSERT OR IGNORE INTO lane (sender, app, kind) VALUES (?, ?, ?)"
            ).execute(arguments: lane.columns)
            nextID += 1
            let payload = Int64(clamping: nextID)
            try db.cachedStatement(
                sql: """
                    INSERT INTO payload (id, event, source, type, subject, key, received, note, refs)
                    SELECT ?, event, source, type, subject, key, ?, note, 1 FROM dead WHERE id = ?
                    """
            ).execute(arguments: [payload, received, id])
            try db.cachedStatement(
                sql: """
                    INSERT INTO delivery (id, lane, rank, due, leased, attempt, deadline, payload, route,
                      stable, badge, device, shown_key, badge_key, accepted, stale)
                    SELECT d.id, l.id, CASE WHEN d.rank IN (0, 1, 2) THEN d.rank ELSE 1 END, 0, 0, 1,
                      CASE WHEN d.deadline BETWEEN 1 AND \(StoredNumber.max)
                          AND d.received BETWEEN 0 AND \(StoredNumber.max)
                        THEN ? + max(0, d.deadline - d.received) ELSE 0 END, ?, d.route,
                      d.stable, d.badge, d.device, d.shown_key, d.badge_key,
                      CASE d.accepted WHEN 0 THEN d.received ELSE d.accepted END, d.stale
                    FROM dead d JOIN lane l ON l.sender = d.sender AND l.app = d.app AND l.kind = d.kind
                    WHERE d.id = ?
                    """
            ).execute(arguments: [now, payload, id])
            try remove(id, db)
        }
        return (DeadPart(count: count, nextID: next), lanes)
    }
}
