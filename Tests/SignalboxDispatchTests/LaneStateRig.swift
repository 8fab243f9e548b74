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
    mutating func pause(_ order: LanePause) -> LaneTodo { state.pause(order, now) }

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
    mutating func submit(_ deliveries: [Delivery]) -> LaneTodo {
        let taken = state.reserve(deliveries)
        return state.committed(
            deliveries.filter { taken.contains($0.id) }, under: token, askedMs: now.steadyMs,
            isMoreOnDisk: taken.count < deliveries.count
        ).todo
    }

    @discardableResult
    mutating func submit(_ ids: ClosedRange<UInt64>) -> LaneTodo {
        submit(ids.map { delivery($0) })
    }

    /// Runs turns until the lane is idle. Returns what it offered and what is to be done.
    mutating func run() -> (sent: [UInt64], todo: LaneTodo) {
        var sent: [UInt64] = []
        var todo = LaneTodo()
        while true {
            let turn = state.turn(now, batchMax: batchMax)
            todo.add(turn.todo)
            sent += turn.batch.map(\.id)
            if !turn.outcomes.isEmpty { todo.add(take(turn.outcomes)) }
            if turn.isLast { return (sent, todo) }
        }
    }

    /// Reports outcomes of sent deliveries.
    mutating func take(_ outcomes: [Outcome]) -> LaneTodo {
        state.take(outcomes, now, random: { 0 }, policy: { [policy] _ in policy })
    }

    mutating func take(
        _ ids: [UInt64], _ kind: Outcome.Kind, code: UInt32 = 0, reason: String = "r",
        _ change: (inout Outcome) -> Void = { _ in }
    ) -> LaneTodo {
        take(
            ids.map { id in
                var outcome = Outcome(item: id, kind: kind, reason: reason)
                outcome.providerCode = code
                change(&outcome)
                return outcome
            })
    }

    /// Reports a transport fault for these deliveries.
    mutating func fault(_ ids: [UInt64], _ fault: TransportFault) -> LaneTodo {
        var todo = state.answered([PushResult(items: ids, answer: .fault(fault))])
        todo.add(run().todo)
        return todo
    }

    /// Lets the store lease these deliveries to the lane.
    mutating func lend(
        _ ids: [UInt64], _ wish: LeaseWish?, hasMore: Bool = false, nextDueInMs: UInt64? = nil
    ) -> LaneTodo {
        var lease = StoreLease(token: token)
        lease.deliveries = ids.map { delivery($0) }
        lease.hasMore = hasMore
        lease.nextDueInMs = nextDueInMs
        return state.leased(
            lease, wish ?? LeaseWish(max: 0, forMs: 0), now)
    }

    /// Holds the lane: the provider is unreachable.
    mutating func hold(_ ids: [UInt64]) -> LaneTodo { fault(ids, .unreachable) }
}

extension LaneTodo {
    var kinds: [UInt64: LaneEnding.Kind] {
        Dictionary(endings.map { ($0.delivery.id, $0.kind) }) { $1 }
    }
}
