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
            case .delivery(let delivery) where delivery.death == nil:
                try tables.add(delivery, nextID: &lastID, db)
            case .delivery, .device, .badge, .value, .report, .receiver, .outcomes: break
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
    /// Adds a delivery that waits to its block, or as a row.
    mutating func add(
        _ stored: StoredDelivery, nextID: inout UInt64, _ db: Database
    ) throws {
        let delivery = stored.delivery
        let lane = try laneID(LaneKey(delivery), db)
        guard stored.isSingle else {
            return try blocks.add(
                delivery, of: stored.event, receivedUnixMs: stored.receivedUnixMs, lane: lane,
                rank: Int(delivery.rank), takenUntilUnixMs: nil, hot, nextID: &nextID, db)
        }
        for attempt in stored.attempts { try note(attempt, Int64(clamping: delivery.id), db) }
        nextID += 1
        let payload = Int64(clamping: nextID)
        try insertPayload(payload, stored.event, delivery.content, stored.receivedUnixMs, db)
        try insertRow(
            delivery, lane, delivery.rank, leasedUntil: nil, payload: payload,
            dueUnixMs: Int64(clamping: stored.dueUnixMs), stale: stored.stale, db)
    }

    /// A delivery with a row of its own. Of one that is damaged there is what can be read.
    typealias StoredRow = (place: String, delivery: StoredDelivery, isDamaged: Bool)

    static func storedRows(
        where condition: String, _ arguments: StatementArguments, _ rest: String,
        _ db: Database
    ) throws -> [StoredRow] {
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT d.lane || ' ' || d.rank || ' ' || d.due || ' ' || d.id AS place, d.id, d.due,
                      d.attempt, d.free, d.deadline, d.route, d.stable, d.badge, d.device, d.accepted,
                      d.stale, l.sender, l.app, l.kind,
                      p.event, p.source, p.type, p.subject, p.key, p.received, p.note
                    FROM delivery d LEFT JOIN payload p ON p.id = d.payload LEFT JOIN lane l ON l.id = d.lane
                    WHERE \(condition) \(rest)
                    """), arguments: arguments)
        return try rows.map { row in
            let attempts = try attempts(row.number("id"), db)
            let (delivery, isDamaged) = row.delivery
            let stored = StoredDelivery(
                delivery, receivedUnixMs: (try? row.time("received")) ?? 0, attempts: attempts,
                dueUnixMs: (try? row.time("due")) ?? 0,
                stale: Staleness(stored: (try? row.number("stale")) ?? 0))
            return (try row.text("place"), stored, isDamaged)
        }
    }

    /// What was tried of a delivery.
    private static func attempts(_ id: Int64, _ db: Database) throws -> [Attempt] {
        let select = try db.cachedStatement(
            sql: "SELECT * FROM attempt WHERE delivery = ? ORDER BY number")
        return try Row.fetchAll(select, arguments: [id]).compactMap { row in
            try? Attempt(
                number: StoredNumber.attempts(row.number("number"), free: 0).attempt,
                unixMs: row.time("at"), reason: row.text("reason"),
                code: UInt32(clamping: row.number("code")), detail: row.text("detail"))
        }
    }
}

extension Row {
    fileprivate var delivery: (Delivery, isDamaged: Bool) {
        let lane = (try? LaneKey(self)) ?? LaneKey(sender: "", app: "")
        do {
            return (try delivery(lane), false)
        } catch {
            let lost = Delivery(
                kind: lane.kind, id: (try? unsigned("id")) ?? 0, eventID: 0,
                route: (try? text("route")) ?? "", sender: lane.sender,
                stableID: (try? text("stable")) ?? "",
                deadlineUnixMs: (try? time("deadline")) ?? 0,
                content: SharedNotification(PushNotification(), receivedUnixMs: 0),
                device: Device(app: lane.app))
            return (lost, true)
        }
    }

    private func delivery(_ lane: LaneKey) throws -> Delivery {
        guard let note = RowCodec.notification(value("note")),
            let device = RowCodec.device(value("device")), !value("sender").isNull
        else { throw RowFault(column: "note") }
        let tried = StoredNumber.attempts(try number("attempt"), free: try number("free"))
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
