public import SignalboxCore

/// Makes dead letters of deliveries that no lane can take.
public struct Burial: Sendable {
    private let world: LaneWorld

    /// Buries deliveries of this world.
    public init(_ world: LaneWorld) { self.world = world }

    /// Buries everything of a lane that is due now, a part at a time. What the store fails on is buried when the
    /// lane is asked for again.
    public func buryDue(_ key: LaneKey, reason: String, detail: String) {
        let now = world.clock.now.unixMs
        let wish = LeaseWish(max: 512, forMs: 60_000)
        world.store.lease(key, wish) { lease in
            guard let lease, !lease.deliveries.isEmpty else { return }
            let endings = lease.deliveries.map { delivery in
                var outcome = Outcome(item: delivery.id, kind: .rejected, reason: reason)
                outcome.detail = detail
                return LaneEnding(
                    delivery, .failed(reason: reason, wasSent: false), outcome, unixMs: now)
            }
            let pack = world.ledger.record(endings)
            world.store.settle(world.ledger.ends(of: endings), under: lease.token, outcomes: pack) {
                refusal in
                if refusal != nil, lease.hasMore { buryDue(key, reason: reason, detail: detail) }
            }
        }
    }
}
