internal import SignalboxCore
internal import SignalboxTables

/// Blocks that a transaction is about to write.
struct Drafts {
    private struct Key: Hashable {
        var lane: Int64
        var rank: Int64
        var due: Int64
        var owner: Int64
    }

    private struct Draft {
        var key: Key
        var writer = BlockWriter()
        var deliveries: [(index: Int, Delivery, UInt64)] = []
    }

    /// A block to be written.
    struct Block {
        var lane: Int64
        var rank: Int64
        var due: Int64
        var owner: Int64
        var bytes: [UInt8]
        var deliveries: [(index: Int, Delivery, UInt64)]
    }

    private var open: [Draft] = []
    private var full: [Block] = []

    /// Adds a delivery to the block of its lane, rank, due time and owner.
    mutating func add(
        _ delivery: Delivery, receivedUnixMs: UInt64, lane: Int64, due: Int64, owner: Int64
    ) {
        let key = Key(lane: lane, rank: delivery.rank, due: due, owner: owner)
        let index: Int
        if let known = open.firstIndex(where: { $0.key == key }) {
            index = known
        } else {
            index = open.count
            open.append(Draft(key: key))
        }
        open[index].deliveries.append((open[index].writer.ids.count, delivery, receivedUnixMs))
        open[index].writer.add(delivery, of: delivery.event, receivedUnixMs: receivedUnixMs)
        if open[index].writer.isFull { full.append(Self.block(open.remove(at: index))) }
    }

    /// All blocks.
    mutating func take() -> [Block] {
        defer { (open, full) = ([], []) }
        return full + open.map(Self.block)
    }

    private static func block(_ draft: Draft) -> Block {
        let key = draft.key
        return Block(
            lane: key.lane, rank: key.rank, due: key.due, owner: key.owner,
            bytes: draft.writer.bytes, deliveries: draft.deliveries)
    }
}

/// Rows of deliveries that a transaction is about to write.
struct DeliveryRows {
    private var numbers: [[Int64]] = Array(repeating: [], count: 10)
    private var stables: [String] = []
    private var routes: [String] = []
    private var attempts: [String] = []
    private var bodies: [[UInt8]] = []
    private var stale = StaleColumns()
    var count: Int { stables.count }

    /// With an attempt, the delivery is retried after it.
    mutating func add(
        _ delivery: Delivery, receivedUnixMs: UInt64, lane: Int64, due: Int64, owner: Int64,
        after attempt: Attempt? = nil, isFree: Bool = false
    ) {
        let row: [Int64] = [
            Int64(clamping: delivery.id), lane, delivery.rank, due, owner,
            Int64(attempt.map { $0.number + 1 } ?? delivery.attempt), isFree ? 1 : 0,
            Int64(clamping: delivery.deadlineUnixMs), Int64(clamping: receivedUnixMs),
            delivery.kind == .report ? 1 : 0,
        ]
        append(delivery, row, attempt.map { [$0] } ?? [], [])
    }

    /// Adds a delivery of a copy.
    mutating func add(_ stored: StoredDelivery, lane: Int64) {
        let delivery = stored.delivery
        let row = [
            Int64(clamping: delivery.id), lane, delivery.rank, Int64(clamping: stored.dueUnixMs), 0,
            Int64(delivery.attempt), Int64(delivery.freeAttempts),
            Int64(clamping: delivery.deadlineUnixMs), Int64(clamping: stored.receivedUnixMs),
            delivery.kind == .report ? 1 : 0,
        ]
        append(delivery, row, stored.attempts, stored.stale)
    }

    private mutating func append(
        _ delivery: Delivery, _ row: [Int64], _ tried: [Attempt], _ known: Staleness
    ) {
        for (index, number) in row.enumerated() { numbers[index].append(number) }
        stables.append(delivery.stableID)
        routes.append(delivery.route)
        attempts.append(tried.record)
        // Of a replay, the body has the time of its first life.
        bodies.append(delivery.body(receivedUnixMs: delivery.acceptedUnixMs))
        stale.add(delivery, known)
    }

    var parameters: Parameters {
        var out = Parameters()
        for column in numbers.dropLast() { out.add(column) }
        out.add(stables)
        out.add(routes)
        out.add(numbers[9])
        out.add(attempts)
        out.add(bodies)
        stale.put(into: &out)
        return out
    }
}
