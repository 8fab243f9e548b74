internal import Foundation
internal import GRDB
internal import SignalboxCore
internal import SignalboxTables

/// Adds what a copy brings to a data folder.
extension SQLiteContents {
    func add(_ records: [StoredRecord], _ db: Database) throws {
        var lastID = try QueueTables.lastID(db)
        for record in records {
            switch record {
            case .numbers(let numbers):
                try add(numbers, db)
                lastID = max(lastID, numbers.lastID)
            case .seen(let key, let until):
                try execute(
                    "INSERT INTO seen_key (key, until) VALUES (?, ?)",
                    [key.data, Int64(clamping: until)], db)
            case .delivery(let delivery): try tables.add(delivery, nextID: &lastID, db)
            case .device, .badge, .value, .report, .receiver, .outcomes: break
            }
        }
        try CopiedTable.insert(records, link(db))
        try tables.flush(nextID: &lastID, db)
        try tables.keep(lastID: lastID, db)
    }

    private func execute(
        _ sql: String, _ arguments: StatementArguments, _ db: Database
    ) throws { try db.cachedStatement(sql: sql).execute(arguments: arguments) }

    private func add(_ numbers: StoredNumbers, _ db: Database) throws {
        let counters: [(String, Int64)] = [
            ("seen_seed_0", Int64(bitPattern: numbers.seed.0)),
            ("seen_seed_1", Int64(bitPattern: numbers.seed.1)),
            (OutcomeTables.counter, Int64(clamping: numbers.nextOutcome)),
            ("device", Int64(clamping: numbers.lastRegistration)),
        ]
        for (name, value) in counters {
            try execute(
                "INSERT OR REPLACE INTO counter (name, value) VALUES (?, ?)", [name, value], db)
        }
        try execute("DELETE FROM sqlite_sequence WHERE name = 'outbox'", [], db)
        try execute(
            "INSERT INTO sqlite_sequence (name, seq) VALUES ('outbox', ?)",
            [Int64(clamping: numbers.lastReport)], db)
    }
}

/// Deliveries of a copy.
extension QueueTables {
    /// Adds a delivery to its block, or as a row, or as a dead letter.
    mutating func add(
        _ stored: StoredDelivery, nextID: inout UInt64, _ db: Database
    ) throws {
        let delivery = stored.delivery
        let id = Int64(clamping: delivery.id)
        for attempt in stored.attempts { try note(attempt, id, db) }
        if let death = stored.death { return try DeadTables.add(stored, death, db) }
        let lane = try laneID(LaneKey(delivery), db)
        let rank = Self.rank(delivery.content.notification.priority ?? .normal)
        guard stored.isSingle else {
            return try blocks.add(
                delivery, of: stored.event, receivedUnixMs: stored.receivedUnixMs, lane: lane,
                rank: Int(rank), takenUntilUnixMs: nil, hot, nextID: &nextID, db)
        }
        nextID += 1
        let payload = Int64(clamping: nextID)
        try insertPayload(payload, stored.event, delivery.content, stored.receivedUnixMs, db)
        try insertRow(delivery, lane, rank, leasedUntil: nil, payload: payload, db)
        try db.cachedStatement(
            sql: "UPDATE delivery SET due = ?, free = ?, stale = ? WHERE id = ?"
        ).execute(arguments: [
            Int64(clamping: stored.dueUnixMs), Int64(delivery.freeAttempts),
            Int64(stored.stale.rawValue), id,
        ])
    }

    /// Deliveries with rows of their own, each with its place; nil if a delivery is damaged.
    static func storedRows(
        after place: [Int64], max: Int, _ lanes: [Int64: LaneKey], _ db: Database
    ) throws -> [(place: String, delivery: StoredDelivery?)] {
        try storedRows(
            where: "d.leased = 0 AND (d.lane, d.rank, d.due, d.id) > (?, ?, ?, ?)",
            StatementArguments(place), "ORDER BY d.lane, d.rank, d.due, d.id LIMIT \(max)", lanes,
            db)
    }

    static func storedRows(
        where condition: String, _ arguments: StatementArguments, _ rest: String = "",
        _ lanes: [Int64: LaneKey], _ db: Database
    ) throws -> [(place: String, delivery: StoredDelivery?)] {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT d.lane || ' ' || d.rank || ' ' || d.due || ' ' || d.id AS place, d.id, d.lane, d.due,
                  d.attempt, d.free, d.deadline, d.route, d.stable, d.badge, d.device, d.accepted, d.stale,
                  p.event, p.source, p.type, p.subject, p.key, p.received, p.note
                FROM delivery d LEFT JOIN payload p ON p.id = d.payload
                WHERE \(condition) \(rest)
                """, arguments: arguments)
        return try rows.map { row in
            let place = try row.text("place")
            do {
                return (place, try lanes[row.number("lane")].flatMap { try stored(row, $0, db) })
            } catch is RowFault {
                return (place, nil)
            }
        }
    }

    private static func stored(
        _ row: Row, _ lane: LaneKey, _ db: Database
    ) throws -> StoredDelivery? {
        guard let note = RowCodec.notification(row.value("note")),
            let device = RowCodec.device(row.value("device"))
        else { return nil }
        let attempts = try DeadTables.attempts(row.number("id"), db)
        let delivery = try row.delivery(
            lane, note, device, attempt: row.number("attempt"), free: row.number("free"))
        return StoredDelivery(
            delivery, receivedUnixMs: try row.time("received"), attempts: attempts,
            dueUnixMs: try row.time("due"), stale: row.staleness)
    }
}

extension DeadTables {
    /// A dead letter with all its fields.
    static func stored(_ row: Row, _ db: Database) throws -> StoredDelivery {
        let lane = try LaneKey(row)
        let note = RowCodec.notification(row.value("note"))
        let device = RowCodec.device(row.value("device"))
        let delivery = try row.delivery(
            lane, note ?? PushNotification(), device ?? Device(app: lane.app), attempt: 1, free: 0)
        return StoredDelivery(
            delivery, receivedUnixMs: try row.time("received"),
            attempts: try attempts(row.number("id"), db),
            death: .init(
                try row.text("reason"), unixMs: try row.time("at"),
                isDamaged: note == nil || device == nil),
            stale: row.staleness)
    }

    static func add(
        _ stored: StoredDelivery, _ death: StoredDelivery.Death, _ db: Database
    ) throws {
        let delivery = stored.delivery
        let content = delivery.content
        let own = death.isDamaged ? nil : delivery.supersession
        let damaged = "".databaseValue
        try db.cachedStatement(
            sql: """
                INSERT INTO dead (id, at, reason, sender, app, kind, route, event, source, type, subject,
                  key, received, rank, deadline, stable, badge, note, device, shown_key,
                  badge_key, accepted, stale)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            Int64(clamping: delivery.id), Int64(clamping: death.unixMs), death.reason,
            delivery.sender, delivery.device.app, Int64(delivery.kind.rawValue), delivery.route,
            Int64(clamping: delivery.eventID), delivery.source, content.eventType,
            delivery.subject, content.eventKey, Int64(clamping: stored.receivedUnixMs),
            QueueTables.rank(content.notification.priority ?? .normal),
            Int64(clamping: delivery.deadlineUnixMs), delivery.stableID,
            delivery.badge.map { Int64($0) },
            death.isDamaged
                ? damaged : Data(RowCodec.bytes(content.notification)).databaseValue,
            death.isDamaged ? damaged : Data(RowCodec.bytes(delivery.device)).databaseValue,
            own?.shown, own?.badge, Int64(clamping: delivery.acceptedUnixMs),
            Int64(stored.stale.rawValue),
        ])
    }
}

extension Row {
    fileprivate var staleness: Staleness { Staleness(stored: (try? number("stale")) ?? 0) }

    /// From columns that waiting and dead deliveries share.
    fileprivate func delivery(
        _ lane: LaneKey, _ note: PushNotification, _ device: Device, attempt: Int64, free: Int64
    ) throws -> Delivery {
        let tried = StoredNumber.attempts(attempt, free: free)
        var delivery = Delivery(
            kind: lane.kind, id: try unsigned("id"), eventID: try time("event"),
            source: try text("source"), subject: try text("subject"), route: try text("route"),
            sender: lane.sender, stableID: try text("stable"), attempt: tried.attempt,
            freeAttempts: tried.free, badge: try optional("badge").map { Int32(clamping: $0) },
            deadlineUnixMs: try time("deadline"),
            content: SharedNotification(
                note, eventType: try text("type"), eventKey: try text("key"),
                receivedUnixMs: try time("received")),
            device: device)
        delivery.setAccepted(try time("accepted"))
        return delivery
    }
}
