import SignalboxCore

@testable import SignalboxDispatch

/// A lane's state with a clock that the test moves.
struct LaneStateRig {
    var state: LaneState
    var now = LaneTime(unixMs: 1_000_000, steadyMs: 1_000)
    var policy = RetryPolicy.standard
    /// The token of the store's leases.
    var token = LeaseToken(owner: "me", epoch: 1)

    let batchMax: Int?

    init(
        inMemoryMax: Int = 64, batchMax: Int? = nil, _ change: (inout LaneTraits) -> Void = { _ in }
    ) {
        var traits = LaneTraits()
        change(&traits)
        self.batchMax = batchMax
        var rules = LaneRules(traits)
        rules.inMemoryMax = inMemoryMax
        state = LaneState(rules)
    }

    /// Operators have paused this, and nothing else.
    mutating func pause(_ order: LanePause) -> LaneEffects { state.pause(order, now) }

    mutating func wait(ms: UInt64) {
        now.unixMs += ms
        now.steadyMs += ms
    }

    /// Waits while the store extends the leases.
    mutating func waitWithLeases(ms: UInt64) {
        var left = ms
        while left > 0 {
            let step = min(left, 10_000)
            left -= step
            wait(ms: step)
            guard let wish = state.tended(now).extension else { continue }
            _ = state.extended(wish, LeaseRefusal(), now)
        }
    }

    /// Submits the deliveries of an event, which the lane takes over.
    @discardableResult
    mutating func submit(_ deliveries: [Delivery]) -> LaneEffects {
        let taken = state.reserve(deliveries)
        return state.committed(
            deliveries.filter { taken.contains($0.id) }, under: token, askedMs: now.steadyMs,
            isMoreOnDisk: taken.count < deliveries.count
        ).effects
    }

    @discardableResult
    mutating func submit(_ ids: ClosedRange<UInt64>) -> LaneEffects {
        submit(ids.map { delivery($0) })
    }

    /// Runs turns until the lane is idle. Returns what it offered and what is to be done.
    mutating func run() -> (sent: [UInt64], effects: LaneEffects) {
        var sent: [UInt64] = []
        var effects = LaneEffects()
        while true {
            let turn = state.turn(now, batchMax: batchMax)
            effects.add(turn.effects)
            sent += turn.batch.map(\.id)
            if !turn.outcomes.isEmpty { effects.add(take(turn.outcomes)) }
            if turn.isLast { return (sent, effects) }
        }
    }

    /// Reports outcomes of sent deliveries.
    mutating func take(_ outcomes: [Outcome]) -> LaneEffects {
        state.take(outcomes, now, random: { 0 }, policy: { [policy] _ in policy })
    }

    mutating func take(
        _ ids: [UInt64], _ kind: Outcome.Kind, code: UInt32 = 0, reason: String = "r",
        _ change: (inout Outcome) -> Void = { _ in }
    ) -> LaneEffects {
        take(
            ids.map { id in
                var outcome = Outcome(item: id, kind: kind, reason: reason)
                outcome.providerCode = code
                change(&outcome)
                return outcome
            })
    }

    /// Reports a transport fault for these deliveries.
    mutating func fault(_ ids: [UInt64], _ fault: TransportFault) -> LaneEffects {
        var effects = state.answered([PushResult(items: ids, fault: fault)])
        effects.add(run().effects)
        return effects
    }

    /// Lets the store lease these deliveries to the lane.
    mutating func lend(
        _ ids: [UInt64], _ wish: LeaseWish?, hasMore: Bool = false, nextDueInMs: UInt64? = nil
    ) -> LaneEffects {
        var lease = StoreLease(token: token)
        lease.deliveries = ids.map { delivery($0) }
        lease.hasMore = hasMore
        lease.nextDueInMs = nextDueInMs
        return state.leased(
            lease, wish ?? LeaseWish(max: 0, forMs: 0), now)
    }

    /// Holds the lane: the provider is unreachable.
    mutating func hold(_ ids: [UInt64]) -> LaneEffects { fault(ids, .unreachable) }
}

extension LaneEffects {
    var kinds: [UInt64: LaneEnding.Kind] {
        Dictionary(endings.map { ($0.delivery.id, $0.kind) }) { $1 }
    }
}
