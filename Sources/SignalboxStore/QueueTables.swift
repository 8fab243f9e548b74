internal import GRDB
internal import SignalboxCore

/// The statements of the delivery queue; used by the writer's thread inside its transaction.
struct QueueTables {
    private static func rank(_ priority: Priority) -> Int64 {
        switch priority {
        case .high: 0
        case .normal: 1
        case .low: 2
        }
    }

    /// Lane ids by name, so that a delivery does not look its lane up.
    private var laneIDs: [LaneKey: Int64] = [:]
    private let hot = HotStatements()
    private var leases = LeaseBook()

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
            let sql = "SELECT EXISTS (SELECT 1 FROM delivery WHERE lane = ? AND leased = 0)"
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
        known.bind(event.source)
        known.bind(event.dedupe)
        if try known.step() {
            let until = known.integer(0)
            known.end()
            if until > now { return true }
        }
        let insert = try hot.statement(.insertSeen, db)
        insert.bind(event.source)
        insert.bind(event.dedupe)
        insert.bind(now + Int64(clamping: windowMs))
        try insert.run()
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
            if isTaken {
                leases.add(Int64(clamping: delivery.id), until: Int64(clamping: leaseUntilUnixMs))
            }
            let lane = try laneID(LaneKey(delivery), db)
            if delivery.route.isEmpty {
                superseded += try supersede(lane, delivery.stableID, db)
            }
            let insert = try hot.statement(.insertDelivery, db)
            insert.bind(Int64(clamping: delivery.id))
            insert.bind(lane)
            insert.bind(Self.rank(delivery.content.notification.priority ?? .normal))
            insert.bind(isTaken ? Int64(clamping: leaseUntilUnixMs) : 0)
            insert.bind(isTaken ? 1 : 0)
            insert.bind(Int64(delivery.attempt))
            insert.bind(Int64(clamping: delivery.deadlineUnixMs))
            insert.bind(rows[key]?.id ?? 0)
            insert.bind(delivery.route)
            insert.bind(delivery.stableID)
            insert.bind(delivery.badge.map { Int64($0) })
            insert.bind(RowCodec.bytes(delivery.device))
            try insert.run()
        }
        for row in rows.values {
            let insert = try hot.statement(.insertPayload, db)
            insert.bind(row.id)
            insert.bind(Int64(clamping: item.event.id))
            insert.bind(item.event.source)
            insert.bind(item.event.type)
            insert.bind(item.event.subject)
            insert.bind(Int64(clamping: receivedUnixMs))
            insert.bind(RowCodec.bytes(row.note.notification))
            insert.bind(row.refs)
            try insert.run()
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
        try leases.expire(now: now, hot, db)
        var contents: [Int64: Payload] = [:]
        for rank in Int64(0)...2 where out.deliveries.count <= max {
            // One more than is wanted tells whether there is more.
            let room = max + 1 - out.deliveries.count
            let rows = try hot.statement(.lease, db)
            rows.bind(id)
            rows.bind(rank)
            rows.bind(now)
            rows.bind(Int64(room))
            while try rows.step() {
                let payload = rows.integer(3)
                if contents[payload] == nil { contents[payload] = try content(payload, db) }
                guard let content = contents[payload] else { continue }
                out.deliveries.append(Self.delivery(rows, lane, content))
            }
        }
        if out.deliveries.count > max {
            out.hasMore = true
            out.deliveries.removeLast(out.deliveries.count - max)
        }
        for delivery in out.deliveries where isMarked {
            let mark = try hot.statement(.markLeased, db)
            mark.bind(Int64(clamping: untilUnixMs))
            mark.bind(Int64(clamping: delivery.id))
            try mark.run()
            leases.add(Int64(clamping: delivery.id), until: Int64(clamping: untilUnixMs))
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

    private mutating func nextDue(_ lane: Int64, _ db: Database) throws -> UInt64? {
        let first = try db.cachedStatement(
            sql: """
                SELECT due FROM delivery WHERE lane = ? AND rank = ? AND leased = 0
                ORDER BY due LIMIT 1
                """)
        var next = try leases.nextEnd(lane: lane, hot, db)
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
        _ row: HotStatement, _ lane: LaneKey, _ content: Payload
    ) -> Delivery {
        Delivery(
            id: UInt64(clamping: row.integer(0)), eventID: content.event, source: content.source,
            subject: content.subject, route: row.text(4), sender: lane.sender,
            stableID: row.text(5), attempt: UInt32(clamping: row.integer(1)),
            badge: row.isNull(6) ? nil : Int32(clamping: row.integer(6)),
            deadlineUnixMs: UInt64(clamping: row.integer(2)), content: content.note,
            device: RowCodec.device(row.text(7), app: lane.app))
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
        for change in changes {
            let id = Int64(clamping: change.id)
            switch change {
            case .delivered:
                guard let row = try remove(id, db) else { continue }
                gone += 1
                released[row.payload, default: 0] += 1
                if row.attempt > 1 { try removeAttempts(id, db) }
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
                guard let row = try remove(id, db) else { continue }
                gone += 1
                released[row.payload, default: 0] += 1
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
        update.bind(count)
        update.bind(payload)
        guard try update.step() else { return }
        let left = update.integer(0)
        try update.run()
        guard left <= 0 else { return }
        let remove = try hot.statement(.removePayload, db)
        remove.bind(payload)
        try remove.run()
    }

    /// Removes a delivery; nil: it is not there.
    private func remove(
        _ id: Int64, _ db: Database
    ) throws -> (payload: Int64, attempt: Int64)? {
        let remove = try hot.statement(.removeDelivery, db)
        remove.bind(id)
        guard try remove.step() else { return nil }
        let row = (remove.integer(0), remove.integer(1))
        try remove.run()
        return row
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
