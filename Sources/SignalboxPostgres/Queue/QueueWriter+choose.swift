internal import SignalboxCore

/// What a lease takes.
extension QueueWriter {
    /// Blocks of one priority that a lease looks at.
    private static let blocksMax: Int64 = 32

    /// What a lease takes, in its order.
    enum Pick {
        case row(Int64)
        case block(Int64)
        /// So many deliveries of a block, which move to a block of their own: the rest is for others.
        case part(Int64, Int)

        /// Of the row or block.
        var id: Int64 {
            switch self {
            case .row(let id), .block(let id), .part(let id, _): id
            }
        }
    }

    /// What is due of one priority, and whose it was.
    struct Due {
        var rows: [(id: Int64, owner: Int64)] = []
        var blocks: [(id: Int64, owner: Int64, left: Int)] = []
    }

    struct Choice {
        var picks: [Pick] = []
        /// How many of them another life held.
        var lost: [Int64: Int] = [:]
        /// Rows and blocks that another life held.
        var lostPicks: Set<Int64> = []
        var room: Int
        var hasMore = false
        /// There are more blocks than were looked at, and room for them.
        var isCut = false

        fileprivate mutating func take(_ due: Due, own life: Int64) {
            // A delivery with its own row was tried before. It is older and comes first.
            for (id, owner) in due.rows.prefix(room) {
                picks.append(.row(id))
                if owner != life { count(1, of: owner, id) }
            }
            if due.rows.count > room { hasMore = true }
            room -= min(room, due.rows.count)
            for (id, owner, left) in due.blocks where left > 0 {
                guard room > 0 else {
                    hasMore = true
                    break
                }
                picks.append(left <= room ? .block(id) : .part(id, room))
                if left > room { hasMore = true }
                if owner != life { count(min(room, left), of: owner, id) }
                room -= min(room, left)
            }
        }

        private mutating func count(_ count: Int, of owner: Int64, _ pick: Int64) {
            guard owner != 0 else { return }
            lost[owner, default: 0] += count
            lostPicks.insert(pick)
        }
    }

    func choose(
        _ max: Int, _ lane: Int64, _ group: Group, _ transaction: Transaction, nowUnixMs: Int64
    ) throws(TransactionFault) -> Choice {
        var out = Choice(room: max)
        for due in try dueByRank(max, lane, group, transaction, nowUnixMs: nowUnixMs) {
            out.take(due, own: life.number)
            guard due.blocks.count == Int(Self.blocksMax) else { continue }
            out.hasMore = true
            out.isCut = out.room > 0
            // Those of lower priority come after them.
            if out.isCut { break }
        }
        return out
    }

    /// By priority.
    private func dueByRank(
        _ max: Int, _ lane: Int64, _ group: Group, _ transaction: Transaction, nowUnixMs: Int64
    ) throws(TransactionFault) -> [Due] {
        var found = [Due](repeating: Due(), count: 3)
        for rank in 0..<3 {
            func values(_ limit: Int64) -> Parameters {
                let out = Parameters(
                    lane, Int64(rank), nowUnixMs, limit, grace.othersDue(nowUnixMs), life.number)
                return out
            }
            group.ask(transaction, QueueSQL.dueRows, values(Int64(max) + 1)) { rows in
                found[rank].rows = (0..<rows.count).map { (rows.number($0, 0), rows.number($0, 1)) }
            }
            group.ask(transaction, QueueSQL.dueBlocks, values(Self.blocksMax)) { rows in
                found[rank].blocks = (0..<rows.count).map {
                    // Assume a full block if the count is invalid: reading the block gives the real one.
                    (
                        rows.number($0, 0), rows.number($0, 2),
                        rows.blockCount($0, 1) ?? Marks.count
                    )
                }
            }
        }
        try group.finish(transaction)
        return found
    }

    /// One that was never tried, or else one that is not due.
    func probe(
        _ lane: Int64, _ group: Group, _ transaction: Transaction, nowUnixMs: Int64
    ) throws(TransactionFault) -> Choice {
        var found: [(row: Int64?, block: (id: Int64, count: Int)?)] = Array(
            repeating: (nil, nil), count: 3)
        for rank in 0..<3 {
            let values = Parameters(lane, Int64(rank), nowUnixMs)
            group.ask(transaction, QueueSQL.probeRow, values) {
                if $0.count > 0 { found[rank].row = $0.number(0, 0) }
            }
            group.ask(transaction, QueueSQL.probeBlock, values) {
                if $0.count > 0 {
                    found[rank].block = ($0.number(0, 0), $0.blockCount(0, 1) ?? Marks.count)
                }
            }
        }
        try group.finish(transaction)
        var out = Choice(room: 1)
        for (row, block) in found where out.picks.isEmpty {
            if let block {
                out.picks.append(block.count == 1 ? .block(block.id) : .part(block.id, 1))
            } else if let row {
                out.picks.append(.row(row))
            }
        }
        return out
    }
}
