public import SignalboxCore

extension LaneTable {
    /// Asks the lanes which deliveries of an item they take as soon as it is committed.
    public func reserve(_ item: inout StoreEntry.Item) -> LaneReservation {
        var taken: Set<UInt64> = []
        let parts = LaneKey.parts(of: item.deliveries).map { key, deliveries in
            guard let lane = lane(key) else {
                return LaneReservation.Part(
                    key: key, lane: nil, taken: [], askedMs: 0, isMoreOnDisk: true)
            }
            let due =
                item.waitsMs.isEmpty
                ? deliveries : deliveries.filter { item.waitsMs[$0.id] == nil }
            let ids = due.isEmpty ? [] : lane.reserve(due)
            if taken.isEmpty { taken = ids } else { taken.formUnion(ids) }
            let isWhole = ids.count == deliveries.count
            return LaneReservation.Part(
                key: key, lane: lane,
                taken: isWhole ? deliveries : deliveries.filter { ids.contains($0.id) },
                askedMs: ids.isEmpty ? 0 : lane.steadyMs,
                isMoreOnDisk: !isWhole)
        }
        item.taken = taken
        return LaneReservation(parts: parts)
    }
}

/// The deliveries of an item, by lane, while the store commits it.
public struct LaneReservation: Sendable {
    struct Part: Sendable {
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

    let parts: [Part]

    /// The item is on disk; `numbers` are the badges of deliveries, by id.
    public func committed(
        under token: LeaseToken, badges numbers: [UInt64: Int32], in lanes: LaneTable
    ) {
        for part in parts {
            let taken = numbers.isEmpty ? part.taken : part.taken.map { $0.with(badges: numbers) }
            let isLaneThere =
                part.lane?.committed(
                    taken, under: token, askedMs: part.askedMs, isMoreOnDisk: part.isMoreOnDisk)
                ?? false
            if !isLaneThere, part.isMoreOnDisk { lanes.backlog(part.key) }
        }
    }

    /// The item was not stored.
    public func cancelled() {
        for part in parts { part.lane?.cancelled(part.taken.count) }
    }
}
