internal import GRDB
internal import SignalboxCore
internal import SignalboxTables

/// Ends of leases.
extension QueueTables {
    /// The result of `settle`.
    struct Settled {
        /// How many deliveries left the queue.
        var gone = 0
        /// Deliveries that were not in the queue.
        var lost: Set<UInt64> = []
    }

    /// What `settle` gathers.
    private struct Settling {
        var nowUnixMs: UInt64
        /// The disk was just full.
        var isShortOfRoom: Bool
        var out = Settled()
        var ejection = Ejection()
        /// How many deliveries each payload row has lost.
        var released: [Int64: Int64] = [:]
        var accepted: [Supersession] = []

        mutating func lose(_ id: UInt64) { out.lost.insert(id) }
    }

    /// Ends leases.
    ///
    /// With `isShortOfRoom` the disk was just full, so nothing is added: attempts are not recorded,
    /// and a delivery that should become a dead letter is retried in a minute.
    mutating func settle(
        _ ends: [LeaseEnd], isShortOfRoom: Bool, nowUnixMs: UInt64, nextID: inout UInt64,
        _ db: Database
    ) throws -> Settled {
        var all = Settling(nowUnixMs: nowUnixMs, isShortOfRoom: isShortOfRoom)
        for end in ends {
            let id = Int64(clamping: end.id)
            switch end {
            case .delivered(_, let supersedes):
                if let supersedes { all.accepted.append(supersedes) }
                if blocks.settle(end.id) {
                    all.out.gone += 1
                } else {
                    try deliver(end.id, &all, db)
                }
            case .retry(_, let afterMs, let attempt, let isFree):
                try retry(
                    end.id, afterMs: afterMs, attempt, isFree: isFree, &all, nextID: &nextID, db)
            case .dead where isShortOfRoom:
                let later = Int64(clamping: nowUnixMs) + 60_000
                if !blocks.giveBack(end.id, dueUnixMs: later) {
                    _ = try giveBack(id, dueUnixMs: later, db)
                }
            case .dead(_, let reason, let attempt):
                try eject(end.id, &all.ejection, &nextID, db)
                guard try bury(id, reason, attempt, db), let row = try remove(id, db) else {
                    all.lose(end.id)
                    continue
                }
                all.out.gone += 1
                all.released[row.payload, default: 0] += 1
            case .released:
                if blocks.giveBack(end.id, dueUnixMs: 0) { continue }
                if try !giveBack(id, dueUnixMs: 0, db) { all.lose(end.id) }
            }
        }
        for (payload, count) in all.released { try release(payload, count, db) }
        // Last, since what they overtook may get its row here.
        if !isShortOfRoom { try stale.mark(all.accepted, hot, db) }
        return all.out
    }

    /// Removes a delivery that has a row.
    private func deliver(_ id: UInt64, _ all: inout Settling, _ db: Database) throws {
        let number = Int64(clamping: id)
        guard let row = try remove(number, db) else { return all.lose(id) }
        all.out.gone += 1
        all.released[row.payload, default: 0] += 1
        if row.attempt > 1 { try removeAttempts(number, db) }
    }

    private mutating func retry(
        _ id: UInt64, afterMs: UInt64, _ attempt: Attempt, isFree: Bool, _ all: inout Settling,
        nextID: inout UInt64, _ db: Database
    ) throws {
        let at = Int64(clamping: all.nowUnixMs &+ afterMs)
        let number = Int64(clamping: id)
        if all.isShortOfRoom, blocks.giveBack(id, dueUnixMs: at) { return }
        try eject(id, &all.ejection, &nextID, db)
        let update = try db.cachedStatement(
            sql: """
                UPDATE delivery SET due = ?, leased = 0, attempt = ?, free = free + ?
                WHERE id = ?
                """)
        try update.execute(arguments: [at, Int64(attempt.number) + 1, isFree ? 1 : 0, number])
        guard db.changesCount > 0 else { return all.lose(id) }
        if all.isShortOfRoom { return }
        if isFree { try forgetBetween(attempt, number, db) }
        try note(attempt, number, db)
    }

    /// Releases a delivery that has a row; false if it is missing.
    private func giveBack(_ id: Int64, dueUnixMs: Int64, _ db: Database) throws -> Bool {
        try db.cachedStatement(
            sql: "UPDATE delivery SET due = ?, leased = 0 WHERE id = ?"
        ).execute(arguments: [dueUnixMs, id])
        return db.changesCount > 0
    }

    /// Caches for deliveries that leave their blocks in one call.
    private struct Ejection {
        var read: [Int64: BlockReader] = [:]
        /// Payload rows by block and content.
        var payloads: [[Int64]: Int64] = [:]
    }

    /// Moves a delivery out of its block into a row; does nothing if it has one.
    private mutating func eject(
        _ id: UInt64, _ ejection: inout Ejection, _ nextID: inout UInt64, _ db: Database
    ) throws {
        guard let found = try blocks.find(id, cache: &ejection.read, hot, db) else { return }
        let content = found.content
        let payload: Int64
        if let known = ejection.payloads[found.source] {
            payload = known
            try share(payload, db)
        } else {
            nextID += 1
            payload = Int64(clamping: nextID)
            ejection.payloads[found.source] = payload
            let event = Event(
                id: content.event, source: content.source, type: content.type,
                subject: content.subject)
            try insertPayload(payload, event, content.note, content.receivedUnixMs, db)
        }
        try insertRow(
            found.delivery, found.lane, Int64(found.rank), leasedUntil: nil, payload: payload, db)
        _ = blocks.settle(id)
    }

    func release(_ payload: Int64, _ count: Int64, _ db: Database) throws {
        let update = try hot.statement(.releasePayload, db)
        update.bind(count)
        update.bind(payload)
        guard try update.step() else { return }
        let left = update.number(0)
        try update.run()
        guard left <= 0 else { return }
        let remove = try hot.statement(.removePayload, db)
        remove.bind(payload)
        try remove.run()
    }

    /// Removes a delivery; nil if it is missing.
    func remove(
        _ id: Int64, _ db: Database
    ) throws -> (payload: Int64, attempt: Int64)? {
        let remove = try hot.statement(.removeDelivery, db)
        remove.bind(id)
        guard try remove.step() else { return nil }
        let row = (remove.number(0), remove.number(1))
        try remove.run()
        return row
    }

    func note(_ attempt: Attempt, _ id: Int64, _ db: Database) throws {
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

    /// During a long outage only the first and the last attempt are kept.
    private func forgetBetween(_ attempt: Attempt, _ id: Int64, _ db: Database) throws {
        try db.cachedStatement(
            sql: """
                DELETE FROM attempt WHERE delivery = ?1 AND number = ?2 - 1 AND reason = ?3
                  AND EXISTS (SELECT 1 FROM attempt WHERE delivery = ?1 AND number < ?2 - 1
                    AND reason = ?3)
                """
        ).execute(arguments: [id, Int64(attempt.number), attempt.reason])
    }

    func removeAttempts(_ id: Int64, _ db: Database) throws {
        try db.cachedStatement(sql: "DELETE FROM attempt WHERE delivery = ?").execute(arguments: [
            id
        ])
    }

    /// Copies a delivery to the dead letters, with what was tried; false if it is missing.
    func bury(
        _ id: Int64, _ reason: String, _ attempt: Attempt, _ db: Database
    ) throws -> Bool {
        guard let (_, found, isDamaged) = try Self.storedRows(where: "d.id = ?", [id], "", db).first
        else { return false }
        var stored = found
        stored.attempts.removeAll { $0.number == attempt.number }
        stored.attempts.append(attempt)
        let row = DeadTable.values(
            stored, .init(reason, unixMs: attempt.unixMs, isDamaged: isDamaged))
        try SQLiteTables(hot, db).insert([row], into: Tables.dead)
        try removeAttempts(id, db)
        return true
    }
}
