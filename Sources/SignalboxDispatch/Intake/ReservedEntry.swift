package import SignalboxCore

/// An entry on its way into the store, with the places that lanes keep for its deliveries meanwhile.
package struct ReservedEntry: Sendable {
    /// What to store: its items say which deliveries lanes take over at commit.
    package let entry: StoreEntry
    private let reserved: [LaneReservation]

    /// Asks the lanes which deliveries they take as soon as the entry is committed; `lane` finds one that is ready.
    package init(_ given: consuming StoreEntry, lane: (LaneKey) -> Lane?) {
        var entry = given
        reserved = entry.items.indices.map { LaneReservation(&entry.items[$0], lane: lane) }
        self.entry = entry
    }

    /// Tells the lanes how the store answered. `backlog` is told of lanes that are not there and have deliveries on disk.
    package func finish(_ answer: StoreAnswer, backlog: (LaneKey) -> Void) {
        guard case .committed(let commit) = answer else {
            for reservation in reserved { reservation.cancelled() }
            return
        }
        for (index, reservation) in reserved.enumerated() {
            if commit.duplicates.contains(index) {
                reservation.cancelled()
                continue
            }
            let numbers = commit.badges[index].map { entry.items[index].badgeNumbers($0) }
            reservation.committed(under: commit.token, badges: numbers ?? [:], backlog: backlog)
        }
    }
}

/// The deliveries of an item, by lane, while the store commits it.
private struct LaneReservation: Sendable {
    private struct Part: Sendable {
        let key: LaneKey
        /// The lane that was asked. It gets the result even if a reload has replaced it meanwhile.
        let lane: Lane?
        /// The deliveries it takes at once.
        let taken: [Delivery]
        /// When it was asked, on its steady clock: the leases begin later.
        let askedMs: UInt64
        /// Other deliveries of the item wait on disk for this lane.
        let isMoreOnDisk: Bool
    }

    private let parts: [Part]

    init(_ item: inout StoreEntry.Item, lane: (LaneKey) -> Lane?) {
        var taken: Set<UInt64> = []
        parts = LaneKey.parts(of: item.deliveries).map { key, deliveries in
            guard let lane = lane(key) else {
                return Part(key: key, lane: nil, taken: [], askedMs: 0, isMoreOnDisk: true)
            }
            let due =
                item.waitsMs.isEmpty
                ? deliveries : deliveries.filter { item.waitsMs[$0.id] == nil }
            let ids = due.isEmpty ? [] : lane.reserve(due)
            if taken.isEmpty { taken = ids } else { taken.formUnion(ids) }
            let isWhole = ids.count == deliveries.count
            return Part(
                key: key, lane: lane,
                taken: isWhole ? deliveries : deliveries.filter { ids.contains($0.id) },
                askedMs: ids.isEmpty ? 0 : lane.steadyMs,
                isMoreOnDisk: !isWhole)
        }
        item.taken = taken
    }

    /// The item is on disk; `numbers` are the badges of deliveries, by id.
    func committed(
        under token: LeaseToken, badges numbers: [UInt64: Int32], backlog: (LaneKey) -> Void
    ) {
        for part in parts {
            let taken = numbers.isEmpty ? part.taken : part.taken.map { $0.with(badges: numbers) }
            let isLaneThere =
                part.lane?.committed(
                    taken, under: token, askedMs: part.askedMs, isMoreOnDisk: part.isMoreOnDisk)
                ?? false
            if !isLaneThere, part.isMoreOnDisk { backlog(part.key) }
        }
    }

    /// The item was not stored.
    func cancelled() {
        for part in parts { part.lane?.cancelled(part.taken.count) }
    }
}
