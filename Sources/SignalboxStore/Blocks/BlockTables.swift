internal import GRDB
internal import SignalboxCore

/// New deliveries, stored in blocks: most are settled without ever needing a row of their own.
///
/// A block is written once, and removed when all of it is settled; in between a small row of marks
/// says what is settled. Leases are kept in memory only, since they end with the process.
///
/// A block that a lane takes over when it is committed goes into the table `flight`, which has no index: nothing
/// searches it before the next start, so its row is written and removed at the cost of one page each.
struct BlockTables {
    /// The place of a leased delivery.
    struct Place {
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

    var open: [Int64: OpenBlock] = [:]
    var places: [UInt64: Place] = [:]
    var lanes: [Int64: BlockLane] = [:]
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
    var damages: [Damage] = []
    /// Damage reported in this transaction.
    private var takenDamages: [Damage] = []
    /// Blocks in the file that SQLite cannot read.
    var unreadable: Set<Int64> = []
    /// A block turned out to be damaged. SQLite allows no writes in the same transaction after that; in the next one
    /// the block is left alone.
    var hasFoundDamage = false

    // State that a rollback restores.
    private var inserted: [OpenBlock] = []
    private var settled: [(id: UInt64, place: Place)] = []
    var lent: [(id: UInt64, place: Place)] = []
    /// Blocks with marks that are not written yet.
    var dirty: [OpenBlock] = []
    private var postponed: [OpenBlock] = []
    private var gone: [OpenBlock] = []

    /// Whether damage was found since the last call.
    mutating func takeFoundDamage() -> Bool {
        defer { hasFoundDamage = false }
        return hasFoundDamage
    }

    mutating func takeDamages() -> [Damage] {
        defer { damages = [] }
        takenDamages += damages
        return damages
    }

    // MARK: The start

    /// Puts the blocks that the previous process had taken over where lanes find them.
    ///
    /// If they cannot be read, their table stays in the file for a repair, under the name that is returned.
    static func takeBack(_ queue: DatabaseQueue) throws -> String? {
        let columns = "id, lane, rank, count, bytes"
        do {
            try queue.write { db in
                try db.execute(
                    sql: """
                        INSERT INTO block (\(columns)) SELECT \(columns) FROM flight;
                        DELETE FROM flight;
                        """)
            }
            return nil
        } catch let error where isDamage(error) {
            return try queue.write { db in
                let names = "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'flight%'"
                let name = "flight_damaged_\(try Int.fetchOne(db, sql: names) ?? 1)"
                try db.execute(sql: "ALTER TABLE flight RENAME TO \(name); \(Schema.flight)")
                return name
            }
        }
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
        for index in drafts.indices { try write(drafts[index], hot, &nextID, db) }
        drafts.removeAll(keepingCapacity: true)
    }

    private mutating func write(
        _ draft: Draft, _ hot: HotStatements, _ nextID: inout UInt64, _ db: Database
    ) throws {
        nextID += 1
        let id = Int64(clamping: nextID)
        let key = draft.key
        let ids = draft.writer.ids
        let insert = try hot.statement(key.isTaken ? .insertFlight : .insertBlock, db)
        insert.bind(id)
        insert.bind(key.lane)
        insert.bind(Int64(key.rank))
        insert.bind(Int64(ids.count))
        try insert.run(last: draft.writer.bytes)
        guard key.isTaken else { return }
        let block = OpenBlock(
            id: id, lane: key.lane, name: draft.name, rank: key.rank, count: ids.count,
            isInFlight: true)
        open[id] = block
        inserted.append(block)
        for (index, delivery) in ids.enumerated() {
            block.out[index] = true
            places[delivery] = Place(block: block, index: index)
        }
        blocks(of: key.lane).lease(block, untilUnixMs: draft.untilUnixMs)
    }

    mutating func blocks(of lane: Int64) -> BlockLane {
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
    mutating func find(
        _ id: UInt64, cache: inout [Int64: BlockReader], _ hot: HotStatements, _ db: Database
    ) throws -> Found? {
        guard let place = places[id] else { return nil }
        let block = place.block
        if cache[block.id] == nil { cache[block.id] = try read(block, hot, db) }
        guard let reader = cache[block.id], reader.deliveries.indices.contains(place.index) else {
            return nil
        }
        let (delivery, content) = reader.deliveries[place.index]
        return Found(
            delivery: delivery, content: reader.contents[content], rank: block.rank,
            lane: block.lane, source: [block.id, Int64(content)])
    }

    mutating func read(
        _ block: OpenBlock, _ hot: HotStatements, _ db: Database
    ) throws -> BlockReader? {
        if block.isDamaged { return .unreadable }
        let select = try hot.statement(block.isInFlight ? .readFlight : .readBlock, db)
        select.bind(block.id)
        do {
            guard try select.step() else { return nil }
        } catch let error where Self.isDamage(error) {
            throw found(error, in: block)
        }
        defer { select.end() }
        return select.withBytes(0) { BlockReader($0, lane: block.name) }
    }

    private mutating func found(_ damage: any Error, in block: OpenBlock) -> any Error {
        block.isDamaged = true
        hasFoundDamage = true
        return damage
    }

    /// Writes the marks of settled deliveries; with `isShortOfRoom` only those that free room.
    ///
    /// Returns blocks that are done and stay in the file.
    mutating func note(
        isShortOfRoom: Bool, _ hot: HotStatements, _ db: Database
    ) throws -> [Int64] {
        var kept: [Int64] = []
        for block in dirty where !block.isGone {
            if block.isDone {
                if block.isDamaged {
                    try writeMarks(of: block, hot, db)
                    kept.append(block.id)
                } else {
                    try remove(block, hot, db)
                }
                gone.append(block)
            } else if isShortOfRoom {
                postponed.append(block)
            } else {
                try writeMarks(of: block, hot, db)
            }
        }
        return kept
    }

    private func writeMarks(
        of block: OpenBlock, _ hot: HotStatements, _ db: Database
    ) throws {
        let note = try hot.statement(.noteProgress, db)
        note.bind(block.id)
        try note.run(last: block.done.bytes)
        block.hasProgress = true
    }

    /// A damaged block stays, with its marks: what is done must not be sent again after a restart.
    private mutating func remove(
        _ block: OpenBlock, _ hot: HotStatements, _ db: Database
    ) throws {
        do {
            let remove = try hot.statement(
                block.isInFlight ? .removeFlight : .removeBlock, db)
            remove.bind(block.id)
            try remove.run()
        } catch let error where Self.isDamage(error) {
            throw found(error, in: block)
        }
        guard block.hasProgress else { return }
        let remove = try hot.statement(.removeProgress, db)
        remove.bind(block.id)
        try remove.run()
    }

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
        drafts.removeAll()
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
