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
    /// Blocks in the file that SQLite cannot read.
    private var unreadable: Set<Int64> = []
    /// A block turned out to be damaged. SQLite allows no writes in the same transaction after that; in the next one
    /// the block is left alone.
    private var hasFoundDamage = false

    // State that a rollback restores.
    private var inserted: [OpenBlock] = []
    private var settled: [(id: UInt64, place: Place)] = []
    private var lent: [(id: UInt64, place: Place)] = []
    /// Blocks with marks that are not written yet.
    private var dirty: [OpenBlock] = []
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

    static let flightSchema = """
        CREATE TABLE flight (
          id INTEGER PRIMARY KEY, lane INTEGER NOT NULL, rank INTEGER NOT NULL,
          count INTEGER NOT NULL, bytes BLOB NOT NULL);
        """

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
                try db.execute(sql: "ALTER TABLE flight RENAME TO \(name); \(flightSchema)")
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

    private mutating func read(
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
        return select.withBlob(0) { BlockReader($0, lane: block.name) }
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

    // MARK: Lending

    /// The clock went back: what was given back waits no longer than it was told to.
    mutating func clockWentBack(byMs stepMs: Int64, nowUnixMs: Int64) {
        for block in lanes.values.flatMap({ $0.returned.joined() })
        where block.dueUnixMs > nowUnixMs {
            block.dueUnixMs = max(nowUnixMs, block.dueUnixMs - stepMs)
        }
    }

    /// Leases due deliveries of one rank, at most `max`.
    mutating func lease(
        _ name: LaneKey, lane id: Int64, rank: Int, max: Int, nowUnixMs: Int64,
        untilUnixMs: Int64, _ hot: HotStatements, _ db: Database
    ) throws -> [Delivery] {
        var out: [Delivery] = []
        let lane = blocks(of: id)
        lane.expire(nowUnixMs: nowUnixMs)
        for block in lane.returned[rank] where out.count < max && block.dueUnixMs <= nowUnixMs {
            guard let reader = try read(block, hot, db) else {
                // The row was removed.
                block.isReturned = false
                continue
            }
            if reader.isBroken { writeOff(block, from: reader.deliveries.count) }
            lend(reader, of: block, max: max - out.count, &out)
            lane.lease(block, untilUnixMs: untilUnixMs)
            block.isReturned = block.hasRest
        }
        lane.returned[rank].removeAll { !$0.isReturned }
        while out.count < max {
            guard let (block, reader) = try next(name, lane: id, rank, lane, hot, db) else { break }
            open[block.id] = block
            if reader.isBroken { writeOff(block, from: reader.deliveries.count) }
            lend(reader, of: block, max: max - out.count, &out)
            lane.lease(block, untilUnixMs: untilUnixMs)
            lane.giveBack(block)
            // Its dead letters are enough for one transaction.
            if block.isDamaged { break }
        }
        return out
    }

    /// The next block behind the cursor that is not open. The cursor moves on. What can be read says how many there are.
    private mutating func next(
        _ name: LaneKey, lane id: Int64, _ rank: Int, _ lane: BlockLane, _ hot: HotStatements,
        _ db: Database
    ) throws -> (OpenBlock, BlockReader)? {
        func row(_ name: HotStatements.Name) throws -> HotStatement? {
            let row = try hot.statement(name, db)
            row.bind(id)
            row.bind(Int64(rank))
            row.bind(lane.cursor[rank])
            return try row.step() ? row : nil
        }
        func isNextUnreadable() throws -> Bool {
            guard !unreadable.isEmpty, let peek = try row(.peekBlock) else { return false }
            defer { peek.end() }
            return unreadable.contains(peek.integer(0))
        }
        while true {
            let isReadable = try !isNextUnreadable()
            let found: HotStatement?
            do {
                found = try row(isReadable ? .nextBlock : .peekBlock)
            } catch let error where isReadable && Self.isDamage(error) {
                // The index still has its number and the count of its deliveries.
                guard let peek = try row(.peekBlock) else { throw error }
                unreadable.insert(peek.integer(0))
                peek.end()
                hasFoundDamage = true
                throw error
            }
            guard let found else { return nil }
            defer { found.end() }
            let number = found.integer(0)
            lane.cursor[rank] = number
            guard open[number] == nil else { continue }
            let read = { BlockReader($0, lane: name) }
            let reader = isReadable ? found.withBlob(3, read) : .unreadable
            let stored = reader.isBroken ? min(max(0, found.integer(1)), Int64(Marks.count)) : 0
            let block = OpenBlock(
                id: number, lane: id, name: name, rank: rank,
                count: max(Int(stored), reader.deliveries.count),
                marks: found.isNull(2) ? nil : found.withBlob(2) { Marks($0) })
            block.isDamaged = !isReadable
            return (block, reader)
        }
    }

    /// The unreadable part of a block, from this index on, counts as settled, except what is leased.
    private mutating func writeOff(_ block: OpenBlock, from first: Int) {
        let lost = (min(first, block.count)..<block.count).filter {
            !block.done[$0] && !block.out[$0]
        }
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
