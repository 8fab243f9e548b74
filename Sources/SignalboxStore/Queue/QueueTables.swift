internal import GRDB
internal import SignalboxCore
internal import SignalboxTables

/// The statements of the delivery queue; used by the writer's thread inside its transaction.
struct QueueTables {
    /// Lane ids by key, to save a look-up per delivery.
    var laneIDs: [LaneKey: Int64] = [:]
    let hot = HotStatements()
    var leases = LeaseEnds()
    var blocks = BlockTables()
    var stale = StaleTables()
    var seen = SeenKeys()
    var outcomes = OutcomeTables()
    var history = HistoryTables()
    var notices: [StoreNotice] = []
    /// Lanes that this transaction gave work by other means than an append.
    var given: Set<LaneKey> = []
    /// Damaged deliveries found since the last call of `takeDamagedCount`.
    var damagedCount = 0
    /// Reports skipped rows.
    let damage: DamagedRows

    init(_ damage: DamagedRows = DamagedRows()) { self.damage = damage }

    /// The state found at startup.
    struct Start {
        /// The token of this start.
        var token: LeaseToken
        var lastID: UInt64
        var waiting: Int
    }

    /// Reads the state at startup, and takes back what the previous run held.
    ///
    /// One process uses the file at a time, so there is no other owner.
    mutating func start(_ db: Database) throws -> Start {
        let row = try Row.fetchOne(
            db,
            sql: """
                UPDATE owner SET epoch = CASE WHEN typeof(epoch) = 'integer' AND epoch BETWEEN 0 AND ?
                  THEN epoch + 1 ELSE 1 END RETURNING name, epoch
                """, arguments: [StoredNumber.max])
        let token = LeaseToken(
            owner: (try? row?.text("name")) ?? "",
            epoch: UInt64(clamping: (try? row?.number("epoch")) ?? 0))
        try db.execute(sql: "UPDATE delivery SET leased = 0, due = 0 WHERE leased <> 0")
        let waiting = try waiting(db)
        try seen.start(hot, db)
        try outcomes.start(db)
        try history.start(db)
        stale.start(db)
        try Self.forgetEmptyLanes(db)
        for (id, lane) in try LaneKey.all(damage, db) { laneIDs[lane] = id }
        return Start(token: token, lastID: try Self.lastID(db), waiting: waiting)
    }

    /// The largest id in use.
    static func lastID(_ db: Database) throws -> UInt64 {
        let tables = ["delivery", "payload", "dead", "block"].map {
            "(SELECT coalesce(max(id), 0) FROM \($0) WHERE id BETWEEN 0 AND \(StoredNumber.max))"
        }
        let last = try Int64.fetchOne(
            db,
            sql: """
                SELECT max(\(tables.joined(separator: ", ")),
                  coalesce((SELECT value FROM counter WHERE name = 'last_id'
                    AND typeof(value) = 'integer' AND value BETWEEN 0 AND \(StoredNumber.max)), 0))
                """)
        return UInt64(clamping: last ?? 0)
    }

    private func waiting(_ db: Database) throws -> Int {
        let rows = try Int.fetchOne(db, sql: "SELECT count(*) FROM delivery") ?? 0
        // A number that was damaged is repaired by now.
        let inBlocks = try Int.fetchOne(db, sql: "SELECT sum(count) FROM block") ?? 0
        let done = try hot.statement(.allProgress, db)
        var doneCount = 0
        while try done.step() { doneCount += done.withBytes(0) { Marks($0) }.marked }
        return rows + inBlocks - doneCount
    }

    mutating func laneID(_ lane: LaneKey, _ db: Database) throws -> Int64 {
        if let known = laneIDs[lane] { return known }
        try db.execute(
            sql: "INSERT OR IGNORE INTO lane (sender, app, kind) VALUES (?, ?, ?)",
            arguments: lane.columns)
        let id =
            try Int64.fetchOne(
                db, sql: "SELECT id FROM lane WHERE sender = ? AND app = ? AND kind = ?",
                arguments: lane.columns) ?? 0
        laneIDs[lane] = id
        return id
    }

    /// Records the last id that was given out.
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
            event.source, event.dedupe, nowUnixMs: Int64(clamping: nowUnixMs),
            windowMs: Int64(clamping: windowMs), hot, db)
    }

    /// Removes expired keys and values.
    mutating func forgetSeen(nowUnixMs: UInt64, _ db: Database) throws {
        let now = Int64(clamping: nowUnixMs)
        try db.cachedStatement(sql: "DELETE FROM value WHERE expires <= ?").execute(arguments: [now]
        )
        try seen.forget(nowUnixMs: now, hot, db)
    }

    /// Removes waiting reports about the same device. Returns how many.
    ///
    /// A registration that could not be reported must not be reported after a later logout.
    private func supersede(_ lane: Int64, _ stableID: String, _ db: Database) throws -> Int {
        let rows = try Row.fetchAll(
            try db.cachedStatement(
                sql: """
                    DELETE FROM delivery WHERE lane = ? AND stable = ? AND route = ''
                    RETURNING payload, id
                    """), arguments: [lane, stableID])
        for row in rows {
            if let payload = try? row.number("payload") { try release(payload, 1, db) }
            try removeAttempts(row.number("id"), db)
        }
        return rows.count
    }

    /// Writes the deliveries of one event, or collects them for `flush`.
    ///
    /// Returns how many older reports they replaced.
    @discardableResult
    mutating func insert(
        _ item: StoreEntry.Item, receivedUnixMs: UInt64, nowUnixMs: UInt64,
        leaseUntilUnixMs: UInt64, nextID: inout UInt64, _ db: Database
    ) throws -> Int {
        var superseded = 0
        /// Payload rows of deliveries that wait, by their contents.
        var payloads: [ObjectIdentifier: Int64] = [:]
        /// The lane of the previous delivery, and mostly of the next.
        var last: (key: LaneKey, id: Int64)?
        for delivery in item.deliveries {
            let until = item.taken.contains(delivery.id) ? Int64(clamping: leaseUntilUnixMs) : nil
            let key = LaneKey(delivery)
            let lane = try last.flatMap { $0.key == key ? $0.id : nil } ?? laneID(key, db)
            last = (key, lane)
            let rank = delivery.rank
            if let wait = item.waitsMs[delivery.id] {
                let payload = try share(
                    delivery, item.event, receivedUnixMs, &payloads, &nextID, db)
                try insertRow(
                    delivery, lane, rank, leasedUntil: nil, payload: payload,
                    dueUnixMs: Int64(clamping: nowUnixMs &+ wait), db)
                continue
            }
            guard delivery.kind == .report else {
                try blocks.add(
                    delivery, of: item.event, receivedUnixMs: receivedUnixMs, lane: lane,
                    rank: Int(rank), takenUntilUnixMs: until, hot, nextID: &nextID, db)
                continue
            }
            // A report gets its own row, so that a later one can replace it.
            superseded += try supersede(lane, delivery.stableID, db)
            nextID += 1
            let payload = Int64(clamping: nextID)
            try insertPayload(payload, item.event, delivery.content, receivedUnixMs, db)
            try insertRow(delivery, lane, rank, leasedUntil: until, payload: payload, db)
        }
        return superseded
    }

    /// One more delivery shares the payload row of its content, which is written for the first.
    private func share(
        _ delivery: Delivery, _ event: Event, _ receivedUnixMs: UInt64,
        _ payloads: inout [ObjectIdentifier: Int64], _ nextID: inout UInt64, _ db: Database
    ) throws -> Int64 {
        let content = ObjectIdentifier(delivery.content)
        if let known = payloads[content] {
            try share(known, db)
            return known
        }
        nextID += 1
        let payload = Int64(clamping: nextID)
        payloads[content] = payload
        try insertPayload(payload, event, delivery.content, receivedUnixMs, db)
        return payload
    }

    func share(_ payload: Int64, _ db: Database) throws {
        let share = try hot.statement(.releasePayload, db)
        share.bind(-1)
        share.bind(payload)
        try share.run()
    }

    /// Writes what `insert` collected.
    mutating func flush(nextID: inout UInt64, _ db: Database) throws {
        try blocks.flush(hot, nextID: &nextID, db)
    }

    /// Writes the dedupe keys of what was inserted.
    mutating func noteSeen(nowUnixMs: UInt64, _ db: Database) throws {
        try seen.flush(nowUnixMs: Int64(clamping: nowUnixMs), hot, db)
    }

    /// Writes the marks of settled deliveries; with `isShortOfRoom` only those that free room.
    mutating func note(isShortOfRoom: Bool, _ db: Database) throws {
        for block in try blocks.note(isShortOfRoom: isShortOfRoom, hot, db) {
            notices.append(
                .damaged(
                    count: 0,
                    "block \(block) of the queue cannot be removed from the database, its pages are "
                        + "damaged: it is marked as done, and stays until the file is repaired"))
        }
    }

    /// The transaction was committed.
    ///
    /// Returns the lanes that got work.
    mutating func committed() -> Set<LaneKey> {
        blocks.committed()
        seen.committed()
        outcomes.committed()
        history.committed()
        defer { given = [] }
        return given
    }

    /// The transaction was rolled back, including lanes that it created.
    mutating func rolledBack() {
        laneIDs = [:]
        given = []
        blocks.rolledBack()
        seen.rolledBack()
        outcomes.rolledBack()
        history.rolledBack()
    }

    /// Releases the connection.
    func close() { hot.removeAll() }

    /// Sends a notice once the transaction is committed.
    mutating func note(_ notice: StoreNotice) { notices.append(notice) }

    /// What is to be told.
    mutating func takeNotices() -> [StoreNotice] {
        defer { notices = [] }
        return notices
    }

    /// How many deliveries were removed as damaged.
    mutating func takeDamagedCount() -> Int {
        defer { damagedCount = 0 }
        return damagedCount
    }

    mutating func insertRow(
        _ delivery: Delivery, _ lane: Int64, _ rank: Int64, leasedUntil until: Int64?,
        payload: Int64, dueUnixMs: Int64 = 0, stale marks: Staleness = [], _ db: Database
    ) throws {
        if let until { leases.add(Int64(clamping: delivery.id), until: until) }
        let insert = try hot.statement(.insertDelivery, db)
        insert.bind(Int64(clamping: delivery.id))
        insert.bind(lane)
        insert.bind(rank)
        insert.bind(until ?? dueUnixMs)
        insert.bind(until == nil ? 0 : 1)
        insert.bind(Int64(delivery.attempt))
        insert.bind(Int64(clamping: delivery.deadlineUnixMs))
        insert.bind(payload)
        insert.bind(delivery.route)
        insert.bind(delivery.stableID)
        insert.bind(delivery.badge.map { Int64($0) })
        insert.bind(blob: RowCodec.bytes(delivery.device))
        let own = delivery.supersession
        insert.bind(own?.shown)
        insert.bind(own?.badge)
        insert.bind(Int64(clamping: delivery.acceptedUnixMs))
        insert.bind(Int64(delivery.freeAttempts))
        insert.bind(Int64(marks.rawValue))
        stale.note(own)
        try insert.run()
    }

    func insertPayload(
        _ id: Int64, _ event: Event, _ content: SharedNotification, _ receivedUnixMs: UInt64,
        _ db: Database
    ) throws {
        let insert = try hot.statement(.insertPayload, db)
        insert.bind(id)
        insert.bind(Int64(clamping: event.id))
        insert.bind(event.source)
        insert.bind(event.type)
        insert.bind(event.subject)
        insert.bind(Int64(clamping: receivedUnixMs))
        insert.bind(blob: RowCodec.bytes(content.notification))
        insert.bind(1)
        insert.bind(content.eventKey)
        try insert.run()
    }
}
