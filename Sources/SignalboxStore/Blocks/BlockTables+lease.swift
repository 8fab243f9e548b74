internal import GRDB
internal import SignalboxCore

/// Leases of what is in blocks.
extension BlockTables {
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
            return unreadable.contains(peek.number(0))
        }
        while true {
            let isReadable = try !isNextUnreadable()
            let found: HotStatement?
            do {
                found = try row(isReadable ? .nextBlock : .peekBlock)
            } catch let error where isReadable && Self.isDamage(error) {
                // The index still has its number and the count of its deliveries.
                guard let peek = try row(.peekBlock) else { throw error }
                unreadable.insert(peek.number(0))
                peek.end()
                hasFoundDamage = true
                throw error
            }
            guard let found else { return nil }
            defer { found.end() }
            let number = found.number(0)
            lane.cursor[rank] = number
            guard open[number] == nil else { continue }
            let read = { BlockReader($0, lane: name) }
            let reader = isReadable ? found.withBytes(3, read) : .unreadable
            let stored = reader.isBroken ? min(max(0, found.number(1)), Int64(Marks.count)) : 0
            let block = OpenBlock(
                id: number, lane: id, name: name, rank: rank,
                count: max(Int(stored), reader.deliveries.count),
                marks: found.isNull(2) ? nil : found.withBytes(2) { Marks($0) })
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
                let number = peek.number(0)
                peek.end()
                guard open[number] != nil else { return true }
                lane.cursor[rank] = number
            }
        }
        return false
    }

    /// When an open block can be leased from; nil if none is open.
    func nextDue(lane: Int64) -> Int64? { lanes[lane]?.nextDue() }
}
