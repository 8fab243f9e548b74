public import SignalboxCore
internal import Synchronization

/// Sends the deliveries of one sender and app: lease, offer, classify, settle.
///
/// Window, breaker and connections are its own, so lanes do not affect each other. `LaneState` decides; this shell
/// calls store, carrier, outcome sink and clock. At most one worker runs a lane at a time. The lock guards the state; while
/// it is held, nothing else is called but the clock's random numbers and the outcome sink's retry policies.
public final class Lane: Sendable {
    struct Cell {
        var state: LaneState
        var waiters: [LaneWaiter] = []

        /// The waiters whose condition now holds.
        mutating func takeWaiters() -> [LaneWaiter] {
            guard !waiters.isEmpty else { return [] }
            let (isStopped, isIdle) = (state.isStopped, state.isIdle)
            func isOver(_ waiter: LaneWaiter) -> Bool {
                isStopped || isIdle && !waiter.isForEnd
            }
            defer { waiters.removeAll(where: isOver) }
            return waiters.filter(isOver)
        }
    }

    /// Unique among the lanes of the process.
    public let number: Int
    /// The sender and the app.
    public let key: LaneKey
    /// What takes its deliveries to the provider.
    public let carrier: any LaneCarrier
    private let batchMax: Int
    let world: LaneWorld
    /// The other lanes of the same instance.
    let siblings: @Sendable () -> [Lane]
    /// Lanes of the same key that a reload has replaced, and that have not ended yet.
    let predecessors: @Sendable () -> [Lane]
    /// Deliveries on disk need another lane, since this one is ending.
    let onReturned: @Sendable () -> Void
    let cell: Mutex<Cell>
    /// `LaneState.heldUntilMs`, for the threads that send.
    private let heldUntilMs = Atomic<UInt64>(0)
    /// When the current turn began, on the steady clock; 0 between turns.
    private let turnSinceMs = Atomic<UInt64>(0)
    private let sink: LaneSink

    /// Makes a lane; `carrier` makes its carrier, which reports results to the sink.
    public init(
        _ key: LaneKey, number: Int, rules: (LaneTraits) -> LaneRules, world: LaneWorld,
        paused: LanePause = LanePause(),
        siblings: @escaping @Sendable () -> [Lane],
        predecessors: @escaping @Sendable () -> [Lane],
        onReturned: @escaping @Sendable () -> Void,
        carrier make: (LaneSink) throws -> any LaneCarrier
    ) rethrows {
        let sink = LaneSink()
        self.sink = sink
        carrier = try make(sink)
        self.key = key
        self.number = number
        self.world = world
        self.siblings = siblings
        self.predecessors = predecessors
        self.onReturned = onReturned
        let rules = rules(carrier.traits)
        batchMax = rules.batchMax
        cell = Mutex(Cell(state: LaneState(rules, paused: paused)))
        sink.set(self)
    }

    /// The current time on the clock that measures its leases.
    var steadyMs: UInt64 { world.clock.now.steadyMs }
    /// Deliveries of the lane that are in memory.
    public var count: Int { locked { $0.state.count } }
    /// How long the current turn has run, in milliseconds; 0 between turns. A long one means a plugin call hangs.
    public var turnMs: UInt64 {
        let since = turnSinceMs.load(ordering: .relaxed)
        let now = steadyMs
        return since == 0 ? 0 : now - min(now, since)
    }
    /// Why only one delivery is sent at a time; nil if sending is unrestricted.
    public var hold: LaneHold? { locked { $0.state.hold } }

    /// It has no work and waits for nothing, or has overslept its alarm.
    public var isAsleep: Bool {
        let now = world.clock.now
        return locked { $0.state.isAsleep(now) }
    }

    /// How long it has been idle; nil while it has work.
    public var restedMs: UInt64? {
        let now = world.clock.now
        return locked { $0.state.restedMs(now) }
    }

    /// What it knows about the provider's claims that tokens are dead.
    var doubt: DeathDoubt {
        get { locked { $0.state.doubt } }
        set { locked { $0.state.doubt = newValue } }
    }

    // MARK: Arrivals

    /// Reserves room for deliveries that are being committed; returns those it takes at once.
    public func reserve(_ deliveries: [Delivery]) -> Set<UInt64> {
        locked { $0.state.reserve(deliveries) }
    }

    /// Deliveries are on disk: `taken` were reserved at `askedMs` of the steady clock or later; `isMoreOnDisk` says
    /// whether others wait there. False: the lane is ending, and what is on disk is for its successor.
    public func committed(
        _ taken: [Delivery], under token: LeaseToken, askedMs: UInt64, isMoreOnDisk: Bool
    ) -> Bool {
        let (isServed, effects) = change {
            $0.committed(taken, under: token, askedMs: askedMs, isMoreOnDisk: isMoreOnDisk)
        }
        perform(effects)
        return isServed
    }

    /// The commit failed, so reserved room is freed.
    public func cancelled(_ count: Int) {
        let (effects, waiters) = locked { cell in
            (cell.state.cancelled(count), cell.takeWaiters())
        }
        perform(effects)
        for waiter in waiters { waiter.resume() }
    }

    // MARK: Events

    /// Something waits on disk.
    public func backlog() { step { state, _ in state.backlog() } }

    /// The plugin may have what it waited for: a credential, or room.
    public func resume() { step { state, _ in state.resume() } }

    /// Credentials have changed: what was refused with the previous ones may be accepted now.
    public func credentialsChanged() { step { state, _ in state.credentialsChanged() } }

    /// The cause of the hold may be fixed: probes at once.
    public func tryNow() { step { state, _ in state.tryNow() } }

    /// Deliveries in flight that a cancel order matches but cannot stop.
    public func inFlight(coveredBy order: CancelOrder) -> Int {
        locked { $0.state.inFlight(coveredBy: order) }
    }

    /// Replaces all pauses and cancel orders.
    public func pause(_ order: LanePause) { step { state, now in state.pause(order, now) } }

    /// To be called every few seconds: extends leases, adjusts the share, and writes log lines whose interval is over.
    public func tend() {
        let isShared = world.store.isShared
        step { state, now in state.tended(now, isShared: isShared) }
    }

    func answered(_ results: [PushResult]) { step { state, _ in state.answered(results) } }

    func learned(_ outcomes: [Outcome]) { step { state, _ in state.learned(outcomes) } }

    // MARK: Shutdown

    /// Leases nothing more; what is in memory is still sent.
    public func drain() { locked { $0.state.drain() } }

    /// Returns unsent deliveries for the successor; requests in flight end here.
    public func leave() { step { state, now in state.leave(now) } }

    /// Waits until nothing is in memory, for at most `deadlineMs`.
    public func idle(deadlineMs: UInt64) async { await wait(isForEnd: false, ms: deadlineMs) {} }

    /// Stops and releases unsent deliveries; connections have a second to finish.
    public func stop() async {
        await carrier.shutdown(deadlineMs: 1_000)
        // A plugin that hangs is not waited for.
        await wait(isForEnd: true, ms: 1_000) { beginStop() }
        end()
    }

    /// Stops once pending results are read.
    func beginStop() { step { state, now in state.stop(now) } }

    /// Ends now.
    func end() {
        step { state, now in state.end(now) }
        sink.close()
    }

    /// Nothing is in memory, and no work is pending.
    var isIdle: Bool { locked { $0.state.isIdle } }
    /// It has ended, and the store has all its settlements.
    var isOver: Bool { locked { $0.state.isOver } }
    /// It has ended.
    var isStopped: Bool { locked { $0.state.isStopped } }

    func wait(isForEnd: Bool, ms: UInt64, _ begin: () -> Void) async {
        await withCheckedContinuation { continuation in
            let waiter = LaneWaiter(isForEnd: isForEnd, continuation)
            locked { $0.waiters.append(waiter) }
            world.clock.after(ms: ms) { waiter.resume() }
            begin()
            for waiter in locked({ $0.takeWaiters() }) { waiter.resume() }
        }
    }

    // MARK: Work

    func step(_ body: (inout LaneState, LaneTime) -> LaneEffects) {
        let now = world.clock.now
        perform(change { body(&$0, now) })
    }

    /// Debug builds check the state after each event.
    func locked<Value: Sendable>(_ body: (inout Cell) -> Value) -> Value {
        cell.withLock { cell in
            let value = body(&cell)
            assert(cell.state.violation == nil, "\(key.name): \(cell.state.violation ?? "")")
            return value
        }
    }

    /// Changes the state, and publishes the end of its leases for the sending threads.
    func change<Value: Sendable>(_ body: (inout LaneState) -> Value) -> Value {
        locked { cell in
            defer { heldUntilMs.store(cell.state.heldUntilMs, ordering: .relaxed) }
            return body(&cell.state)
        }
    }

    /// Whether the carrier may send a request: the lease of its delivery is guaranteed.
    fileprivate var maySend: Bool {
        world.clock.now.steadyMs < heldUntilMs.load(ordering: .relaxed)
    }

    /// Runs turns until one is empty.
    func run() {
        while true {
            let now = world.clock.now
            let batchMax = min(self.batchMax, carrier.batchMax ?? .max)
            var (turn, waiters) = locked { cell in
                let turn = cell.state.turn(now, batchMax: batchMax)
                return (turn, turn.isLast ? cell.takeWaiters() : [])
            }
            if !turn.isLast {
                turnSinceMs.store(now.steadyMs, ordering: .relaxed)
                work(&turn, batchMax, now)
                turnSinceMs.store(0, ordering: .relaxed)
            }
            perform(turn.effects)
            for waiter in waiters { waiter.resume() }
            if turn.isLast { return }
        }
    }

    /// Does what a turn asks for; what follows is added to its effects.
    private func work(_ turn: inout LaneTurn, _ batchMax: Int, _ now: LaneTime) {
        take(turn.outcomes, now, &turn.effects)
        if !turn.late.isEmpty {
            let outcomes = carrier.classify(turn.late)
            let clock = world.clock
            turn.effects.add(
                locked {
                    $0.state.takeLate(outcomes, now, random: { clock.random() })
                })
        }
        var start = 0
        while start < turn.responses.count {
            let end = min(turn.responses.count, start + batchMax)
            let isWhole = start == 0 && end == turn.responses.count
            let part = isWhole ? turn.responses : Array(turn.responses[start..<end])
            start = end
            var outcomes = carrier.classify(part)
            Self.note(part, in: &outcomes)
            for outcome in outcomes where outcome.reconnect {
                guard let from = part.first(where: { $0.items.contains(outcome.item) })
                else { continue }
                carrier.leave(connection: from.connection)
            }
            take(outcomes, now, &turn.effects)
        }
        guard !turn.batch.isEmpty else { return }
        world.outcomeSink.offered(turn.batch, unixMs: now.unixMs)
        switch carrier.offer(turn.batch) {
        case .taken(let settled): take(settled, now, &turn.effects)
        case .held(let first):
            let back = Array(turn.batch.dropFirst(first))
            locked {
                $0.state.heldBack(back, pauseEndings: turn.pauseEndings, now)
            }
        case .uncredentialed:
            let chance = world.clock.random()
            turn.effects.add(
                locked {
                    $0.state.uncredentialed(
                        turn.batch, pauseEndings: turn.pauseEndings, now, random: chance)
                })
        case .failed(let words, let isCredential):
            take(
                turn.batch.map {
                    LaneOffer.failure(of: $0, words: words, isCredential: isCredential)
                }, now, &turn.effects)
        }
    }

    /// Copies from the responses which payload texts were shortened.
    private static func note(_ responses: [HTTPResponse], in outcomes: inout [Outcome]) {
        for response in responses where !response.shortened.isEmpty {
            for index in outcomes.indices where response.items.contains(outcomes[index].item) {
                outcomes[index].shortened = response.shortened
            }
        }
    }

    private func take(_ outcomes: [Outcome], _ now: LaneTime, _ effects: inout LaneEffects) {
        guard !outcomes.isEmpty else { return }
        let (clock, outcomeSink) = (world.clock, world.outcomeSink)
        effects.add(
            locked {
                $0.state.take(
                    outcomes, now, random: { clock.random() },
                    policy: { outcomeSink.policy(of: $0) })
            })
    }
}

/// Where a carrier reports results to its lane; it exists before the lane.
public final class LaneSink: Sendable {
    let lane = Mutex<Lane?>(nil)

    init() {}

    /// Requests have their results.
    public func answered(_ results: [PushResult]) { lane.withLock { $0 }?.answered(results) }

    /// Outcomes from a plugin with a transport of its own.
    public func learned(_ outcomes: [Outcome]) { lane.withLock { $0 }?.learned(outcomes) }

    /// Whether a request may leave now. Carriers ask before sending a request that has waited, since the process may
    /// have been suspended meanwhile.
    public var maySend: Bool { lane.withLock { $0 }?.maySend ?? false }

    fileprivate func set(_ new: Lane) { lane.withLock { $0 = new } }

    fileprivate func close() { lane.withLock { $0 = nil } }
}

/// A task waiting until a lane is idle or stopped, or until a time-out.
final class LaneWaiter: Sendable {
    let isForEnd: Bool
    private let continuation: Mutex<CheckedContinuation<Void, Never>?>

    init(isForEnd: Bool, _ continuation: CheckedContinuation<Void, Never>) {
        self.isForEnd = isForEnd
        self.continuation = Mutex(continuation)
    }

    func resume() {
        continuation.withLock { waiting in
            defer { waiting = nil }
            return waiting
        }?.resume()
    }
}
