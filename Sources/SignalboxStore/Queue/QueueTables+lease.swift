internal import GRDB
internal import SignalboxCore
internal import SignalboxTables

/// Leasing deliveries, and finding those that wait.
extension QueueTables {
    /// At a start: names of apps come from events, so those that have nothing left are forgotten, unless a damaged part of
    /// the file may need them.
    static func forgetEmptyLanes(_ db: Database) throws {
        try db.execute(
            sql: """
                DELETE FROM lane WHERE NOT EXISTS (SELECT 1 FROM delivery WHERE delivery.lane = lane.id)
                  AND NOT EXISTS (SELECT 1 FROM block WHERE block.lane = lane.id)
                  AND id NOT IN (SELECT lane FROM flight)
                  AND NOT EXISTS (SELECT 1 FROM sqlite_schema WHERE name LIKE 'flight_damaged%')
                """)
    }

    /// Leases due deliveries, high priority first.
    mutating func lease(
        _ lane: LaneKey, _ wish: LeaseWish, nowUnixMs: UInt64, _ token: LeaseToken,
        isMarked: Bool, nextID: inout UInt64, _ db: Database
    ) throws -> StoreLease {
        var out = StoreLease(token: token)
        guard let id = try knownLane(lane, db) else { return out }
        let now = Int64(clamping: nowUnixMs)
        let until = Int64(clamping: nowUnixMs &+ wish.forMs)
        if isMarked { try leases.expire(now: now, hot, db) }
        for rank in Int64(0)...2 where out.deliveries.count <= wish.max {
            // A delivery with its own row was tried before. It is older and comes first, except
            // for a probe.
            if !wish.isProbe {
                try leaseRows(lane, id, rank, wish, now, until, isMarked, &out, db)
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
                try leaseRows(lane, id, rank, wish, now, until, isMarked, &out, db)
            }
        }
        if !isMarked { blocks.lentForGood() }
        if try blocks.hasDue(lane: id, nowUnixMs: now, hot, db) { out.hasMore = true }
        if !out.hasMore {
            out.nextDueInMs = try nextDue(id, db).map {
                StoredNumber.wait(untilMs: $0, nowMs: now)
            }
        }
        return out
    }

    /// Leases deliveries that have their own rows.
    private mutating func leaseRows(
        _ lane: LaneKey, _ id: Int64, _ rank: Int64, _ wish: LeaseWish, _ now: Int64,
        _ until: Int64, _ isMarked: Bool, _ out: inout StoreLease, _ db: Database
    ) throws {
        var contents: [Int64: Payload] = [:]
        // One more than wanted shows whether there are more.
        let room = wish.max + 1 - out.deliveries.count
        let rows = try hot.statement(wish.isProbe ? .leaseUntried : .lease, db)
        rows.bind(id)
        rows.bind(rank)
        rows.bind(now)
        rows.bind(Int64(room))
        var found: [Delivery] = []
        var stale: [UInt64: Staleness] = [:]
        var damaged: [Int64] = []
        while try rows.step() {
            let payload = rows.number(3)
            if contents[payload] == nil { contents[payload] = try content(payload, db) }
            guard let content = contents[payload],
                let delivery = Self.delivery(rows, lane, content)
            else {
                damaged.append(rows.number(0))
                continue
            }
            found.append(delivery)
            let marks = Staleness(stored: rows.number(9))
            if !marks.isEmpty { stale[delivery.id] = marks }
        }
        if found.count + damaged.count == room {
            out.hasMore = true
            if let last = found.popLast() { stale[last.id] = nil }
        }
        out.stale.merge(stale) { $1 }
        for delivery in found where isMarked { try mark(delivery, until: until, db) }
        for id in damaged where isMarked { try bury(damaged: id, UInt64(clamping: now), db) }
        out.deliveries += found
    }

    private static func unreadable(atUnixMs unixMs: UInt64) -> Attempt {
        Attempt(
            number: 1, unixMs: unixMs, reason: "damaged", code: 0,
            detail: "its row in the database cannot be read")
    }

    /// A damaged delivery is not sent: an empty push is worse than none.
    private mutating func bury(damaged id: Int64, _ nowUnixMs: UInt64, _ db: Database) throws {
        let attempt = Self.unreadable(atUnixMs: nowUnixMs)
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

    /// Of the unreadable part of a block only the number of deliveries is known.
    private mutating func bury(
        _ damage: BlockTables.Damage, nowUnixMs: Int64, nextID: inout UInt64, _ db: Database
    ) throws {
        for _ in 0..<damage.count {
            nextID += 1
            let attempt = Self.unreadable(atUnixMs: UInt64(clamping: nowUnixMs))
            let row = DeadTable.lost(nextID, of: damage.lane, attempt)
            try SQLiteTables(hot, db).insert([row], into: Tables.dead)
        }
        damagedCount += damage.count
        notices.append(
            .damaged(
                count: damage.count,
                "block \(damage.block) of the queue is damaged: \(damage.count) of its "
                    + "\(damage.total) deliveries cannot be read, they are dead letters now"))
    }

    /// Extends leases until a time. Returns those that are not held here.
    mutating func extend(
        _ ids: [UInt64], untilUnixMs: UInt64, _ db: Database
    ) throws -> [UInt64] {
        let until = Int64(clamping: untilUnixMs)
        var lost: [UInt64] = []
        for number in ids where !blocks.extend(number, untilUnixMs: until) {
            let id = Int64(clamping: number)
            let mark = try hot.statement(.extendLease, db)
            mark.bind(until)
            mark.bind(id)
            try mark.run()
            if db.changesCount > 0 {
                leases.add(id, until: until)
            } else {
                lost.append(number)
            }
        }
        return lost
    }

    /// The clock went back: retries wait no longer than they were told to. What was never tried keeps its time, which
    /// somebody named.
    mutating func clockWentBack(byMs stepMs: UInt64, nowUnixMs: UInt64, _ db: Database) throws {
        let (now, step) = (Int64(clamping: nowUnixMs), Int64(clamping: stepMs))
        try db.cachedStatement(
            sql: """
                UPDATE delivery SET due = max(?1, due - ?2)
                WHERE leased = 0 AND due > ?1 AND (attempt > 1 OR free > 0)
                """
        ).execute(arguments: [now, step])
        blocks.clockWentBack(byMs: step, nowUnixMs: now)
    }

    /// Makes deliveries due that wait only for their provider to recover.
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

    /// Lanes with deliveries that are not leased; with `dueUnixMs`, only those that were due by then.
    mutating func waitingLanes(dueUnixMs: UInt64?, _ db: Database) throws -> [LaneKey] {
        let due = Int64(clamping: dueUnixMs ?? .max)
        let hasRow = try db.cachedStatement(
            sql: """
                SELECT EXISTS (SELECT 1 FROM delivery
                  WHERE lane = ?1 AND rank IN (0, 1, 2) AND due <= ?2 AND leased = 0)
                """)
        var found: [LaneKey] = []
        for (id, lane) in try LaneKey.all(damage, db).sorted(by: { $0.key < $1.key }) {
            let isWaiting =
                try Bool.fetchOne(hasRow, arguments: [id, due]) == true
                || blocks.hasDue(lane: id, nowUnixMs: due, hot, db)
            if isWaiting { found.append(lane) }
        }
        return found
    }

    private mutating func mark(
        _ delivery: Delivery, until: Int64, _ db: Database
    ) throws {
        let mark = try hot.statement(.markLeased, db)
        mark.bind(until)
        mark.bind(Int64(clamping: delivery.id))
        try mark.run()
        leases.add(Int64(clamping: delivery.id), until: until)
    }

    private mutating func knownLane(_ lane: LaneKey, _ db: Database) throws -> Int64? {
        if let known = laneIDs[lane] { return known }
        let found = try Int64.fetchOne(
            db, sql: "SELECT id FROM lane WHERE sender = ? AND app = ? AND kind = ?",
            arguments: lane.columns)
        laneIDs[lane] = found
        return found
    }

    private mutating func nextDue(_ lane: Int64, _ db: Database) throws -> Int64? {
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
        return next
    }

    private struct Payload {
        var note: SharedNotification
        var event: UInt64
        var source: String
        var subject: String
    }

    private func content(_ id: Int64, _ db: Database) throws -> Payload? {
        let select = try db.cachedStatement(
            sql: """
                SELECT note, event, source, subject, type, key, received FROM payload WHERE id = ?
                """)
        guard let row = try Row.fetchOne(select, arguments: [id]),
            let note = RowCodec.notification(row.value("note"))
        else { return nil }
        return try? Payload(
            note: SharedNotification(
                note, eventType: row.text("type"), eventKey: row.text("key"),
                receivedUnixMs: row.time("received")),
            event: row.unsigned("event"), source: row.text("source"), subject: row.text("subject"))
    }

    private static func delivery(
        _ row: HotStatement, _ lane: LaneKey, _ content: Payload
    ) -> Delivery? {
        guard let device = row.record(7) as Device? else { return nil }
        let attempts = StoredNumber.attempts(row.number(1), free: row.number(8))
        var delivery = Delivery(
            kind: lane.kind, id: UInt64(clamping: row.number(0)), eventID: content.event,
            source: content.source,
            subject: content.subject, route: row.text(4), sender: lane.sender,
            stableID: row.text(5), attempt: attempts.attempt, freeAttempts: attempts.free,
            badge: row.isNull(6) ? nil : Int32(clamping: row.number(6)),
            deadlineUnixMs: UInt64(clamping: row.number(2)), content: content.note,
            device: device)
        delivery.setAccepted(UInt64(clamping: row.number(10)))
        return delivery
    }
}
