internal import GRDB
internal import SignalboxCore

/// The statements of the delivery queue; used by the writer's thread inside its transaction.
struct QueueTables {
    private static let rankOf: [Priority: Int64] = [.high: 0, .normal: 1, .low: 2]

    /// Lane ids by name, so that a delivery does not look its lane up.
    private var laneIDs: [LaneKey: Int64] = [:]
    private let hot = HotStatements()

    /// What reading the tables at the start gave.
    struct Start {
        var lastID: UInt64
        var waiting: Int
        var lanes: [LaneKey]
    }

    /// Takes stock, and takes leases of a process of before back.
    mutating func start(_ db: Database) throws -> Start {
        try db.execute(sql: "UPDATE delivery SET leased = 0, due = 0 WHERE leased = 1")
        let waiting = try Int.fetchOne(db, sql: "SELECT count(*) FROM delivery") ?? 0
        for row in try Row.fetchAll(db, sql: "SELECT id, sender, app FROM lane") {
            laneIDs[LaneKey(sender: row[1], app: row[2])] = row[0]
        }
        var lanes: [LaneKey] = []
        for (lane, id) in laneIDs {
            let sql = "SELECT EXISTS (SELECT 1 FROM delivery WHERE lane = ?)"
            if try Bool.fetchOne(db, sql: sql, arguments: [id]) == true { lanes.append(lane) }
        }
        let last = try Int64.fetchOne(
            db,
            sql: """
                SELECT max((SELECT coalesce(max(id), 0) FROM delivery),
                  (SELECT coalesce(max(id), 0) FROM payload), (SELECT coalesce(max(id), 0) FROM dead),
                  (SELECT coalesce(max(value), 0) FROM counter WHERE name = 'last_id'))
                """)
        return Start(lastID: UInt64(clamping: last ?? 0), waiting: waiting, lanes: lanes)
    }

    /// Keeps ids from being used again after everything that had them is gone.
    func keep(lastID: UInt64, _ db: Database) throws {
        try db.cachedStatement(
            sql: "INSERT OR REPLACE INTO counter (name, value) VALUES ('last_id', ?)"
        ).execute(arguments: [Int64(clamping: lastID)])
    }

    /// Whether an event's key was seen within its window; remembers it if not.
    func isDuplicate(_ event: Event, nowUnixMs: UInt64, windowMs: UInt64, _ db: Database) throws
        -> Bool
    {
        guard !event.dedupe.isEmpty, windowMs > 0 else { return false }
        let now = Int64(clamping: nowUnixMs)
        let known = try hot.statement(.selectSeen, db)
        if let until = try Int64.fetchOne(known, arguments: [event.source, event.dedupe]),
            until > now
        {
            return true
        }
        let until = now + Int64(clamping: windowMs)
        try hot.run(.insertSeen, [event.source, event.dedupe, until], db)
        return false
    }

    /// Forgets keys and values whose time is over.
    func forgetSeen(nowUnixMs: UInt64, _ db: Database) throws {
        try db.cachedStatement(sql: "DELETE FROM value WHERE expires <= ?").execute(arguments: [
            Int64(clamping: nowUnixMs)
        ])
        try db.cachedStatement(sql: "DELETE FROM seen WHERE until <= ?").execute(arguments: [
            Int64(clamping: nowUnixMs)
        ])
    }

    /// Removes what waits for the same device in a lane of reports; how many there were.
    ///
    /// A registration that could not be told must not be told after the logout that followed it.
    private func supersede(_ lane: Int64, _ stableID: String, _ db: Database) throws -> Int {
        let rows = try Row.fetchAll(
            try db.cachedStatement(
                sql: """
                    DELETE FROM delivery WHERE lane = ? AND stable = ? AND route = ''
                    RETURNING payload, id
                    """), arguments: [lane, stableID])
        for row in rows {
            try release(row[0], 1, db)
            try removeAttempts(row[1], db)
        }
        return rows.count
    }

    /// Writes the deliveries of one event; contents that several share are one row.
    ///
    /// Returns how many older ones left for them.
    @discardableResult
    mutating func insert(
        _ item: StoreEntry.Item, receivedUnixMs: UInt64, leaseUntilUnixMs: UInt64,
        nextID: inout UInt64, _ db: Database
    ) throws -> Int {
        var superseded = 0
        var rows: [ObjectIdentifier: (id: Int64, note: SharedNotification, refs: Int64)] = [:]
        for delivery in item.deliveries {
            let key = ObjectIdentifier(delivery.content)
            if rows[key] == nil {
                nextID += 1
                rows[key] = (Int64(clamping: nextID), delivery.content, 0)
            }
            rows[key]?.refs += 1
            let isTaken = item.taken.contains(delivery.id)
            let lane = try laneID(LaneKey(delivery), db)
            if delivery.route.isEmpty {
                superseded += try supersede(lane, delivery.stableID, db)
            }
            let priority = delivery.content.notification.priority ?? .normal
            let arguments: StatementArguments = [
                Int64(clamping: delivery.id), lane, Self.rankOf[priority] ?? 1,
                isTaken ? Int64(clamping: leaseUntilUnixMs) : 0, isTaken ? 1 : 0,
                Int64(delivery.attempt), Int64(clamping: delivery.deadlineUnixMs),
                rows[key]?.id ?? 0, delivery.route, delivery.stableID,
                delivery.badge.map { Int64($0) }, RowCodec.text(delivery.device),
            ]
            try hot.run(.insertDelivery, arguments, db)
        }
        for row in rows.values {
            let arguments: StatementArguments = [
                row.id, Int64(clamping: item.event.id), item.event.source, item.event.type,
                item.event.subject, Int64(clamping: receivedUnixMs),
                RowCodec.text(row.note.notification), row.refs,
            ]
            try hot.run(.insertPayload, arguments, db)
        }
        return superseded
    }

    private mutating func laneID(_ lane: LaneKey, _ db: Database) throws -> Int64 {
        if let known = laneIDs[lane] { return known }
        try db.execute(
            sql: "INSERT OR IGNORE INTO lane (sender, app) VALUES (?, ?)",
            arguments: [lane.sender, lane.app])
        let id =
            try Int64.fetchOne(
                db, sql: "SELECT id FROM lane WHERE sender = ? AND app = ?",
                arguments: [lane.sender, lane.app]) ?? 0
        laneIDs[lane] = id
        return id
    }

    /// After a rollback: a lane that was made in the group is not there.
    mutating func forgetLanes() { laneIDs = [:] }

    /// Lends what is due, high priority first.
    mutating func lease(
        _ lane: LaneKey, max: Int, nowUnixMs: UInt64, untilUnixMs: UInt64, isMarked: Bool,
        _ db: Database
    ) throws -> StoreLease {
        var out = StoreLease()
        guard let id = try knownLane(lane, db) else { return out }
        let now = Int64(clamping: nowUnixMs)
        let select = try db.cachedStatement(
            sql: """
                SELECT d.id, d.attempt, d.deadline, d.payload, d.route, d.stable, d.badge, d.device
                FROM delivery d WHERE d.lane = ? AND d.rank = ? AND d.due <= ? ORDER BY d.due, d.id LIMIT ?
                """)
        let mark = try db.cachedStatement(
            sql: "UPDATE delivery SET leased = 1, due = ? WHERE id = ?")
        var contents: [Int64: Payload] = [:]
        for rank in Int64(0)...2 where out.deliveries.count <= max {
            // One more than is wanted tells whether there is more.
            let room = max + 1 - out.deliveries.count
            let rows = try Row.fetchAll(select, arguments: [id, rank, now, room])
            for row in rows {
                let payload: Int64 = row[3]
                if contents[payload] == nil { contents[payload] = try content(payload, db) }
                guard let content = contents[payload] else { continue }
                out.deliveries.append(Self.delivery(row, lane, content))
            }
        }
        if out.deliveries.count > max {
            out.hasMore = true
            out.deliveries.removeLast(out.deliveries.count - max)
        }
        for delivery in out.deliveries where isMarked {
            try mark.execute(arguments: [
                Int64(clamping: untilUnixMs), Int64(clamping: delivery.id),
            ])
        }
        if !out.hasMore { out.nextDueUnixMs = try nextDue(id, db) }
        return out
    }

    private mutating func knownLane(_ lane: LaneKey, _ db: Database) throws -> Int64? {
        if let known = laneIDs[lane] { return known }
        let found = try Int64.fetchOne(
            db, sql: "SELECT id FROM lane WHERE sender = ? AND app = ?",
            arguments: [lane.sender, lane.app])
        laneIDs[lane] = found
        return found
    }

    private func nextDue(_ lane: Int64, _ db: Database) throws -> UInt64? {
        let first = try db.cachedStatement(
            sql: "SELECT due FROM delivery WHERE lane = ? AND rank = ? ORDER BY due LIMIT 1")
        var next: Int64?
        for rank in Int64(0)...2 {
            if let due = try Int64.fetchOne(first, arguments: [lane, rank]) {
                next = min(next ?? .max, due)
            }
        }
        return next.map { UInt64(clamping: $0) }
    }

    private struct Payload {
        var note: SharedNotification
        var event: UInt64
        var source: String
        var subject: String
    }

    private func content(_ id: Int64, _ db: Database) throws -> Payload? {
        let select = try db.cachedStatement(
            sql: "SELECT note, event, source, subject FROM payload WHERE id = ?")
        guard let row = try Row.fetchOne(select, arguments: [id]) else { return nil }
        let event: Int64 = row[1]
        return Payload(
            note: SharedNotification(RowCodec.notification(row[0])), event: UInt64(clamping: event),
            source: row[2], subject: row[3])
    }

    private static func delivery(
        _ row: Row, _ lane: LaneKey, _ content: Payload
    ) -> Delivery {
        let id: Int64 = row[0]
        let attempt: Int64 = row[1]
        let deadline: Int64 = row[2]
        let badge: Int64? = row[6]
        return Delivery(
            id: UInt64(clamping: id), eventID: content.event, source: content.source,
            subject: content.subject, route: row[4], sender: lane.sender, stableID: row[5],
            attempt: UInt32(clamping: attempt),
            badge: badge.map { Int32(clamping: $0) }, deadlineUnixMs: UInt64(clamping: deadline),
            content: content.note, device: RowCodec.device(row[7], app: lane.app))
    }

    /// Ends leases; how many deliveries left the queue.
    ///
    /// `isShortOfRoom`: the disk was full a moment ago, so nothing is added: an attempt goes unrecorded,
    /// and what should be a dead letter comes back in a minute.
    func settle(
        _ changes: [StoreChange], isShortOfRoom: Bool, nowUnixMs: UInt64, _ db: Database
    ) throws -> Int {
        var released: [Int64: Int64] = [:]
        var gone = 0
        let remove = try hot.statement(.removeDelivery, db)
        for change in changes {
            let id = Int64(clamping: change.id)
            switch change {
            case .delivered:
                guard let row = try Row.fetchOne(remove, arguments: [id]) else { continue }
                gone += 1
                released[row[0], default: 0] += 1
                let attempt: Int64 = row[1]
                if attempt > 1 { try removeAttempts(id, db) }
            case .retry(_, let at, let attempt):
                let update = try db.cachedStatement(
                    sql: "UPDATE delivery SET due = ?, leased = 0, attempt = ? WHERE id = ?")
                try update.execute(arguments: [
                    Int64(clamping: at), Int64(attempt.number) + 1, id,
                ])
                if db.changesCount > 0, !isShortOfRoom { try note(attempt, id, db) }
            case .dead where isShortOfRoom:
                try db.cachedStatement(
                    sql: "UPDATE delivery SET due = ?, leased = 0 WHERE id = ?"
                ).execute(arguments: [Int64(clamping: nowUnixMs) + 60_000, id])
            case .dead(_, let reason, let attempt):
                guard try bury(id, reason, attempt, db) else { continue }
                guard let row = try Row.fetchOne(remove, arguments: [id]) else { continue }
                gone += 1
                released[row[0], default: 0] += 1
            case .released:
                try db.cachedStatement(
                    sql: "UPDATE delivery SET due = 0, leased = 0 WHERE id = ?"
                ).execute(arguments: [id])
            }
        }
        for (payload, count) in released { try release(payload, count, db) }
        return gone
    }

    private func release(_ payload: Int64, _ count: Int64, _ db: Database) throws {
        let update = try hot.statement(.releasePayload, db)
        let left = try Int64.fetchOne(update, arguments: [count, payload])
        guard let left, left <= 0 else { return }
        try hot.run(.removePayload, [payload], db)
    }

    private func note(_ attempt: Attempt, _ id: Int64, _ db: Database) throws {
        try db.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO attempt (delivery, number, at, reason, code, detail)
                VALUES (?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            id, Int64(attempt.number), Int64(clamping: attempt.unixMs), attempt.reason,
            Int64(attempt.code), attempt.detail,
        ])
    }

    private func removeAttempts(_ id: Int64, _ db: Database) throws {
        try db.cachedStatement(sql: "DELETE FROM attempt WHERE delivery = ?").execute(arguments: [
            id
        ])
    }

    /// Copies a delivery to the dead letters; false: it is not there.
    private func bury(
        _ id: Int64, _ reason: String, _ attempt: Attempt, _ db: Database
    ) throws -> Bool {
        let copy = try db.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO dead (id, at, reason, sender, app, route, event, source, type,
                  subject, received, rank, deadline, stable, badge, note, device)
                SELECT d.id, ?, ?, l.sender, l.app, d.route, p.event, p.source, p.type, p.subject,
                  p.received, d.rank, d.deadline, d.stable, d.badge, p.note, d.device
                FROM delivery d JOIN lane l ON l.id = d.lane JOIN payload p ON p.id = d.payload
                WHERE d.id = ?
                """)
        try copy.execute(arguments: [Int64(clamping: attempt.unixMs), reason, id])
        guard db.changesCount > 0 else { return false }
        try note(attempt, id, db)
        return true
    }
}
