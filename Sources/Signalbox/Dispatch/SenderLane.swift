internal import Logging
internal import SignalboxCore
internal import SignalboxHTTP
internal import SignalboxPluginHost
internal import SignalboxThreads
internal import Synchronization

/// Deliveries of one sender and app on their way: lease, prepare, send, classify, settle.
///
/// Own queue, own window, own connections: nothing that happens to another lane shows here. At most
/// one worker runs a lane at a time; the lock guards the hand-over between threads and is never
/// held while a plugin is called.
final class SenderLane: Sendable {
    private struct State: Sendable {
        var queue: SenderQueue
        var results: [PushResult] = []
        var isScheduled = false
        /// `prepare` said "again": nothing is leased until a credential is ready.
        var isWaitingForCredential = false
        /// Nothing new is leased; what is in flight is still settled.
        var isStopping = false
        var isStopped = false
    }

    let number: Int
    let sender: String
    let app: String
    private let instance: PluginInstance
    private let role: SendHTTPRole
    private let pool: PushPool
    private let isAtMostOnce: Bool
    private let context: DispatchContext
    private let state: Mutex<State>

    init(
        number: Int, instance: PluginInstance, role: SendHTTPRole, app: String,
        endpoint: SendEndpoint, context: DispatchContext
    ) throws {
        self.number = number
        self.sender = instance.name
        self.app = app
        self.instance = instance
        self.role = role
        self.context = context
        isAtMostOnce = endpoint.isAtMostOnce
        state = Mutex(State(queue: SenderQueue(inFlightMax: context.limits.deliveriesInFlightMax)))
        let mail = LaneMail()
        let name = instance.name
        let logger = context.logger
        let metrics = context.metrics
        pool = try context.engine.makePool(
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
        mail.set(self)
    }

    /// Deliveries in the lane, whatever their state.
    var count: Int { state.withLock { $0.queue.count } }

    /// The pool's state, for readiness.
    func status() async -> PushPoolStatus { await pool.status() }

    /// Takes deliveries in.
    func append(_ deliveries: [Delivery]) {
        state.withLock { $0.queue.append(deliveries) }
        kick()
    }

    /// A credential that `prepare` was waiting for may be there now.
    func credentialReady() {
        state.withLock { $0.isWaitingForCredential = false }
        kick()
    }

    /// Gives the connections up; what is in flight has until the deadline.
    func stop(deadlineMs: Int) async {
        state.withLock { $0.isStopping = true }
        await pool.shutdown(deadlineMs: deadlineMs)
        state.withLock { $0.isStopped = true }
    }

    private func receive(_ results: [PushResult]) {
        state.withLock { $0.results.append(contentsOf: results) }
        kick()
    }

    private func kick() {
        let isMine = state.withLock { state in
            guard !state.isScheduled, !state.isStopped else { return false }
            state.isScheduled = true
            return true
        }
        // Bounded: one job per lane.
        if isMine { context.workers.submitBounded { self.run() } }
    }

    /// Works until there is nothing to do now.
    private func run() {
        let batchMax = min(context.limits.batchMax, role.maxBatch ?? Int.max)
        while true {
            let now = context.clock()
            let work = state.withLock { state -> (results: [PushResult], lease: Lease) in
                let results = state.results
                state.results = []
                let lease =
                    state.isWaitingForCredential || state.isStopping
                    ? (batch: [], expired: [])
                    : state.queue.lease(max: batchMax, nowUnixMs: now)
                if results.isEmpty, lease.batch.isEmpty, lease.expired.isEmpty {
                    state.isScheduled = false
                }
                return (results, lease)
            }
            for delivery in work.lease.expired {
                context.record.failed(delivery, reason: "expired")
            }
            if !work.results.isEmpty { classify(work.results, batchMax: batchMax) }
            if !work.lease.batch.isEmpty { prepare(work.lease.batch) }
            if work.results.isEmpty, work.lease.batch.isEmpty, work.lease.expired.isEmpty { break }
        }
        setAlarm()
    }

    private typealias Lease = (batch: [Delivery], expired: [Delivery])

    private func prepare(_ batch: [Delivery]) {
        switch role.prepare(app: app, deliveries: batch) {
        case .ready(let requests, let settled):
            if !requests.requests.isEmpty { pool.submit(requests) }
            for outcome in settled { settle(outcome, connection: nil) }
        case .again:
            state.withLock { state in
                state.queue.giveBack(batch)
                state.isWaitingForCredential = true
            }
            context.alarms.set(lane: number, inMs: 1_000) { self.credentialReady() }
        case .failed(let fault):
            context.logger.error(
                "plugin failed to prepare deliveries",
                metadata: ["plugin.instance": "\(sender)", "error": "\(fault.message)"])
            for delivery in batch {
                settle(
                    Outcome(item: delivery.id, kind: .retry, reason: "plugin_failed"),
                    connection: nil)
            }
        }
    }

    private func classify(_ results: [PushResult], batchMax: Int) {
        var responses: [HTTPResponse] = []
        var connections: [UInt64: UInt64] = [:]
        for result in results {
            switch result.answer {
            case .response(var response):
                response.items = Array(result.items)
                for item in result.items { connections[item] = response.connection }
                responses.append(response)
            case .fault(let fault):
                for item in result.items {
                    settle(
                        Settlement.outcome(of: fault, item: item, isAtMostOnce: isAtMostOnce),
                        connection: nil)
                }
            }
        }
        while !responses.isEmpty {
            let part = Array(responses.prefix(batchMax))
            responses.removeFirst(part.count)
            let (settled, requests) = role.classify(app: app, responses: part)
            if !requests.requests.isEmpty { pool.submit(requests) }
            for outcome in settled { settle(outcome, connection: connections[outcome.item]) }
        }
    }

    private func settle(_ outcome: Outcome, connection: UInt64?) {
        guard let delivery = state.withLock({ $0.queue.settle(outcome.item) }) else { return }
        if outcome.reconnect, let connection { pool.drain(connection: connection) }
        if outcome.kind == .auth { instance.credentialRefused(outcome.credential) }
        let policy = context.router.routes[delivery.route].rules.retry
        let decision = Settlement.decide(
            outcome, delivery: delivery, policy: policy, nowUnixMs: context.clock(),
            random: Double.random(in: 0..<1))
        switch decision {
        case .delivered: context.record.delivered(delivery, outcome: outcome)
        case .retry(let at):
            state.withLock { $0.queue.retry(delivery, atUnixMs: at) }
            context.record.retried(delivery, outcome: outcome, atUnixMs: at)
        case .failed(let reason):
            context.record.failed(delivery, reason: reason, detail: outcome.detail)
        }
    }

    private func setAlarm() {
        let (wake, isWaiting) = state.withLock {
            ($0.queue.nextWakeUnixMs, $0.isWaitingForCredential)
        }
        guard let wake, !isWaiting else { return }
        let now = context.clock()
        context.alarms.set(lane: number, inMs: wake > now ? wake - now : 0) { self.kick() }
    }
}

/// Lets a pool that is made before its lane find the lane.
private final class LaneMail: Sendable {
    private let target = Mutex<SenderLane?>(nil)

    var lane: SenderLane? { target.withLock { $0 } }

    func set(_ lane: SenderLane) { target.withLock { $0 = lane } }
}
