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

    /// Takes the database's view of blocks: the marks of those that are held. The others belong to another gateway, or
    /// are gone.
    mutating func refresh(_ asked: [HeldBlock], _ marks: [Int64: Marks]) {
        let all = Set(asked.map(ObjectIdentifier.init))
        let lost = places.filter { _, held in
            all.contains(ObjectIdentifier(held.block))
                && marks[held.block.id].map { $0[held.index] } ?? true
        }
        for id in lost.keys { places[id] = nil }
        for block in asked {
            guard let found = marks[block.id] else {
                blocks[block.id] = nil
                continue
            }
            block.left -= found.marked - block.done.marked
            block.done = found
        }
    }

    /// Blocks whose leases are over: anybody may have taken them over.
    func ended(beforeUnixMs limit: Int64) -> [HeldBlock] {
        blocks.values.filter { $0.untilUnixMs < limit }
    }
}
