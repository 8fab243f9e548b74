internal import Logging
internal import SignalboxCore
internal import SignalboxHTTP
internal import SignalboxPluginHost
internal import SignalboxThreads
internal import Synchronization

/// Deliveries of one sender and app on their way: lease, prepare, send, classify, settle.
///
/// Own window, own breaker, own connections: nothing that happens to another lane shows here. At most
/// one worker runs a lane at a time; the lock guards the hand-over between threads and is never held
/// while a plugin or the store is called.
final class SenderLane: Sendable {
    struct State: Sendable {
        var window: LaneWindow
        var health: LaneHealth
        var results: [PushResult] = []
        /// Deliveries whose last attempt timed out, whose answer may still come.
        var overdue: [UInt64: Delivery] = [:]
        /// From a plugin with a transport of its own.
        var outcomes: [Outcome] = []
        var isScheduled = false
        /// The plugin said "again": nothing is offered until a credential, or room, is there.
        var isHeld = false
        /// How often the plugin said that what it waits for is there.
        var resumed = 0
        /// More waits on disk and is due.
        var hasBacklog = false
        var isLeasing = false
        /// When the next delivery on disk is due, in Unix milliseconds.
        var nextDueUnixMs: UInt64?
        /// What was taken back; its older pushes are not sent any more.
        var withdrawals = Withdrawals()
        /// Under which everything in the window is held.
        var token: LeaseToken?
        /// When the leases were made to last longer, in Unix milliseconds.
        var extendedUnixMs: UInt64 = 0
        /// Since when it is held, in Unix milliseconds, and the reason of the outcome that did it.
        var held: (sinceUnixMs: UInt64, reason: String)?
        /// Nothing new is leased; what is in memory is still sent.
        var isDraining = false
        var isStopped = false
    }

    let number: Int
    let key: LaneKey
    let instance: any HostedInstance
    let carrier: LaneCarrier
    let isAtMostOnce: Bool
    /// How long a delivery whose request timed out waits at least for its late answer.
    let lateAnswerMs: UInt64
    let context: DispatchContext
    /// Something was given back to the disk after the lane's end.
    private let onReleased: @Sendable () -> Void
    /// The other lanes of the same instance.
    let siblings: @Sendable () -> [SenderLane]
    let state: Mutex<State>

    /// A lane of a plugin that has a transport of its own.
    init(
        number: Int, instance: any HostedInstance, role: any Sending, key: LaneKey,
        context: DispatchContext, siblings: @escaping @Sendable () -> [SenderLane],
        onReleased: @escaping @Sendable () -> Void
    ) {
        self.onReleased = onReleased
        self.siblings = siblings
        self.number = number
        self.key = key
        self.instance = instance
        self.context = context
        carrier = .own(role)
        isAtMostOnce = false
        lateAnswerMs = 0
        // It says itself how much it takes.
        state = Mutex(Self.fresh(context.limits, startsSlowly: false))
    }

    /// A lane of a plugin whose requests the gateway carries: by the REST client if there is one here,
    /// else by the push engine.
    init(
        number: Int, instance: any HostedInstance, role: any Translating, key: LaneKey,
        endpoint: SendEndpoint, context: DispatchContext, rest: RESTClient? = nil,
        siblings: @escaping @Sendable () -> [SenderLane],
        onReleased: @escaping @Sendable () -> Void
    ) throws {
        self.onReleased = onReleased
        self.siblings = siblings
        self.number = number
        self.key = key
        self.instance = instance
        self.context = context
        isAtMostOnce = endpoint.isAtMostOnce
        // Half as long again as it had.
        lateAnswerMs = rest == nil ? UInt64(max(0, endpoint.requestTimeoutMs)) / 2 : 0
        state = Mutex(Self.fresh(context.limits, startsSlowly: true))
        let mail = LaneMail()
        let name = instance.name
        let logger = context.logger
        let metrics = context.metrics
        if let rest {
            carrier = .requests(
                role,
                RESTTransport(
                    client: rest, endpoint: endpoint, onResults: { mail.lane?.receive($0) }))
            mail.set(self)
            return
        }
        let pool = try context.engine.makePool(
            endpoint: try endpoint.pushEndpoint(),
            onResults: { mail.lane?.receive($0) },
            onEvent: { event in
                metrics.connectionEvent(sender: name, kind: event.kind.rawValue)
                logger.log(
                    level: event.isFault ? .warning : .debug, "push connection",
                    metadata: [
                        "plugin.instance": "\(name)", "event": "\(event.kind.rawValue)",
                        "detail": "\(event.text)",
                    ])
            })
        carrier = .requests(role, pool)
        mail.set(self)
    }

    private static func fresh(_ limits: Limits, startsSlowly: Bool) -> State {
        let most = limits.deliveriesInMemoryMax
        return State(
            window: LaneWindow(countMax: most),
            health: LaneHealth(inFlightMax: most, startsSlowly: startsSlowly))
    }

    /// Deliveries of the lane that are in memory.
    var count: Int { state.withLock { $0.window.count } }

    /// Why nothing is sent but one delivery at a time, and since when; nil: everything is sent.
    var held: (cause: Breaker.Cause, sinceUnixMs: UInt64, reason: String)? {
        state.withLock { state in
            guard let cause = state.health.breaker.cause else { return nil }
            return (cause, state.held?.sinceUnixMs ?? 0, state.held?.reason ?? "")
        }
    }

    /// The pool's state, for readiness.
    func status() async -> PushPoolStatus { await carrier.transport?.status() ?? .idle }

    // MARK: Deliveries come

    /// Keeps room for deliveries that are being committed; those that it will take over at once.
    func reserve(_ deliveries: [Delivery]) -> Set<UInt64> {
        state.withLock { state in
            // What waits on disk is older, and goes first.
            guard !state.hasBacklog, !state.isLeasing, !state.isDraining,
                !state.health.breaker.isOpen
            else { return [] }
            return state.window.reserve(deliveries)
        }
    }

    /// Deliveries are on disk: these were reserved, and others wait there or not. False: the lane is on
    /// its way out, and what waits on disk is for its successor.
    func committed(_ taken: [Delivery], under token: LeaseToken, isMoreOnDisk: Bool) -> Bool {
        let (count, isStopped, isDraining) = state.withLock { state in
            state.window.release(reserved: taken.count)
            if isMoreOnDisk { state.hasBacklog = true }
            let count = state.isStopped ? 0 : state.hold(taken, under: token)
            return (count, state.isStopped, state.isDraining)
        }
        context.inMemory.adjust(by: count)
        kick()
        if isStopped, !taken.isEmpty { giveBack(taken, under: token) }
        return !isDraining && !isStopped
    }

    /// Deliveries were not committed after all.
    func cancelled(_ count: Int) { state.withLock { $0.window.release(reserved: count) } }

    /// Something waits on disk.
    func backlog() {
        state.withLock { $0.hasBacklog = true }
        kick()
    }

    /// What the plugin was waiting for may be there now: a credential, or room.
    func resume() {
        state.withLock { state in
            state.isHeld = false
            state.resumed += 1
        }
        kick()
    }

    /// Credentials are new: what was refused with the previous ones may be taken now.
    func credentialsChanged() {
        state.withLock { state in
            if state.health.breaker.cause == .misconfigured { state.health.tryNow() }
        }
        resume()
    }

    /// The plugin's secrets have changed: connections to come log in with the new ones.
    func renew(_ endpoint: SendEndpoint) throws {
        try carrier.transport?.renew(endpoint)
        credentialsChanged()
    }

    /// It neither works nor waits for anything, or has missed its time.
    func isAsleep(nowUnixMs: UInt64) -> Bool {
        state.withLock { state in
            guard state.window.isEmpty, !state.isLeasing, !state.isScheduled, !state.isHeld
            else { return false }
            if case .none = state.health.breaker.permission(nowUnixMs: nowUnixMs) { return false }
            return (state.nextDueUnixMs ?? 0) <= nowUnixMs
        }
    }

    // MARK: The end

    /// Leases nothing more; what is in memory is still sent.
    func drain() { state.withLock { $0.isDraining = true } }

    /// Nothing is in memory, and nothing is on its way here.
    var isIdle: Bool {
        state.withLock { state in
            state.window.isEmpty && !state.isLeasing && !state.isScheduled
        }
    }

    /// Gives the connections up, and what is in memory back to the disk.
    func stop(deadlineMs: Int) async {
        await carrier.transport?.shutdown(deadlineMs: deadlineMs)
        let (left, token) = state.withLock { state in
            state.isStopped = true
            return (state.window.removeAll(), state.token)
        }
        context.inMemory.adjust(by: -left.count)
        if let token, !left.isEmpty { end(left.map { .released($0) }, under: token) }
    }

    // MARK: Work

    private func receive(_ outcomes: [Outcome]) {
        state.withLock { $0.outcomes.append(contentsOf: outcomes) }
        kick()
    }

    private func receive(_ results: [PushResult]) {
        state.withLock { $0.results.append(contentsOf: results) }
        kick()
    }

    func kick() {
        let isMine = state.withLock { state in
            guard !state.isScheduled, !state.isStopped else { return false }
            state.isScheduled = true
            return true
        }
        // Bounded: one job per lane.
        if isMine { context.workers.submitBounded { self.run() } }
    }

    private struct Work {
        var results: [PushResult]
        var outcomes: [Outcome]
        var taken: Taken

        var isEmpty: Bool { results.isEmpty && outcomes.isEmpty && taken.isEmpty }
    }

    /// What a turn takes out of the window.
    private struct Taken {
        var batch: [Delivery] = []
        var expired: [Delivery] = []
        /// Taken back before they were sent.
        var withdrawn: [Delivery] = []

        var isEmpty: Bool { batch.isEmpty && expired.isEmpty && withdrawn.isEmpty }
    }

    /// What comes of one turn, to be told together.
    struct Turn {
        var ends: [LeaseEnd] = []
        var tally = OutcomeTally()
    }

    /// Works until there is nothing to do now.
    private func run() {
        while true {
            let batchMax = min(context.limits.batchMax, carrier.maxBatch ?? Int.max)
            let now = context.clock()
            let work = state.withLock { state -> Work in
                let (results, outcomes) = (state.results, state.outcomes)
                state.results = []
                state.outcomes = []
                let taken = Self.take(&state, batchMax: batchMax, nowUnixMs: now)
                let work = Work(results: results, outcomes: outcomes, taken: taken)
                if work.isEmpty { state.isScheduled = false }
                return work
            }
            var turn = Turn()
            for delivery in work.taken.expired { expire(delivery, &turn) }
            if !work.taken.withdrawn.isEmpty { takeBack(work.taken.withdrawn, &turn) }
            if !work.results.isEmpty { classify(work.results, batchMax, &turn) }
            decide(work.outcomes, &turn)
            if !work.taken.batch.isEmpty { offer(work.taken.batch, &turn) }
            if !turn.ends.isEmpty {
                context.record.count(&turn.tally)
                settle(turn.ends, turn.tally.pack)
            }
            if work.isEmpty { break }
        }
        refill()
        setAlarm()
    }

    private static func take(_ state: inout State, batchMax: Int, nowUnixMs: UInt64) -> Taken {
        guard !state.isHeld else { return Taken() }
        var isProbe = false
        var most = batchMax
        switch state.health.breaker.permission(nowUnixMs: nowUnixMs) {
        case .all:
            most = min(most, state.health.room(inFlight: state.window.inFlightCount))
        case .none: return Taken()
        case .probe:
            isProbe = true
            most = 1
        }
        let next = state.window.next(max: most, nowUnixMs: nowUnixMs)
        var taken = Taken(batch: next.batch, expired: next.expired)
        taken.withdrawn = state.withdrawals.takeCovered(from: &taken.batch)
        if isProbe, let first = taken.batch.first { state.health.probe(first.id) }
        return taken
    }

    /// Settles what was taken back while it waited: nobody is to see it, and nothing has failed.
    private func takeBack(_ deliveries: [Delivery], _ turn: inout Turn) {
        state.withLock { state in
            for delivery in deliveries { _ = state.window.settle(delivery.id) }
        }
        for delivery in deliveries {
            let outcome = Outcome(item: delivery.id, kind: .delivered, reason: "taken_back")
            context.record.delivered(delivery, outcome: outcome, &turn.tally)
            turn.ends.append(.delivered(delivery.id))
        }
    }

    private func expire(_ delivery: Delivery, _ turn: inout Turn) {
        if delivery.isDryRun { context.feedback.tried(delivery, reason: "expired") }
        context.record.failed(delivery, reason: "expired", wasSent: false, &turn.tally)
        turn.ends.append(
            .dead(
                delivery.id, reason: "expired",
                Attempt(
                    number: delivery.attempt, unixMs: context.clock(), reason: "expired", code: 0,
                    detail: "")))
    }

    private func offer(_ batch: [Delivery], _ turn: inout Turn) {
        let resumed = state.withLock { $0.resumed }
        switch carrier {
        case .requests(let role, let pool):
            switch role.prepare(app: key.app, deliveries: batch) {
            case .ready(let requests, let settled):
                if !requests.requests.isEmpty { pool.submit(requests) }
                decide(settled, &turn)
            case .again: hold(batch[...], ifStill: resumed)
            case .failed(let fault): failed(batch, fault, &turn)
            }
        case .own(let role):
            let offered = role.submit(app: key.app, deliveries: batch) { [weak self] in
                self?.receive($0)
            }
            switch offered {
            case .success(batch.count): break
            case .success(let taken): hold(batch.dropFirst(taken), ifStill: resumed)
            case .failure(let fault): failed(batch, fault, &turn)
            }
        }
    }

    /// The plugin has no use for these now: they are offered again when it says so, or a second later.
    private func hold(_ batch: ArraySlice<Delivery>, ifStill resumed: Int) {
        state.withLock { state in
            state.window.giveBack(Array(batch))
            state.health.probeReturned()
            // It may have come while the plugin was asked.
            state.isHeld = state.resumed == resumed
        }
        context.alarms.set(lane: number, inMs: 1_000) { self.resume() }
    }

    private func failed(
        _ batch: [Delivery], _ fault: PluginFault, _ turn: inout Turn
    ) {
        context.logger.error(
            "plugin failed to take deliveries",
            metadata: ["plugin.instance": "\(key.sender)", "error": "\(fault.message)"])
        let outcomes = batch.map { delivery in
            guard fault.kind == .auth else {
                return Outcome(item: delivery.id, kind: .retry, reason: "plugin_failed")
            }
            // No credential can be had: nothing of this sender can be sent until somebody mends that.
            var outcome = Outcome(item: delivery.id, kind: .config, reason: "credential_refused")
            outcome.scope = .instance
            outcome.detail = fault.message
            return outcome
        }
        decide(outcomes, &turn)
    }

    // MARK: The disk

    /// Leases more if there is room, and something is due.
    private func refill() {
        let now = context.clock()
        let wish = state.withLock { state -> LeaseWish? in
            if let due = state.nextDueUnixMs, due <= now {
                state.nextDueUnixMs = nil
                state.hasBacklog = true
            }
            guard state.hasBacklog, !state.isLeasing, !state.isDraining, !state.isStopped
            else { return nil }
            let room: Int
            var isProbe = false
            switch state.health.breaker.permission(nowUnixMs: now) {
            // While the provider takes nothing the rest stays on disk.
            case .none: return nil
            case .probe:
                isProbe = true
                room = state.window.readyCount == 0 ? 1 : 0
            case .all:
                let isLow = state.window.count < context.limits.deliveriesInMemoryMax / 2
                room = isLow ? min(1_024, state.window.room) : 0
            }
            guard room > 0 else { return nil }
            state.isLeasing = true
            return LeaseWish(max: room, forMs: context.limits.leaseMs, isProbe: isProbe)
        }
        guard let wish else { return }
        context.store.lease(key, wish) { result in
            switch result {
            case .success(let lease): self.leased(lease, wish)
            case .failure: self.leaseFailed()
            }
        }
    }

    private func leased(_ lease: StoreLease, _ wish: LeaseWish) {
        let now = context.clock()
        if wish.isProbe, lease.deliveries.isEmpty, lease.nextDueInMs == nil { nothingWaits() }
        let count = state.withLock { state -> Int? in
            state.isLeasing = false
            // A probe need not be due: what else waits is not known.
            state.hasBacklog = lease.hasMore || (wish.isProbe && !lease.deliveries.isEmpty)
            if let wait = lease.nextDueInMs {
                state.nextDueUnixMs = min(state.nextDueUnixMs ?? .max, now + wait)
            }
            return state.isStopped ? nil : state.hold(lease.deliveries, under: lease.token)
        }
        guard let count else {
            // Leased too late.
            giveBack(lease.deliveries, under: lease.token)
            return
        }
        context.inMemory.adjust(by: count)
        kick()
    }

    /// What came too late for this lane is due for whoever is next.
    private func giveBack(_ deliveries: [Delivery], under token: LeaseToken) {
        guard !deliveries.isEmpty else { return }
        end(deliveries.map { .released($0.id) }, under: token) { self.onReleased() }
    }

    func setAlarm() {
        let now = context.clock()
        let wake = state.withLock { state -> UInt64? in
            guard !state.isHeld else { return nil }
            switch state.health.breaker.permission(nowUnixMs: now) {
            case .all, .probe: return state.nextDueUnixMs
            // The outcome of the probe wakes it.
            case .none(.max): return nil
            case .none(let until): return until
            }
        }
        guard let wake else { return }
        context.alarms.set(lane: number, inMs: wake > now ? wake - now : 0) { self.kick() }
    }
}

/// Lets a pool that is made before its lane find the lane.
private final class LaneMail: Sendable {
    private let target = Mutex<SenderLane?>(nil)

    var lane: SenderLane? { target.withLock { $0 } }

    func set(_ lane: SenderLane) { target.withLock { $0 = lane } }
}
