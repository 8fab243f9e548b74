internal import SignalboxCore

/// What the writer knows of a lane's blocks.
///
/// Used by the writer's thread alone.
final class BlockLane {
    /// Blocks with something to lend that were open before, by rank.
    var returned: [[OpenBlock]] = [[], [], []]
    /// Blocks in the file up to these ids were opened, by rank.
    var cursor: [Int64] = [0, 0, 0]
    /// Open blocks in the order in which their leases run out.
    private var leases: [(untilUnixMs: Int64, block: OpenBlock)] = []
    private var goneCount = 0

    /// A lease of something of a block.
    func lease(_ block: OpenBlock, untilUnixMs: Int64) {
        guard untilUnixMs > block.untilUnixMs else { return }
        block.untilUnixMs = untilUnixMs
        let place = leases.lastIndex { $0.untilUnixMs <= untilUnixMs }.map { $0 + 1 } ?? 0
        leases.insert((untilUnixMs, block), at: place)
    }

    /// A block has something to lend again.
    func giveBack(_ block: OpenBlock) {
        guard !block.isReturned, !block.isGone, block.hasRest else { return }
        block.isReturned = true
        returned[block.rank].append(block)
    }

    /// Takes back blocks whose leases expired.
    func expire(nowUnixMs: Int64) {
        var count = 0
        for (until, block) in leases {
            guard until <= nowUnixMs else { break }
            count += 1
            // Leased again since, so it is in the list once more.
            guard block.untilUnixMs <= nowUnixMs, !block.isGone else { continue }
            block.out = Marks()
            giveBack(block)
        }
        leases.removeFirst(count)
    }

    /// When an open block can be leased from next; nil if none is open.
    func nextDue() -> Int64? {
        let end = leases.first { !$0.block.isGone && $0.block.untilUnixMs == $0.untilUnixMs }
        let waits = returned.joined().filter { !$0.isGone && $0.hasRest }.map(\.dueUnixMs).min()
        guard let end else { return waits }
        return min(end.untilUnixMs, waits ?? .max)
    }

    /// A block is gone; entries that mention it are dropped when they come up.
    func forget(_ block: OpenBlock) {
        block.isGone = true
        if block.isReturned { returned[block.rank].removeAll { $0 === block } }
        goneCount += 1
        guard goneCount > 64, goneCount * 2 > leases.count else { return }
        leases.removeAll { $0.block.isGone }
        goneCount = 0
    }
}
