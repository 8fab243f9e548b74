internal import GRDB
internal import SignalboxCore

/// New deliveries, stored in blocks: most are settled without ever needing a row of their own.
///
/// A block is written once, and removed when all of it is settled; in between a small row of marks
/// says what is settled. Leases are kept in memory only, since they end with the process.
struct BlockTables {
    /// The place of a leased delivery.
    private struct Place {
        var block: OpenBlock
        var index: Int
    }

    private struct DraftKey: Hashable {
        var lane: Int64
        var rank: Int
        var isTaken: Bool
    }

    private struct Draft {
        var key: DraftKey
        var name: LaneKey
        var untilUnixMs: Int64 = 0
        var writer = BlockWriter()
    }

    private var open: [Int64: OpenBlock] = [:]
    private var places: [UInt64: Place] = [:]
    private var lanes: [Int64: BlockLane] = [:]
    /// Blocks that this transaction appended to and has not written yet, in order of their first delivery.
    private var drafts: [Draft] = []
    /// The part of a block that could not be read.
    struct Damage {
        var block: Int64
        var lane: LaneKey
        var rank: Int
        var count: Int
        var total: Int
    }
    private var damages: [Damage] = []
    /// Damage reported in this transaction.
    private var takenDamages: [Damage] = []

    // State that a rollback restores.
    private var inserted: [OpenBlock] = []
    private var settled: [(id: UInt64, place: Place)] = []
    private var lent: [(id: UInt64, place: Place)] = []
    /// Blocks with marks that are not written yet.
    private var dirty: [OpenBlock] = []
    private var postponed: [OpenBlock] = []
    private var gone: [OpenBlock] = []

    mutating func takeDamages() -> [Damage] {
        defer { damages = [] }
        takenDamages += damages
        return damages
    }

    // MARK: Writing

    /// Collects a delivery for the next `flush`.
    mutating func add(
        _ delivery: Delivery, of event: Event, receivedUnixMs: UInt64, lane: Int64, rank: Int,
        takenUntilUnixMs: Int64?, _ hot: HotStatements, nextID: inout UInt64, _ db: Database
    ) throws {
        let key = DraftKey(lane: lane, rank: rank, isTaken: takenUntilUnixMs != nil)
        let index: Int
        if let known = drafts.firstIndex(where: { $0.key == key }) {
            index = known
        } else {
            index = drafts.count
            drafts.append(Draft(key: key, name: LaneKey(delivery)))
        }
        drafts[index].untilUnixMs = max(drafts[index].untilUnixMs, takenUntilUnixMs ?? 0)
        drafts[index].writer.add(delivery, of: event, receivedUnixMs: receivedUnixMs)
        guard drafts[index].writer.isFull else { return }
        let draft = drafts.remove(at: index)
        try write(draft, hot, &nextID, db)
    }

    /// Writes what was added.
    mutating func flush(_ hot: HotStatements, nextID: inout UInt64, _ db: Database) throws {
        guard !drafts.isEmpty else { return }
        let all = drafts
        drafts = []
        for draft in all { try write(draft, hot, &nextID, db) }
    }

    private mutating func write(
        _ draft: Draft, _ hot: HotStatements, _ nextID: inout UInt64, _ db: Database
    ) throws {
        nextID += 1
        let id = Int64(clamping: nextID)
        let key = draft.key
        let ids = draft.writer.ids
        let insert = try hot.statement(.insertBlock, db)
        insert.bind(id)
        insert.bind(key.lane)
        insert.bind(Int64(key.rank))
        insert.bind(Int64(ids.count))
        insert.bind(blob: draft.writer.bytes)
        try insert.run()
        guard key.isTaken else { return }
        let block = OpenBlock(
            id: id, lane: key.lane, name: draft.name, rank: key.rank, count: ids.count,
            readable: ids.count, done: Marks(), hasProgress: false)
        open[id] = block
        inserted.append(block)
        for (index, delivery) in ids.enumerated() {
            block.out[index] = true
            places[delivery] = Place(block: block, index: index)
        }
        blocks(of: key.lane).lease(block, untilUnixMs: draft.untilUnixMs)
    }

    private mutating func blocks(of lane: Int64) -> BlockLane {
        if let known = lanes[lane] { return known }
        let made = BlockLane()
        lanes[lane] = made
        return made
    }

    // MARK: Settling

    /// Marks a delivery as settled; false if it is not leased from a block.
    mutating func settle(_ id: UInt64) -> Bool {
        guard let place = places.removeValue(forKey: id) else { return false }
        settled.append((id, place))
        place.block.out[place.index] = false
        place.block.done[place.index] = true
        if !place.block.isDirty {
            place.block.isDirty = true
            dirty.append(place.block)
        }
        return true
    }

    /// Releases a delivery, which is due at `dueUnixMs`; false if it is not leased from a block.
    mutating func giveBack(_ id: UInt64, dueUnixMs: Int64) -> Bool {
        guard let place = places.removeValue(forKey: id) else { return false }
        place.block.out[place.index] = false
        place.block.dueUnixMs = dueUnixMs
        lanes[place.block.lane]?.giveBack(place.block)
        return true
    }

    /// Extends a lease and those of its block; false if it is not leased from a block.
    ///
    /// An expired lease is taken again, unless the delivery was settled.
    mutating func extend(_ id: UInt64, untilUnixMs: Int64) -> Bool {
        guard let place = places[id], !place.block.isGone else { return false }
        place.block.out[place.index] = true
        blocks(of: place.block.lane).lease(place.block, untilUnixMs: untilUnixMs)
        return true
    }

    /// A delivery that needs a row of its own.
    struct Found {
        var delivery: Delivery
        var content: BlockContent
        var rank: Int
        var lane: Int64
        /// The block and the index of its content, equal for deliveries that share one.
        var source: [Int64]
    }

    /// Finds a delivery that is leased from a block; `cache` keeps blocks that were read.
    func find(
        _ id: UInt64, cache: inout [Int64: BlockReader], _ hot: HotStatements, _ db: Database
    ) throws -> Found? {
        guard let place = places[id] else { return nil }
        let block = place.block
        if cache[block.id] == nil { cache[block.id] = try read(block.id, block.name, hot, db) }
        guard let reader = cache[block.id], reader.deliveries.indices.contains(place.index) else {
            return nil
        }
        let (delivery, content) = reader.deliveries[place.index]
        return Found(
            delivery: delivery, content: reader.contents[content], rank: block.rank,
            lane: block.lane, source: [block.id, Int64(content)])
    }

    private func read(
        _ id: Int64, _ lane: LaneKey, _ hot: HotStatements, _ db: Database
    ) throws -> BlockReader? {
        let select = try hot.statement(.readBlock, db)
        select.bind(id)
        guard try select.step() else { return nil }
        defer { select.end() }
        return select.withBlob(0) { BlockReader(anyVersion: $0, lane: lane) }
    }

    /// Writes the marks of settled deliveries; with `isShortOfRoom` only those that free room.
    mutating func note(isShortOfRoom: Bool, _ hot: HotStatements, _ db: Database) throws {
        for block in dirty where !block.isGone {
            if block.isDone {
                let remove = try hot.statement(.removeBlock, db)
                remove.bind(block.id)
                try remove.run()
                if block.hasProgress {
                    let remove = try hot.statement(.removeProgress, db)
                    remove.bind(block.id)
                    try remove.run()
                }
                gone.append(block)
            } else if isShortOfRoom {
                postponed.append(block)
            } else {
                let note = try hot.statement(.noteProgress, db)
                note.bind(block.id)
                note.bind(blob: block.done.bytes)
                try note.run()
                block.hasProgress = true
            }
        }
    }

    // MARK: Lending

    /// Leases due deliveries of one rank, at most `max`.
    mutating func lease(
        _ name: LaneKey, lane id: Int64, rank: Int, max: Int, nowUnixMs: Int64,
        untilUnixMs: Int64, _ hot: HotStatements, _ db: Database
    ) throws -> [Delivery] {
        var out: [Delivery] = []
        let lane = blocks(of: id)
        lane.expire(nowUnixMs: nowUnixMs)
        for block in lane.returned[rank] where out.count < max && block.dueUnixMs <= nowUnixMs {
            guard let reader = try read(block.id, name, hot, db) else {
                // The row was removed.
                block.isReturned = false
                continue
            }
            lend(reader, of: block, max: max - out.count, &out)
            lane.lease(block, untilUnixMs: untilUnixMs)
            block.isReturned = block.hasRest
        }
        lane.returned[rank].removeAll { !$0.isReturned }
        while out.count < max {
            let next = try hot.statement(.nextBlock, db)
            next.bind(id)
            next.bind(Int64(rank))
            next.bind(lane.cursor[rank])
            guard try next.step() else { break }
            defer { next.end() }
            let number = next.integer(0)
            lane.cursor[rank] = number
            guard open[number] == nil else { continue }
            let reader = next.withBlob(2) { BlockReader(anyVersion: $0, lane: name) }
            let count = Int(next.integer(1))
            let block = OpenBlock(
                id: number, lane: id, name: name, rank: rank, count: count,
                readable: min(count, reader.deliveries.count),
                done: next.isNull(3) ? Marks() : next.withBlob(3) { Marks($0) },
                hasProgress: !next.isNull(3))
            open[number] = block
            if reader.isBroken { writeOff(block) }
            lend(reader, of: block, max: max - out.count, &out)
            lane.lease(block, untilUnixMs: untilUnixMs)
            lane.giveBack(block)
        }
        return out
    }

    /// The unreadable part of a block counts as settled.
    private mutating func writeOff(_ block: OpenBlock) {
        let lost = (block.readable..<block.count).filter { !block.done[$0] }
        guard !lost.isEmpty else { return }
        for index in lost { block.done[index] = true }
        damages.append(
            Damage(
                block: block.id, lane: block.name, rank: block.rank, count: lost.count,
                total: block.count))
        guard !block.isDirty else { return }
        block.isDirty = true
        dirty.append(block)
    }

    private mutating func lend(
        _ reader: BlockReader, of block: OpenBlock, max: Int, _ out: inout [Delivery]
    ) {
        var room = max
        for (index, entry) in reader.deliveries.enumerated() where room > 0 {
            guard !block.done[index], !block.out[index] else { continue }
            let place = Place(block: block, index: index)
            block.out[index] = true
            places[entry.delivery.id] = place
            lent.append((entry.delivery.id, place))
            out.append(entry.delivery)
            room -= 1
        }
    }

    /// Whether a lane has more that is due.
    mutating func hasDue(
        lane id: Int64, nowUnixMs: Int64, _ hot: HotStatements, _ db: Database
    ) throws -> Bool {
        let lane = blocks(of: id)
        for rank in 0..<3 {
            if lane.returned[rank].contains(where: { $0.dueUnixMs <= nowUnixMs && $0.hasRest }) {
                return true
            }
            while true {
                let peek = try hot.statement(.peekBlock, db)
                peek.bind(id)
                peek.bind(Int64(rank))
                peek.bind(lane.cursor[rank])
                guard try peek.step() else { break }
                let number = peek.integer(0)
                peek.end()
                guard open[number] != nil else { return true }
                lane.cursor[rank] = number
            }
        }
        return false
    }

    /// When an open block can be leased from; nil if none is open.
    func nextDue(lane: Int64) -> Int64? { lanes[lane]?.nextDue() }

    // MARK: The end of a transaction

    /// The transaction was committed.
    mutating func committed() {
        for block in dirty { block.isDirty = false }
        for block in postponed { block.isDirty = true }
        dirty = postponed
        for block in gone {
            open[block.id] = nil
            lanes[block.lane]?.forget(block)
        }
        forgetTransaction()
    }

    /// The transaction was rolled back: settled deliveries are leased again, leases are undone.
    mutating func rolledBack() {
        for (id, place) in settled {
            place.block.done[place.index] = false
            place.block.out[place.index] = true
            places[id] = place
        }
        for (id, place) in lent {
            places[id] = nil
            place.block.out[place.index] = false
            lanes[place.block.lane]?.giveBack(place.block)
        }
        for block in inserted {
            open[block.id] = nil
            lanes[block.lane]?.forget(block)
            places = places.filter { $0.value.block !== block }
        }
        drafts = []
        damages += takenDamages
        forgetTransaction()
    }

    /// Leases made outside of a transaction stay.
    mutating func lentForGood() { lent = [] }

    private mutating func forgetTransaction() {
        inserted.removeAll(keepingCapacity: true)
        settled.removeAll(keepingCapacity: true)
        lent.removeAll(keepingCapacity: true)
        postponed.removeAll(keepingCapacity: true)
        gone.removeAll(keepingCapacity: true)
        takenDamages = []
    }
}
