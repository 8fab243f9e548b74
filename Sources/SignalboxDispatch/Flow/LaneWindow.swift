public import SignalboxCore

/// The deliveries of one sender and app that are in memory, ready or in flight, all of them leased from the store. The
/// rest stays in the store.
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
            // Only once half the array is empty, so that taking stays amortised O(1).
            if start > 1024, start * 2 > items.count {
                items.removeFirst(start)
                start = 0
            }
            return first
        }
    }

    let countMax: Int
    /// The lane's share of that limit while other gateways use the store.
    var shareMax = Int.max
    /// High, normal, low.
    private var ready = [Fifo(), Fifo(), Fifo()]
    enum Stage: Sendable {
        case ready
        case inFlight(Delivery)
        /// Settled here but not yet in the store, which may lend it again: it must not be sent twice.
        case settling
        /// In flight, but its lease is lost: its outcome does not count unless it is leased again first.
        case lost(Delivery)
    }
    private(set) var stages: [UInt64: Stage] = [:]
    /// What was ready at the previous call of `takeStanding`.
    private var standing: Set<UInt64> = []
    /// Deliveries that could be taken now.
    public private(set) var readyCount = 0
    /// Deliveries that were taken and are not settled.
    public private(set) var inFlightCount = 0
    private var reserved = 0

    /// Makes an empty window.
    public init(countMax: Int) { self.countMax = countMax }

    /// Deliveries in it, whatever their state.
    public var count: Int { readyCount + inFlightCount }
    /// Nothing is in it, and no room is reserved.
    public var isEmpty: Bool { count == 0 && reserved == 0 }
    /// How many more it can hold.
    public var room: Int { isAwaitingStore ? 0 : max(0, most - count - reserved) }
    private var most: Int { min(countMax, shareMax) }
    /// The store has not yet confirmed as many ended deliveries as the window may hold. A restart would send these
    /// again, so nothing may be added to them.
    var isAwaitingStore: Bool { stages.count - count >= countMax }

    /// Reserves room for deliveries that are being committed; returns the ids of those that fit.
    ///
    /// The last eighth is for high priority alone, so that it never waits behind lower priorities.
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

    /// Frees reserved room: the deliveries have arrived, or never will.
    public mutating func release(reserved count: Int) { reserved = max(0, reserved - count) }

    /// Adds leased deliveries behind others of their priority. One that is already here, leased again because its lease
    /// ran out, is not added twice. Returns how many were new.
    @discardableResult
    public mutating func arrive(_ deliveries: some Sequence<Delivery>) -> Int {
        var count = 0
        for delivery in deliveries {
            switch stages.updateValue(.ready, forKey: delivery.id) {
            case nil:
                ready[Self.rank(delivery)].append(delivery)
                readyCount += 1
            case .lost(let former):
                // Already in flight: it must not be sent a second time.
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

    /// Takes deliveries for sending, high priority first; those past their deadline are settled and returned in
    /// `expired`.
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

    /// Puts taken deliveries back at the front: they were not sent.
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

    /// Ids of deliveries that are ready or in flight.
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

    /// Deliveries that were taken and are not settled.
    var deliveriesInFlight: [Delivery] {
        stages.values.compactMap { if case .inFlight(let delivery) = $0 { delivery } else { nil } }
    }

    /// Ids of the deliveries that could be taken.
    var readyIDs: [UInt64] {
        stages.compactMap { id, stage in if case .ready = stage { id } else { nil } }
    }

    /// Drops deliveries whose leases are lost; returns how many were ready or in flight.
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
        // Stale copies must go: a dropped delivery may be leased again with a higher attempt number.
        for rank in 0...2 where count > 0 {
            ready[rank].removeAll { [stages] in
                if case .ready = stages[$0.id] { false } else { true }
            }
        }
        return count
    }

    /// Ends a delivery's stay; nil if it was already settled or never taken.
    ///
    /// It cannot be added again before `committed`.
    public mutating func settle(_ id: UInt64) -> Delivery? {
        let before = stages.updateValue(.settling, forKey: id)
        guard case .inFlight(let delivery) = before else {
            if case .lost = before { stages[id] = nil } else { stages[id] = before }
            return nil
        }
        inFlightCount -= 1
        return delivery
    }

    /// Ends the stay of a ready delivery without sending it; false if it was not ready.
    public mutating func withdraw(_ id: UInt64) -> Bool {
        guard take(id, .settling) else { return false }
        readyCount -= 1
        return true
    }

    // Usually the stage is the expected one: replacing it and checking the old value is one look-up, and `&stages[id]`
    // would allocate.

    /// False if it was withdrawn meanwhile.
    private mutating func take(_ id: UInt64, _ next: Stage) -> Bool {
        let before = stages.updateValue(next, forKey: id)
        if case .ready = before { return true }
        stages[id] = before
        return false
    }

    /// The store has confirmed all settlements.
    var isSettled: Bool {
        !stages.values.contains { if case .settling = $0 { true } else { false } }
    }

    /// Whether a request for it may be in flight, or its outcome is not in the store yet.
    func isUnderWay(_ id: UInt64) -> Bool {
        switch stages[id] {
        case .inFlight, .settling, .lost: true
        case .ready, nil: false
        }
    }

    /// Whether it is settled but the store has not confirmed it.
    public func isSettling(_ id: UInt64) -> Bool {
        if case .settling = stages[id] { true } else { false }
    }

    /// The store has confirmed these settlements.
    public mutating func committed(_ ids: some Sequence<UInt64>) {
        for id in ids { if case .settling = stages[id] { stages[id] = nil } }
    }

    /// Puts taken deliveries that are still in flight back at the front, in their original order.
    public mutating func restore(_ ids: [UInt64]) {
        giveBack(
            ids.compactMap { id in
                switch stages[id] {
                case .inFlight(let delivery), .lost(let delivery): delivery
                case .ready, .settling, nil: nil
                }
            }.sorted { $0.id < $1.id })
    }

    /// Takes out ready deliveries to be returned to the store; `committed` ends their stay.
    ///
    /// At most `max`: low priority before high, newest first.
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

    /// Takes out what was already ready at the previous call, as `takeReady` does.
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

    /// Empties the window; returns all that was not settled.
    public mutating func removeAll() -> [Delivery] {
        let ready = takeReady()
        let inFlight = stages.values.compactMap { stage in
            if case .inFlight(let delivery) = stage { delivery } else { nil }
        }
        // Reserved room and unconfirmed settlements stay until the store answers.
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
