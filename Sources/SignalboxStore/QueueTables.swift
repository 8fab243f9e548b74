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
    private var blocks = BlockTables()
    private var seen = SeenKeys()
    private var notices: [StoreNotice] = []
    /// Deliveries that turned out to be damaged since somebody asked.
    private var damagedCount = 0

    /// What reading the tables at the start gave.
    struct Start {
        var lastID: UInt64
        var waiting: Int
    }

    /// Takes stock, and takes leases of a process of before back.
    mutating func start(_ db: Database) throws -> Start {
        try db.execute(sql: "UPDATE delivery SET leased = 0, due = 0 WHERE leased = 1")
        let waiting = try waiting(db)
        try seen.start(hot, db)
        for row in try Row.fetchAll(db, sql: "SELECT id, sender, app FROM lane") {
            laneIDs[LaneKey(sender: row[1], app: row[2])] = row[0]
        }
        let last = try Int64.fetchOne(
            db,
            sql: """
                SELECT max((SELECT coalesce(max(id), 0) FROM delivery),
                  (SELECT coalesce(max(id), 0) FROM payload), (SELECT coalesce(max(id), 0) FROM dead),
                  (SELECT coalesce(max(id), 0) FROM block),
                  (SELECT coalesce(max(value), 0) FROM counter WHERE name = 'last_id'))
                """)
        return Start(lastID: UInt64(clamping: last ?? 0), waiting: waiting)
    }

    private func waiting(_ db: Database) throws -> Int {
        let rows = try Int.fetchOne(db, sql: "SELECT count(*) FROM delivery") ?? 0
        let inBlocks = try Int.fetchOne(db, sql: "SELECT sum(count) FROM block") ?? 0
        let done = try hot.statement(.allProgress, db)
        var doneCount = 0
        while try done.step() { doneCount += done.withBlob(0) { Marks($0) }.marked }
        return rows + inBlocks - doneCount
    }

    /// Keeps ids from being used again after everything that had them is gone.
    func keep(lastID: UInt64, _ db: Database) throws {
        try db.cachedStatement(
            sql: "INSERT OR REPLACE INTO counter (name, value) VALUES ('last_id', ?)"
        ).execute(arguments: [Int64(clamping: lastID)])
    }

    /// Whether an event's key was seen within its window; remembers it if not.
    mutating func isDuplicate(_ event: Event, nowUnixMs: UInt64, windowMs: UInt64, _ db: Database)
        throws
        -> Bool
    {
        guard !event.dedupe.isEmpty, windowMs > 0 else { return false }
        return try seen.isDuplicate(
            event, nowUnixMs: Int64(clamping: nowUnixMs), windowMs: Int64(clamping: windowMs), hot,
            db)
    }

    /// Forgets keys and values whose time is over.
    mutating func forgetSeen(nowUnixMs: UInt64, _ db: Database) throws {
        let now = Int64(clamping: nowUnixMs)
        try db.cachedStatement(sql: "DELETE FROM value WHERE expires <= ?").execute(arguments: [now]
        )
        try seen.forget(nowUnixMs: now, hot, db)
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

    /// Writes the deliveries of one event, or notes them for `flush`.
    ///
    /// Returns how many older ones left for them.
    @discardableResult
    mutating func insert(
        _ item: StoreEntry.Item, receivedUnixMs: UInt64, leaseUntilUnixMs: UInt64,
        nextID: inout UInt64, _ db: Database
    ) throws -> Int {
        var superseded = 0
        for delivery in item.deliveries {
            let until = item.taken.contains(delivery.id) ? Int64(clamping: leaseUntilUnixMs) : nil
            let lane = try laneID(LaneKey(delivery), db)
            let rank = Self.rank(delivery.content.notification.priority ?? .normal)
            guard delivery.route.isEmpty else {
                try blocks.add(
                    delivery, of: item.event, receivedUnixMs: receivedUnixMs, lane: lane,
                    rank: Int(rank), takenUntilUnixMs: until, hot, nextID: &nextID, db)
                continue
            }
            // Reports of devices: a later one must find them.
            superseded += try supersede(lane, delivery.stableID, db)
            nextID += 1
            let payload = Int64(clamping: nextID)
            try insertPayload(
                payload, item.event, delivery.content.notification, receivedUnixMs, db)
            try insertRow(delivery, lane, rank, leasedUntil: until, payload: payload, db)
        }
        return superseded
    }

    /// Writes what `insert` noted.
    mutating func flush(nextID: inout UInt64, _ db: Database) throws {
        try blocks.flush(hot, nextID: &nextID, db)
    }

    /// Writes the keys of what was inserted.
    mutating func noteSeen(nowUnixMs: UInt64, _ db: Database) throws {
        try seen.flush(nowUnixMs: Int64(clamping: nowUnixMs), hot, db)
    }

    /// Writes down what `settle` has done; `isShortOfRoom`: only what frees room, the rest another time.
    mutating func note(isShortOfRoom: Bool, _ db: Database) throws {
        try blocks.note(isShortOfRoom: isShortOfRoom, hot, db)
    }

    /// What was asked for is on disk.
    mutating func committed() {
        blocks.committed()
        seen.committed()
    }

    /// Nothing of it is on disk; also a lane that was made in the group is not there.
    mutating func rolledBack() {
        laneIDs = [:]
        blocks.rolledBack()
        seen.rolledBack()
    }

    /// Lets go of the connection.
    func close() { hot.removeAll() }

    /// What could not be read, in words.
    mutating func takeNotices() -> [StoreNotice] {
        defer { notices = [] }
        return notices
    }

    /// How many deliveries left the queue because they are damaged.
    mutating func takeDamagedCount() -> Int {
        defer { damagedCount = 0 }
        return damagedCount
    }

    private mutating func insertRow(
        _ delivery: Delivery, _ lane: Int64, _ rank: Int64, leasedUntil until: Int64?,
        payload: Int64, _ db: Database
    ) throws {
        if let until { leases.add(Int64(clamping: delivery.id), until: until) }
        let insert = try hot.statement(.insertDelivery, db)
        insert.bind(Int64(clamping: delivery.id))
        insert.bind(lane)
        insert.bind(rank)
        insert.bind(until ?? 0)
        insert.bind(until == nil ? 0 : 1)
        insert.bind(Int64(delivery.attempt))
        insert.bind(Int64(clamping: delivery.deadlineUnixMs))
        insert.bind(payload)
        insert.bind(delivery.route)
        insert.bind(delivery.stableID)
        insert.bind(delivery.badge.map { Int64($0) })
        insert.bind(RowCodec.bytes(delivery.device))
        try insert.run()
    }

    private func insertPayload(
        _ id: Int64, _ event: Event, _ note: Notification, _ receivedUnixMs: UInt64, _ db: Database
    ) throws {
        let insert = try hot.statement(.insertPayload, db)
        insert.bind(id)
        insert.bind(Int64(clamping: event.id))
        insert.bind(event.source)
        insert.bind(event.type)
        insert.bind(event.subject)
        insert.bind(Int64(clamping: receivedUnixMs))
        insert.bind(RowCodec.bytes(note))
        insert.bind(1)
        try insert.run()
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

    /// Lends what is due, high priority first.
    mutating func lease(
        _ lane: LaneKey, _ wish: LeaseWish, isMarked: Bool, nextID: inout UInt64, _ db: Database
    ) throws -> StoreLease {
        var out = StoreLease()
        guard let id = try knownLane(lane, db) else { return out }
        let now = Int64(clamping: wish.nowUnixMs)
        let until = Int64(clamping: wish.untilUnixMs)
        if isMarked { try leases.expire(now: now, hot, db) }
        for rank in Int64(0)...2 where out.deliveries.count <= wish.max {
            // What has a row of its own was tried before. So it is older, and comes first, but not
            // where the provider is to be tried.
            if !wish.isProbe {
                try leaseRows(lane, id, rank, wish, due: now, isMarked, &out, db)
            }
            out.deliveries += try blocks.lease(
                lane, lane: id, rank: Int(rank), max: wish.max - out.deliveries.count,
                nowUnixMs: wish.isProbe ? .max : now, untilUnixMs: until, hot, db)
            if isMarked {
                for damage in blocks.takeDamages() {
                    try bury(damage, nowUnixMs: now, nextID: &nextID, db)
                }
            }
            if wish.isProbe, out.deliveries.isEmpty {
                try leaseRows(lane, id, rank, wish, due: .max, isMarked, &out, db)
            }
        }
        if !isMarked { blocks.lentForGood() }
        if try blocks.hasDue(lane: id, nowUnixMs: now, hot, db) { out.hasMore = true }
        if !out.hasMore { out.nextDueUnixMs = try nextDue(id, db) }
        return out
    }

    /// Lends deliveries that have rows of their own.
    private mutating func leaseRows(
        _ lane: LaneKey, _ id: Int64, _ rank: Int64, _ wish: LeaseWish, due: Int64,
        _ isMarked: Bool, _ out: inout StoreLease, _ db: Database
    ) throws {
        var contents: [Int64: Payload] = [:]
        // One more than is wanted tells whether there is more.
        let room = wish.max + 1 - out.deliveries.count
        let rows = try hot.statement(wish.isProbe ? .leaseUntried : .lease, db)
        rows.bind(id)
        rows.bind(rank)
        rows.bind(due)
        rows.bind(Int64(room))
        var found: [Delivery] = []
        var damaged: [Int64] = []
        while try rows.step() {
            let payload = rows.integer(3)
            if contents[payload] == nil { contents[payload] = try content(payload, db) }
            guard let content = contents[payload],
                let delivery = Self.delivery(rows, lane, content)
            else {
                damaged.append(rows.integer(0))
                continue
            }
            found.append(delivery)
        }
        if found.count + damaged.count == room {
            out.hasMore = true
            _ = found.popLast()
        }
        for delivery in found where isMarked { try mark(delivery, until: wish.untilUnixMs, db) }
        for id in damaged where isMarked { try bury(damaged: id, wish.nowUnixMs, db) }
        out.deliveries += found
    }

    /// What cannot be read is not sent: an empty push would be worse than none.
    private mutating func bury(damaged id: Int64, _ nowUnixMs: UInt64, _ db: Database) throws {
        let attempt = Attempt(
            number: 1, unixMs: nowUnixMs, reason: "damaged", code: 0,
            detail: "its row in the database cannot be read")
        guard try bury(id, attempt.reason, attempt, db), let row = try remove(id, db) else {
            return
        }
        try release(row.payload, 1, db)
        damagedCount += 1
        notices.append(
            .damaged(
                count: 1,
                "delivery \(id) is damaged in the database, it is a dead letter now"))
    }

    /// Of what cannot be read of a block nothing is known but how many deliveries it was.
    private mutating func bury(
        _ damage: BlockTables.Damage, nowUnixMs: Int64, nextID: inout UInt64, _ db: Database
    ) throws {
        for _ in 0..<damage.count {
            nextID += 1
            let id = Int64(clamping: nextID)
            try db.cachedStatement(
                sql: """
                    INSERT INTO dead (id, at, reason, sender, app, route, event, source, type, subject,
                      received, rank, deadline, stable, badge, note, device)
                    VALUES (?, ?, 'damaged', ?, ?, '', 0, '', '', '', 0, ?, 0, '', NULL, '', '')
                    """
            ).execute(arguments: [
                id, nowUnixMs, damage.lane.sender, damage.lane.app, Int64(damage.rank),
            ])
        }
        damagedCount += damage.count
        notices.append(
            .damaged(
                count: damage.count,
                "block \(damage.block) of the queue is damaged: \(damage.count) of its "
                    + "\(damage.total) deliveries cannot be read, they are dead letters now"))
    }

    /// Makes due what waits only for its provider to be back.
    mutating func hasten(_ lane: LaneKey, nowUnixMs: UInt64, _ db: Database) throws {
        guard let id = try knownLane(lane, db) else { return }
        let now = Int64(clamping: nowUnixMs)
        try db.cachedStatement(
            sql: """
                UPDATE delivery SET due = ?1
                WHERE lane = ?2 AND leased = 0 AND due > ?1 AND free > 0
                """
        ).execute(arguments: [now, id])
    }

    /// Lanes with something that nobody has; `dueUnixMs`: that was due by then.
    mutating func waitingLanes(dueUnixMs: UInt64?, _ db: Database) throws -> [LaneKey] {
        let due = Int64(clamping: dueUnixMs ?? .max)
        let hasRow = try db.cachedStatement(
            sql: """
                SELECT EXISTS (SELECT 1 FROM delivery
                  WHERE lane = ?1 AND rank IN (0, 1, 2) AND due <= ?2 AND leased = 0)
                """)
        var found: [LaneKey] = []
        for row in try Row.fetchAll(db, sql: "SELECT id, sender, app FROM lane ORDER BY id") {
            let id: Int64 = row[0]
            let isWaiting =
                try Bool.fetchOne(hasRow, arguments: [id, due]) == true
                || blocks.hasDue(lane: id, nowUnixMs: due, hot, db)
            if isWaiting { found.append(LaneKey(sender: row[1], app: row[2])) }
        }
        return found
    }

    private mutating func mark(
        _ delivery: Delivery, until untilUnixMs: UInt64, _ db: Database
    ) throws {
        let until = Int64(clamping: untilUnixMs)
        let mark = try hot.statement(.markLeased, db)
        mark.bind(until)
        mark.bind(Int64(clamping: delivery.id))
        try mark.run()
        leases.add(Int64(clamping: delivery.id), until: until)
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
        if let due = blocks.nextDue(lane: lane) { next = min(next ?? .max, due) }
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
        guard let row = try Row.fetchOne(select, arguments: [id]),
            let note = RowCodec.notification(row[0])
        else { return nil }
        let event: Int64 = row[1]
        return Payload(
            note: SharedNotification(note), event: UInt64(clamping: event),
            source: row[2], subject: row[3])
    }

    private static func delivery(
        _ row: HotStatement, _ lane: LaneKey, _ content: Payload
    ) -> Delivery? {
        guard let device = RowCodec.device(row.text(7), app: lane.app) else { return nil }
        return Delivery(
            id: UInt64(clamping: row.integer(0)), eventID: content.event, source: content.source,
            subject: content.subject, route: row.text(4), sender: lane.sender,
            stableID: row.text(5), attempt: UInt32(clamping: row.integer(1)),
            freeAttempts: UInt32(clamping: row.integer(8)),
            badge: row.isNull(6) ? nil : Int32(clamping: row.integer(6)),
            deadlineUnixMs: UInt64(clamping: row.integer(2)), content: content.note,
            device: device)
    }

    /// Ends leases; how many deliveries left the queue.
    ///
    /// `isShortOfRoom`: the disk was full a moment ago, so nothing is added: an attempt goes unrecorded,
    /// and what should be a dead letter comes back in a minute.
    mutating func settle(
        _ changes: [StoreChange], isShortOfRoom: Bool, nowUnixMs: UInt64, nextID: inout UInt64,
        _ db: Database
    ) throws -> Int {
        var ejection = Ejection()
        var released: [Int64: Int64] = [:]
        var gone = 0
        for change in changes {
            let id = Int64(clamping: change.id)
            switch change {
            case .delivered:
                if blocks.settle(change.id) {
                    gone += 1
                    continue
                }
                guard let row = try remove(id, db) else { continue }
                gone += 1
                released[row.payload, default: 0] += 1
                if row.attempt > 1 { try removeAttempts(id, db) }
            case .retry(_, let at, let attempt, let isFree):
                if isShortOfRoom, blocks.giveBack(change.id, dueUnixMs: Int64(clamping: at)) {
                    continue
                }
                try eject(change.id, &ejection, &nextID, db)
                let update = try db.cachedStatement(
                    sql: """
                        UPDATE delivery SET due = ?, leased = 0, attempt = ?, free = free + ?
                        WHERE id = ?
                        """)
                try update.execute(arguments: [
                    Int64(clamping: at), Int64(attempt.number) + 1, isFree ? 1 : 0, id,
                ])
                guard db.changesCount > 0, !isShortOfRoom else { continue }
                if isFree { try forgetBetween(attempt, id, db) }
                try note(attempt, id, db)
            case .dead where isShortOfRoom:
                let later = Int64(clamping: nowUnixMs) + 60_000
                if blocks.giveBack(change.id, dueUnixMs: later) { continue }
                try db.cachedStatement(
                    sql: "UPDATE delivery SET due = ?, leased = 0 WHERE id = ?"
                ).execute(arguments: [later, id])
            case .dead(_, let reason, let attempt):
                try eject(change.id, &ejection, &nextID, db)
                guard try bury(id, reason, attempt, db) else { continue }
                guard let row = try remove(id, db) else { continue }
                gone += 1
                released[row.payload, default: 0] += 1
            case .released:
                if blocks.giveBack(change.id, dueUnixMs: 0) { continue }
                try db.cachedStatement(
                    sql: "UPDATE delivery SET due = 0, leased = 0 WHERE id = ?"
                ).execute(arguments: [id])
            }
        }
        for (payload, count) in released { try release(payload, count, db) }
        return gone
    }

    /// What was read and written for the deliveries that left their blocks in one go.
    private struct Ejection {
        var read: [Int64: BlockReader] = [:]
        /// Payload rows by block and content.
        var payloads: [[Int64]: Int64] = [:]
    }

    /// Gives a delivery of a block a row of its own; nothing happens if it has one.
    private mutating func eject(
        _ id: UInt64, _ ejection: inout Ejection, _ nextID: inout UInt64, _ db: Database
    ) throws {
        guard let found = try blocks.find(id, cache: &ejection.read, hot, db) else { return }
        let content = found.content
        let payload: Int64
        if let known = ejection.payloads[found.source] {
            payload = known
            let share = try hot.statement(.releasePayload, db)
            share.bind(-1)
            share.bind(payload)
            try share.run()
        } else {
            nextID += 1
            payload = Int64(clamping: nextID)
            ejection.payloads[found.source] = payload
            let event = Event(
                id: content.event, source: content.source, type: content.type,
                subject: content.subject)
            try insertPayload(
                payload, event, content.note.notification, content.receivedUnixMs, db)
        }
        try insertRow(
            found.delivery, found.lane, Int64(found.rank), leasedUntil: nil, payload: payload, db)
        _ = blocks.settle(id)
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

    /// Of an outage that goes on the first and the last attempt are kept: there may be hundreds.
    private func forgetBetween(_ attempt: Attempt, _ id: Int64, _ db: Database) throws {
        try db.cachedStatement(
            sql: """
                DELETE FROM attempt WHERE delivery = ?1 AND number = ?2 - 1 AND reason = ?3
                  AND EXISTS (SELECT 1 FROM attempt WHERE delivery = ?1 AND number < ?2 - 1
                    AND reason = ?3)
                """
        ).execute(arguments: [id, Int64(attempt.number), attempt.reason])
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
                SELECT d.id, ?, ?, l.sender, l.app, d.route, coalesce(p.event, 0),
                  coalesce(p.source, ''), coalesce(p.type, ''), coalesce(p.subject, ''),
                  coalesce(p.received, 0), d.rank, d.deadline, d.stable, d.badge,
                  coalesce(p.note, ''), d.device
                FROM delivery d JOIN lane l ON l.id = d.lane
                  LEFT JOIN payload p ON p.id = d.payload
                WHERE d.id = ?
                """)
        try copy.execute(arguments: [Int64(clamping: attempt.unixMs), reason, id])
        guard db.changesCount > 0 else { return false }
        try note(attempt, id, db)
        return true
    }
}
