/// The deliveries of one sender and app between commit and outcome: ready, waiting for their next
/// attempt, or in flight.
///
/// A value type without clock or lock; one owner drives it.
public struct SenderQueue: Sendable {
    private struct Waiting: Sendable {
        var atUnixMs: UInt64
        var order: UInt64
        var delivery: Delivery
    }

    private let inFlightMax: Int
    private var ready: [Delivery?] = []
    private var readyStart = 0
    private var waiting = BinaryHeap<Waiting> {
        ($0.atUnixMs, $0.order) < ($1.atUnixMs, $1.order)
    }
    private var inFlight: [UInt64: Delivery] = [:]
    private var order: UInt64 = 0

    /// Makes an empty queue that lends at most `inFlightMax` deliveries at a time.
    public init(inFlightMax: Int) { self.inFlightMax = inFlightMax }

    /// Deliveries in it, whatever their state.
    public var count: Int { readyCount + waiting.count + inFlight.count }
    /// Deliveries that were leased and not settled.
    public var inFlightCount: Int { inFlight.count }
    /// Deliveries that could be leased now.
    public var readyCount: Int { ready.count - readyStart }
    /// When the next waiting delivery becomes ready, in Unix milliseconds.
    public var nextWakeUnixMs: UInt64? { waiting.first?.atUnixMs }

    /// Takes deliveries in, ready at once, behind those that are ready.
    public mutating func append(_ deliveries: some Sequence<Delivery>) {
        for delivery in deliveries { ready.append(delivery) }
    }

    /// Lends deliveries that are due.
    ///
    /// Those whose deadline has passed come back in `expired` and are gone from the queue.
    public mutating func lease(max batchMax: Int, nowUnixMs: UInt64)
        -> (batch: [Delivery], expired: [Delivery])
    {
        while let next = waiting.first, next.atUnixMs <= nowUnixMs {
            ready.append(next.delivery)
            waiting.removeFirst()
        }
        var batch: [Delivery] = []
        var expired: [Delivery] = []
        let room = Swift.min(batchMax, inFlightMax - inFlight.count)
        while batch.count < room, readyStart < ready.count {
            guard let delivery = ready[readyStart] else { break }
            ready[readyStart] = nil
            readyStart += 1
            if delivery.deadlineUnixMs != 0, delivery.deadlineUnixMs <= nowUnixMs {
                expired.append(delivery)
            } else {
                inFlight[delivery.id] = delivery
                batch.append(delivery)
            }
        }
        compact()
        return (batch, expired)
    }

    /// Puts leased deliveries back at the front, as they were: nothing was done with them.
    public mutating func giveBack(_ deliveries: [Delivery]) {
        let known = deliveries.filter { inFlight.removeValue(forKey: $0.id) != nil }
        ready.replaceSubrange(0..<readyStart, with: known.map(Optional.some))
        readyStart = 0
    }

    /// Ends the lease of a delivery; nil if it was settled before (or never leased).
    public mutating func settle(_ id: UInt64) -> Delivery? { inFlight.removeValue(forKey: id) }

    /// Takes a settled delivery in again for its next attempt.
    public mutating func retry(_ delivery: Delivery, atUnixMs: UInt64) {
        var next = delivery
        next.attempt += 1
        order += 1
        waiting.insert(Waiting(atUnixMs: atUnixMs, order: order, delivery: next))
    }

    private mutating func compact() {
        // Moved as seldom as the array doubles, so that a lease stays O(batch).
        guard readyStart > 1024, readyStart * 2 > ready.count else { return }
        ready.removeFirst(readyStart)
        readyStart = 0
    }
}
