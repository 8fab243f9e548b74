public import SignalboxCore

/// The deliveries of one sender and app that are in memory: ready or in flight, all of them leased
/// from the store. The rest waits there.
///
/// A value type without clock or lock; one owner drives it.
public struct LaneWindow: Sendable {
    private struct Fifo: Sendable {
        private var items: [Delivery?] = []
        private var start = 0

        var count: Int { items.count - start }

        mutating func append(_ delivery: Delivery) { items.append(delivery) }

        mutating func prepend(_ deliveries: [Delivery]) {
            items.replaceSubrange(0..<start, with: deliveries.map(Optional.some))
            start = 0
        }

        mutating func removeAll(where isUnwanted: (Delivery) -> Bool) {
            items = items[start...].filter { $0.map { !isUnwanted($0) } ?? false }
            start = 0
        }

        mutating func popLast() -> Delivery? {
            guard start < items.count else { return nil }
            return items.removeLast()
        }

        mutating func popFirst() -> Delivery? {
            guard start < items.count else { return nil }
            let first = items[start]
            items[start] = nil
            start += 1
            // Moved as seldom as the array doubles, so that taking stays O(1).
            if start > 1024, start * 2 > items.count {
                items.removeFirst(start)
                start = 0
            }
            return first
        }
    }

    private let countMax: Int
    /// What other gateways leave of that.
    var shareMax = Int.max
    /// High, normal, low.
    private var ready = [Fifo(), Fifo(), Fifo()]
    private enum Stage: Sendable {
        case ready
        case inFlight(Delivery)
        /// Settled here and not yet in the store: it may still lend it, which must not send it twice.
        case settling
        /// Still in flight here, and no longer held: its outcome says nothing, unless it is leased again before that.
        case lost(Delivery)
    }
    private var stages: [UInt64: Stage] = [:]
    /// What was ready when `takeStanding` was last called.
    private var standing: Set<UInt64> = []
    /// Deliveries that could be taken now.
    public private(set) var readyCount = 0
    /// Deliveries that were taken and not settled.
    public private(set) var inFlightCount = 0
    private var reserved = 0

    /// Makes an empty window.
    public init(countMax: Int) { self.countMax = countMax }

    /// Deliveries in it, whatever their state.
    public var count: Int { readyCount + inFlightCount }
    /// Nothing is in it, and no room is kept.
    public var isEmpty: Bool { count == 0 && reserved == 0 }
    /// How many more it can hold.
    public var room: Int { isAwaitingStore ? 0 : max(0, most - count - reserved) }
    private var most: Int { min(countMax, shareMax) }
    /// As many as it can hold have ended, and the store does not know of it: a restart would send them again, and more
    /// must not be added to them.
    var isAwaitingStore: Bool { stages.count - count >= countMax }

    /// Keeps room for deliveries that are being committed; the ids of those that fit.
    ///
    /// The last eighth is for high priority alone, so that it never waits behind the others.
    public mutating func reserve(_ deliveries: [Delivery]) -> Set<UInt64> {
        var taken = Set<UInt64>(minimumCapacity: min(deliveries.count, room))
        for delivery in deliveries {
            let isHigh = Self.rank(delivery) == 0
            guard room > (isHigh ? 0 : most / 8) else { continue }
            reserved += 1
            taken.insert(delivery.id)
        }
        return taken
    }

    /// Gives reserved room back: the deliveries have come, or will not come.
    public mutating func release(reserved count: Int) { reserved = max(0, reserved - count) }

    /// Takes leased deliveries in, behind those of their priority; one that is there already, since
    /// its lease ran out, is not taken twice. How many were new.
    @discardableResult
    public mutating func arrive(_ deliveries: some Sequence<Delivery>) -> Int {
        var count = 0
        for delivery in deliveries {
            switch stages.updateValue(.ready, forKey: delivery.id) {
            case nil:
                ready[Self.rank(delivery)].append(delivery)
                readyCount += 1
            case .lost(let former):
                // What is in flight already is not sent a second time.
                stages[delivery.id] = .inFlight(former)
                inFlightCount += 1
            case let before?:
                stages[delivery.id] = before
                continue
            }
            count += 1
        }
        return count
    }

    /// Takes deliveries for sending, high priority first; those whose deadline has passed come back
    /// in `expired`, settled.
    public mutating func next(
        max batchMax: Int, nowUnixMs: UInt64
    ) -> (batch: [Delivery], expired: [Delivery]) {
        var batch: [Delivery] = []
        var expired: [Delivery] = []
        for rank in 0...2 {
            while batch.count < batchMax, let delivery = ready[rank].popFirst() {
                let deadline = delivery.deadlineUnixMs
                let isExpired = deadline != 0 && deadline <= nowUnixMs
                guard take(delivery.id, isExpired ? .settling : .inFlight(delivery))
                else { continue }
                readyCount -= 1
                if isExpired {
                    expired.append(delivery)
                } else {
                    inFlightCount += 1
                    batch.append(delivery)
                }
            }
        }
        return (batch, expired)
    }

    /// Puts taken deliveries back at the front, as they were: nothing was done with them.
    public mutating func giveBack(_ deliveries: [Delivery]) {
        let known = deliveries.filter {
            guard case .inFlight = stages[$0.id] else {
                if case .lost = stages[$0.id] { stages[$0.id] = nil }
                return false
            }
            stages[$0.id] = .ready
            return true
        }
        inFlightCount -= known.count
        readyCount += known.count
        for rank in 0...2 {
            let part = known.filter { Self.rank($0) == rank }
            if !part.isEmpty { ready[rank].prepend(part) }
        }
    }

    /// Ids of the deliveries that could be taken, or were taken and not settled.
    public var heldIDs: [UInt64] {
        stages.compactMap { id, stage in
            switch stage {
            case .ready, .inFlight: id
            case .settling, .lost: nil
            }
        }
    }

    /// Stable ids of what is in flight.
    var stableIDsInFlight: Set<String> {
        stages.values.reduce(into: []) { ids, stage in
            if case .inFlight(let delivery) = stage { ids.insert(delivery.stableID) }
        }
    }

    /// What was taken and not settled.
    var deliveriesInFlight: [Delivery] {
        stages.values.compactMap { if case .inFlight(let delivery) = $0 { delivery } else { nil } }
    }

    /// Ids of the deliveries that could be taken.
    var readyIDs: [UInt64] {
        stages.compactMap { id, stage in if case .ready = stage { id } else { nil } }
    }

    /// These are held no longer; how many of them were ready or in flight.
    mutating func drop(_ ids: [UInt64]) -> Int {
        var count = 0
        for id in ids {
            switch stages[id] {
            case .ready:
                readyCount -= 1
                stages[id] = nil
            case .inFlight(let delivery):
                inFlightCount -= 1
                stages[id] = .lost(delivery)
            case .settling, .lost, nil: continue
            }
            count += 1
        }
        // They may come back with another attempt.
        for rank in 0...2 where count > 0 {
            ready[rank].removeAll { [stages] in
                if case .ready = stages[$0.id] { false } else { true }
            }
        }
        return count
    }

    /// Ends a delivery's stay; nil if it was settled before (or never taken).
    ///
    /// It is not taken in again before `committed`.
    public mutating func settle(_ id: UInt64) -> Delivery? {
        let before = stages.updateValue(.settling, forKey: id)
        guard case .inFlight(let delivery) = before else {
            if case .lost = before { stages[id] = nil } else { stages[id] = before }
            return nil
        }
        inFlightCount -= 1
        return delivery
    }

    /// Ends the stay of a delivery that is ready, as if it had been sent; whether it was.
    public mutating func withdraw(_ id: UInt64) -> Bool {
        guard take(id, .settling) else { return false }
        readyCount -= 1
        return true
    }

    // Mostly the stage is the expected one: replacing it and looking at what it was is one look-up, and `&stages[id]`
    // would allocate.

    /// False: it was withdrawn meanwhile.
    private mutating func take(_ id: UInt64, _ next: Stage) -> Bool {
        let before = stages.updateValue(next, forKey: id)
        if case .ready = before { return true }
        stages[id] = before
        return false
    }

    /// The store knows of all settlements.
    var isSettled: Bool {
        !stages.values.contains { if case .settling = $0 { true } else { false } }
    }

    /// Whether a request for it may be in flight, or its outcome is on its way to the store.
    func isUnderWay(_ id: UInt64) -> Bool {
        switch stages[id] {
        case .inFlight, .settling, .lost: true
        case .ready, nil: false
        }
    }

    /// Whether it was settled, and the store does not know of it yet.
    public func isSettling(_ id: UInt64) -> Bool {
        if case .settling = stages[id] { true } else { false }
    }

    /// The store knows of these settlements.
    public mutating func committed(_ ids: some Sequence<UInt64>) {
        for id in ids { if case .settling = stages[id] { stages[id] = nil } }
    }

    /// Puts deliveries that were taken back at the front, in the order in which they came, if they are still
    /// in flight.
    public mutating func restore(_ ids: [UInt64]) {
        giveBack(
            ids.compactMap { id in
                switch stages[id] {
                case .inFlight(let delivery), .lost(let delivery): delivery
                case .ready, .settling, nil: nil
                }
            }.sorted { $0.id < $1.id })
    }

    /// Takes out what is ready, to be given back to the store; `committed` ends its stay.
    ///
    /// With `max` only so many: of low priority before high, and the last before the first.
    public mutating func takeReady(max: Int = .max) -> [Delivery] {
        var taken: [Delivery] = []
        for rank in (0...2).reversed() {
            while taken.count < max, let delivery = ready[rank].popLast() {
                if take(delivery.id, .settling) { taken.append(delivery) }
            }
        }
        readyCount -= taken.count
        return taken.reversed()
    }

    /// Takes out what was ready at the last call and still is, as `takeReady` does.
    mutating func takeStanding() -> [Delivery] {
        guard readyCount > 0 else {
            standing = []
            return []
        }
        let now = Set(readyIDs)
        var leaving = now.intersection(standing)
        standing = now.subtracting(leaving)
        var taken: [Delivery] = []
        for rank in 0...2 where !leaving.isEmpty {
            ready[rank].removeAll { delivery in
                guard leaving.remove(delivery.id) != nil else { return false }
                taken.append(delivery)
                return true
            }
        }
        for delivery in taken { stages[delivery.id] = .settling }
        readyCount -= taken.count
        return taken
    }

    /// Empties the window; all that was in it and not settled.
    public mutating func removeAll() -> [Delivery] {
        let ready = takeReady()
        let inFlight = stages.values.compactMap { stage in
            if case .inFlight(let delivery) = stage { delivery } else { nil }
        }
        // Room that is kept for a commit stays kept until its answer comes, and so does what the store is told.
        for delivery in inFlight { stages[delivery.id] = .settling }
        stages = stages.filter { if case .settling = $0.value { true } else { false } }
        inFlightCount = 0
        return ready + inFlight.sorted { $0.id < $1.id }
    }

    private static func rank(_ delivery: Delivery) -> Int {
        switch delivery.content.notification.priority ?? .normal {
        case .high: 0
        case .normal: 1
        case .low: 2
        }
    }
}
