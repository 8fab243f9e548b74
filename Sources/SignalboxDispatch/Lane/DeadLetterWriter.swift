public import SignalboxCore

/// Turns deliveries that no lane can take into dead letters.
public struct DeadLetterWriter: Sendable {
    private let world: LaneWorld

    /// Buries deliveries of this world.
    public init(_ world: LaneWorld) { self.world = world }

    /// Buries all due deliveries of a lane, in batches. Those the store fails on are buried when the lane is next asked
    /// for.
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
            let pack = world.outcomeSink.record(endings)
            world.store.settle(
                world.outcomeSink.ends(of: endings), under: lease.token, outcomes: pack
            ) {
                refusal in
                if refusal != nil, lease.hasMore { buryDue(key, reason: reason, detail: detail) }
            }
        }
    }
}
