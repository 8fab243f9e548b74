internal import SignalboxCore

/// A block of which this gateway holds deliveries.
///
/// Used by the writer's thread alone.
final class HeldBlock {
    let id: Int64
    let lane: Int64
    let rank: Int64
    /// Deliveries that are settled or elsewhere, as far as this gateway knows.
    var done: Marks
    /// How many others there are.
    var left: Int
    /// When the lease ends, in Unix milliseconds.
    var untilUnixMs: Int64

    init(
        id: Int64, lane: Int64, rank: Int64, done: Marks = Marks(), left: Int, untilUnixMs: Int64
    ) {
        self.id = id
        self.lane = lane
        self.rank = rank
        self.done = done
        self.left = left
        self.untilUnixMs = untilUnixMs
    }
}

/// A delivery that this gateway holds and that has no row of its own yet.
struct Held {
    var delivery: Delivery
    var receivedUnixMs: UInt64
    var block: HeldBlock
    var index: Int
}

/// What this gateway holds of blocks. Rows tell themselves who holds them.
///
/// It changes only with what was committed. What the database says counts: a statement that finds something else fails,
/// and `refresh` follows.
struct Holdings {
    private var places: [UInt64: Held] = [:]
    private var blocks: [Int64: HeldBlock] = [:]

    subscript(id: UInt64) -> Held? { places[id] }

    func block(_ id: Int64) -> HeldBlock? { blocks[id] }

    /// Takes deliveries of a block, which may be known.
    mutating func take(_ block: HeldBlock, _ deliveries: [(index: Int, Delivery, UInt64)]) {
        blocks[block.id] = block
        for (index, delivery, received) in deliveries {
            places[delivery.id] = Held(
                delivery: delivery, receivedUnixMs: received, block: block, index: index)
        }
    }

    /// A delivery left its block.
    mutating func remove(_ id: UInt64) {
        guard let held = places.removeValue(forKey: id) else { return }
        held.block.done[held.index] = true
        held.block.left -= 1
        if held.block.left <= 0 { blocks[held.block.id] = nil }
    }

    /// What the database says of a block: marks, or nil if it is another's or gone. Returns what is lost.
    mutating func refresh(_ block: HeldBlock, _ marks: Marks?) -> [UInt64] {
        var lost: [UInt64] = []
        for (id, held) in places where held.block === block {
            if let marks, !marks[held.index] { continue }
            lost.append(id)
        }
        for id in lost { places[id] = nil }
        if let marks {
            block.left -= marks.marked - block.done.marked
            block.done = marks
        } else {
            blocks[block.id] = nil
        }
        return lost
    }

    /// Forgets blocks whose leases ended long ago: whoever had their deliveries will not come back.
    mutating func forget(endedBeforeUnixMs limit: Int64) {
        let old = blocks.values.filter { $0.untilUnixMs < limit }
        guard !old.isEmpty else { return }
        for block in old { blocks[block.id] = nil }
        places = places.filter { blocks[$0.value.block.id] != nil }
    }
}
