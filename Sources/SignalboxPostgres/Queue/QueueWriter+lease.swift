internal import SignalboxCore
internal import SignalboxTables

/// Who holds what.
extension QueueWriter {
    /// Leases deliveries of a lane.
    func lease(
        _ lane: LaneKey, _ wish: LeaseWish, _ group: Group, _ transaction: Transaction,
        nowUnixMs: Int64
    ) throws(TransactionFault) -> StoreLease {
        var out = StoreLease(token: life.token)
        guard let number = lanes[lane] else { return out }
        let until = nowUnixMs + Int64(clamping: wish.forMs)
        var isCut = true
        while isCut {
            let room = wish.max - out.deliveries.count
            let choice =
                wish.isProbe
                ? try probe(number, group, transaction, nowUnixMs: nowUnixMs)
                : try choose(room, number, group, transaction, nowUnixMs: nowUnixMs)
            isCut = choice.isCut
            out.hasMore = choice.hasMore
            for (life, count) in choice.lost {
                group.effects.append { self.takeovers.add(count, from: life) }
            }
            let taken = Taken()
            take(choice.picks, untilUnixMs: until, lane, taken, group, transaction)
            var next: Int64?
            if !choice.hasMore, !isCut {
                let values = Parameters(number)
                group.ask(transaction, QueueSQL.nextDue, values) { next = $0.optional(0, 0) }
            }
            try group.finish(transaction)
            out.stale.merge(taken.stale) { $1 }
            out.deliveries += hold(
                choice, taken, lane: number, nowUnixMs: nowUnixMs, untilUnixMs: until, group,
                transaction)
            guard let next else { continue }
            // What is due already, and was not taken, waits for its owner.
            let isLeft = next <= nowUnixMs && grace.leftMs(nowUnixMs) > 0
            out.hasMore = next <= nowUnixMs && !isLeft
            guard !out.hasMore else { continue }
            out.nextDueInMs = UInt64(isLeft ? grace.leftMs(nowUnixMs) : next - nowUnixMs)
        }
        return out
    }

    private func hold(
        _ choice: Choice, _ taken: Taken, lane: Int64, nowUnixMs: Int64, untilUnixMs: Int64,
        _ group: Group, _ transaction: Transaction
    ) -> [Delivery] {
        var out: [Delivery] = []
        var drafts = Drafts()
        var damage = Damage(lane: lane, nowUnixMs: nowUnixMs)
        for pick in choice.picks {
            let first = out.count
            defer {
                if choice.lostPicks.contains(pick.id) {
                    note(takenOver: out[first...], group, nowUnixMs: nowUnixMs)
                }
            }
            switch pick {
            case .row(let id):
                guard let delivery = taken.rows[id] else {
                    damage.rows.append(id)
                    continue
                }
                out.append(delivery)
            case .block(let id):
                guard let content = taken.blocks[id] else { continue }
                damage.add(content.damage(moving: 0))
                out += hold(content, lane: lane, untilUnixMs: untilUnixMs, group, transaction)
            case .part(let id, let count):
                guard let content = taken.blocks[id] else { continue }
                damage.add(content.damage(moving: count))
                out += split(
                    content, count, lane: lane, untilUnixMs: untilUnixMs, &drafts, group,
                    transaction)
            }
        }
        write(drafts.take(), group, transaction)
        writeOff(damage, group, transaction)
        return out
    }

    private func note(
        takenOver deliveries: ArraySlice<Delivery>, _ group: Group, nowUnixMs: Int64
    ) {
        var pack = HistoryPack()
        for delivery in deliveries where delivery.kind == .push {
            pack.add(
                HistoryStep(
                    .takenOver, eventID: delivery.eventID, delivery: delivery.id,
                    unixMs: UInt64(clamping: nowUnixMs)), of: delivery)
        }
        group.note(pack)
    }

    /// What was read of what a lease takes.
    private final class Taken {
        var rows: [Int64: Delivery] = [:]
        var stale: [UInt64: Staleness] = [:]
        var blocks: [Int64: BlockContents] = [:]
    }

    /// A block as it was read.
    private struct BlockContents {
        var id: Int64
        var done: Marks
        /// How many deliveries it should have left; nil if its row does not say.
        var count: Int?
        var reader: BlockReader

        /// How many deliveries cannot be read, and how many remain after `count` have moved; nil if it is intact.
        func damage(moving count: Int) -> (block: Int64, lost: Int, left: Int)? {
            let found = left.count
            guard self.count != found else { return nil }
            let lost = reader.isBroken ? max(0, (self.count ?? found) - found) : 0
            return (id, lost, max(0, found - count))
        }

        var left: [Int] { reader.deliveries.indices.filter { !done[$0] } }

        func held(_ indexes: [Int]) -> [(index: Int, Delivery, UInt64)] {
            indexes.map { index in
                let (delivery, content) = reader.deliveries[index]
                return (index, delivery, reader.contents[content].receivedUnixMs)
            }
        }
    }

    /// What the statements take that lease rows, or extend their leases.
    func lease(_ ids: [Int64], untilUnixMs: Int64) -> Parameters {
        let out = Parameters(life.number, untilUnixMs, ids)
        return out
    }

    private func take(
        _ picks: [Pick], untilUnixMs: Int64, _ lane: LaneKey, _ taken: Taken, _ group: Group,
        _ transaction: Transaction
    ) {
        var (rows, blocks): ([Int64], [Int64]) = ([], [])
        func read(_ found: Rows) {
            for row in 0..<found.count {
                let id = found.number(row, 0)
                taken.blocks[id] = BlockContents(
                    id: id, done: Marks(found, row, from: 1), count: found.blockCount(row, 6),
                    reader: BlockReader(found.bytes(row, 5), lane: lane))
            }
        }
        for pick in picks {
            switch pick {
            case .row(let id): rows.append(id)
            case .block(let id): blocks.append(id)
            case .part(let id, _):
                let one = Parameters(id)
                group.ask(transaction, QueueSQL.readBlock, one) { read($0) }
            }
        }
        if !rows.isEmpty {
            group.ask(transaction, QueueSQL.takeRows, lease(rows, untilUnixMs: untilUnixMs)) {
                found in
                for row in 0..<found.count {
                    let id = found.number(row, 0)
                    taken.rows[id] = Delivery(row: row, of: found, lane)
                    let stale = Staleness(stored: found.number(row, 6))
                    if !stale.isEmpty { taken.stale[UInt64(clamping: id)] = stale }
                }
            }
        }
        if !blocks.isEmpty {
            group.ask(transaction, QueueSQL.takeBlocks, lease(blocks, untilUnixMs: untilUnixMs)) {
                read($0)
            }
        }
    }

    /// Holds all that is left of a block.
    private func hold(
        _ content: BlockContents, lane: Int64, untilUnixMs: Int64, _ group: Group,
        _ transaction: Transaction
    ) -> [Delivery] {
        let held = content.held(content.left)
        guard let first = held.first else { return [] }
        let block = HeldBlock(
            id: content.id, lane: lane, rank: first.1.rank, done: content.done, left: held.count,
            untilUnixMs: untilUnixMs)
        group.effects.append { self.holdings.take(block, held) }
        return held.map(\.1)
    }

    /// Moves some deliveries of a block to a new one.
    private func split(
        _ content: BlockContents, _ count: Int, lane: Int64, untilUnixMs: Int64,
        _ drafts: inout Drafts, _ group: Group, _ transaction: Transaction
    ) -> [Delivery] {
        let held = content.held(Array(content.left.prefix(count)))
        var marks = Marks()
        for (index, delivery, received) in held {
            marks[index] = true
            drafts.add(
                delivery, receivedUnixMs: received, lane: lane, due: untilUnixMs,
                owner: life.number)
        }
        move(marks, of: content.id, transaction)
        let done = content.done.union(marks)
        group.effects.append {
            guard let block = self.holdings.block(content.id) else { return }
            // Its own lease had ended; what moved is held in the new block.
            block.left -= done.marked - block.done.marked
            block.done = done
        }
        return held.map(\.1)
    }

    private func move(_ marks: Marks, of block: Int64, _ transaction: Transaction) {
        var values = Parameters(block, Int64(marks.marked))
        for number in marks.numbers { values.add(number) }
        transaction.send(QueueSQL.moveOut, values)
    }
}

extension Delivery {
    /// From a row of `takeRows`; nil if it is damaged.
    init?(row: Int, of rows: Rows, _ lane: LaneKey, from first: Int = 0) {
        self.init(
            body: rows.bytes(row, first + 5), of: lane,
            receivedUnixMs: UInt64(clamping: rows.number(row, first + 4)),
            deadlineUnixMs: UInt64(clamping: rows.number(row, first + 3)),
            attempt: rows.number(row, first + 1), free: rows.number(row, first + 2))
    }
}
