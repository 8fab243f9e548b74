internal import GRDB
public import SignalboxCore
internal import SignalboxTables

extension SQLiteStore: DeadLetterStore {
    /// Puts a part of them back into the queue.
    public func replay(_ filter: DeadFilter, fromID: UInt64, limit: Int) async throws -> DeadPart {
        let now = nowUnixMs()
        return try await queueWork { db, tables, lastID in
            let part = try tables.replay(
                filter, fromID: fromID, limit: limit, nowUnixMs: now, nextID: &lastID, db)
            return (part, part.count)
        }
    }
}

extension QueueTables {
    /// Each gets its own payload row. One whose content was lost stays.
    fileprivate mutating func replay(
        _ filter: DeadFilter, fromID: UInt64, limit: Int, nowUnixMs: UInt64,
        nextID: inout UInt64, _ db: Database
    ) throws -> DeadPart {
        let link = SQLiteTables(hot, db)
        let part = try DeadTable.part(filter, fromID: fromID, limit: limit, isReplay: true, link)
        let received = nowUnixMs - min(nowUnixMs, Replay.ageMs)
        for stored in part.found.compactMap(\.stored) {
            var delivery = stored.delivery
            let deadline = delivery.deadlineUnixMs
            // As much time as it had.
            let isDated =
                1...UInt64(StoredNumber.max) ~= deadline
                && stored.receivedUnixMs <= UInt64(StoredNumber.max)
            let left = deadline - min(deadline, stored.receivedUnixMs)
            delivery.deadlineUnixMs = isDated ? nowUnixMs + left : 0
            delivery.receive(atUnixMs: received)
            let lane = LaneKey(delivery)
            given.insert(lane)
            nextID += 1
            let payload = Int64(clamping: nextID)
            try insertPayload(payload, delivery.event, delivery.content, received, db)
            try insertRow(
                delivery, try laneID(lane, db), delivery.rank, leasedUntil: nil, payload: payload,
                stale: stored.stale, db)
        }
        try DeadTable.remove(part.found.map(\.id), link)
        return part.answer
    }
}
