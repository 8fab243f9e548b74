internal import SignalboxCore

/// Makes dead letters of deliveries that no lane can take.
struct Burial: Sendable {
    let context: DispatchContext

    /// Buries everything of a lane that is due now, a part at a time.
    func buryDue(_ key: LaneKey, reason: String, detail: String) {
        let now = context.clock()
        let wish = LeaseWish(max: 512, forMs: context.limits.leaseMs)
        context.store.lease(key, wish) { result in
            // After a failure the sweep finds them, and the lane is refused again.
            guard case .success(let lease) = result, !lease.deliveries.isEmpty else { return }
            var ends: [LeaseEnd] = []
            var tally = OutcomeTally()
            for delivery in lease.deliveries {
                context.record.failed(
                    delivery, reason: reason, detail: detail, wasSent: false, &tally)
                let attempt = Attempt(
                    number: delivery.attempt, unixMs: now, reason: reason, code: 0, detail: detail)
                ends.append(.dead(delivery.id, reason: reason, attempt))
            }
            context.record.count(&tally)
            let pack = tally.pack
            context.store.settle(ends, under: lease.token, outcomes: pack) { _ in
                // What could not be written is leased again when the lease has run out.
                if !pack.isEmpty { context.outcomes.wake() }
                if lease.hasMore { buryDue(key, reason: reason, detail: detail) }
            }
        }
    }
}
