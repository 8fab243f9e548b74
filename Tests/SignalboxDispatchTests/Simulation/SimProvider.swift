import SignalboxCore
import SignalboxDispatch
import Synchronization

/// One lane's provider and the path to it; its mood changes while requests are in flight.
final class SimProvider: Sendable {
    enum Mood: CaseIterable {
        case well, slow, down, unavailable, resets, drops, hangs, throttles, refuses, moves, sticks,
            forgets
    }

    private struct State {
        var mood = Mood.well
        /// By process: two may send the same delivery if one's lease expired meanwhile.
        var inFlight: [Int: Set<UInt64>] = [:]
        /// How often each delivery was accepted, by the provider's own count.
        var taken: [UInt64: Int] = [:]
        /// How often an event left the fate of a delivery unknown.
        var unknown: [UInt64: Int] = [:]
        var sent = 0
        var onOffer: @Sendable () -> Void = {}
    }

    private let state = Mutex(State())
    let key: LaneKey

    init(_ key: LaneKey) { self.key = key }

    var mood: Mood {
        get { state.withLock { $0.mood } }
        set { state.withLock { $0.mood = newValue } }
    }
    /// Runs in each call that hands deliveries over.
    func whenOffered(_ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.onOffer = body }
    }
    func offered() { state.withLock { $0.onOffer }() }
    var taken: [UInt64: Int] { state.withLock { $0.taken } }
    var unknown: [UInt64: Int] { state.withLock { $0.unknown } }
    var sent: Int { state.withLock { $0.sent } }

    /// Returns false if the process already has the delivery in flight.
    func begin(_ id: UInt64, of process: Int) -> Bool {
        state.withLock { state in
            state.sent += 1
            return state.inFlight[process, default: []].insert(id).inserted
        }
    }

    func end(_ id: UInt64, of process: Int) {
        state.withLock { _ = $0.inFlight[process]?.remove(id) }
    }
    func take(_ id: UInt64) { state.withLock { $0.taken[id, default: 0] += 1 } }
    func doubt(_ id: UInt64) { state.withLock { $0.unknown[id, default: 0] += 1 } }

    /// The process died: the fate of its deliveries is unknown.
    func die(_ process: Int) {
        state.withLock { state in
            for id in state.inFlight[process] ?? [] { state.unknown[id, default: 0] += 1 }
            state.inFlight[process] = []
        }
    }
}

/// A lane's carrier to a provider of the simulation.
final class SimCarrier: LaneCarrier {
    private struct State {
        /// Submitted and not sent yet.
        var waiting: Set<UInt64> = []
        var flying: Set<UInt64> = []
        var isClosed = false
    }

    private let sink: LaneSink
    private let provider: SimProvider
    private let clock: SimClock
    private let process: SimProcess
    private let store: SimStore
    private let report: @Sendable (String) -> Void
    private let state = Mutex(State())
    let isAtMostOnce: Bool

    init(
        _ sink: LaneSink, _ provider: SimProvider, _ process: SimProcess, _ store: SimStore,
        isAtMostOnce: Bool, report: @escaping @Sendable (String) -> Void
    ) {
        self.sink = sink
        self.provider = provider
        self.process = process
        self.store = store
        clock = process.clock
        self.isAtMostOnce = isAtMostOnce
        self.report = report
    }

    var batchMax: Int? { 16 }

    var traits: LaneTraits {
        var traits = LaneTraits()
        traits.isAtMostOnce = isAtMostOnce
        traits.lateAnswerMs = 5_000
        return traits
    }

    func offer(_ batch: [Delivery]) -> LaneOffer {
        provider.offered()
        if batch.count > 16 { report("a batch of \(batch.count)") }
        let ranks = batch.map(rank)
        if ranks != ranks.sorted() { report("a batch in the order \(ranks)") }
        if provider.mood == .sticks, clock.chance(0.5) {
            return clock.chance(0.5) ? .held(from: 0) : .uncredentialed
        }
        for delivery in batch {
            let id = delivery.id
            clock.note(id, "offered, attempt \(delivery.attempt), \(provider.mood)")
            if !provider.begin(id, of: process.life.process) {
                report("\(id) is sent while it is in flight:\(clock.story(of: id))")
            }
            // Of reports, another gateway may have sent a newer one.
            if delivery.kind == .push, store.isOvertaken(delivery) {
                report("\(id) is sent after a newer one of its key:\(clock.story(of: id))")
            }
            if delivery.stableID != store.stableID(of: id) {
                report("\(id) was sent as \(delivery.stableID)")
            }
            state.withLock { _ = $0.waiting.insert(id) }
            process.later(ms: clock.dice(20)) { self.send(id) }
        }
        return .taken(settled: [])
    }

    private func send(_ id: UInt64) {
        let isWaiting = state.withLock { state in
            guard state.waiting.remove(id) != nil else { return false }
            state.flying.insert(id)
            return true
        }
        guard isWaiting else { return }
        // Like the pool.
        guard sink.maySend else { return finish(id, .fault(.withdrawn)) }
        if !store.isHeld(id, by: process.life.process) {
            report("\(id) is sent without a lease:\(clock.story(of: id))")
        }
        let pace: UInt64 = provider.mood == .slow ? 3_000 : 80
        switch provider.mood {
        case .forgets where !isAtMostOnce: forget(id)
        case .well, .slow, .sticks, .forgets: answer(id, status(id), ms: clock.dice(pace))
        case .down: fault(id, .unreachable, ms: clock.dice(2_000))
        case .unavailable: answer(id, 503, ms: clock.dice(50))
        case .throttles: answer(id, clock.chance(0.5) ? 429 : status(id), ms: clock.dice(50))
        case .refuses: answer(id, 403, ms: clock.dice(50))
        case .resets: fault(id, .reset, ms: clock.dice(50), taken: 0.1)
        case .drops: fault(id, .lost, ms: clock.dice(200), taken: 0.5)
        case .moves:
            if clock.chance(0.5) {
                fault(id, .withdrawn, ms: clock.dice(10))
            } else {
                answer(id, status(id), ms: clock.dice(80))
            }
        case .hangs:
            let isTaken = clock.chance(0.3)
            if isTaken { provider.take(id) }
            finish(id, .fault(.timeout), ms: 10_000)
            provider.doubt(id)
            guard isTaken else { return }
            process.later(ms: 10_000 + clock.dice(4_000)) {
                self.clock.note(id, "answered late")
                self.sink.answered([
                    Self.result(id, .response(HTTPResponse(status: 200, items: [id])), true)
                ])
            }
        }
    }

    /// A plugin with its own transport keeps the delivery until the host loses patience.
    private func forget(_ id: UInt64) {
        provider.doubt(id)
        if clock.chance(0.3) { provider.take(id) }
        process.later(ms: 60_000) { [self] in
            guard state.withLock({ $0.flying.remove(id) != nil }) else { return }
            provider.end(id, of: process.life.process)
            sink.learned([Outcome(item: id, kind: .retry, reason: "no_outcome")])
        }
    }

    /// Some devices are gone, and some payloads are rejected.
    private func status(_ id: UInt64) -> UInt32 { id % 37 == 0 ? 410 : id % 41 == 0 ? 400 : 200 }

    private func answer(_ id: UInt64, _ status: UInt32, ms: UInt64) {
        if status == 200 { provider.take(id) }
        finish(id, .response(HTTPResponse(status: status, items: [id])), ms: ms)
    }

    private func fault(
        _ id: UInt64, _ fault: TransportFault, ms: UInt64, taken: Double = 0
    ) {
        if fault.isFateUnknown {
            provider.doubt(id)
            if clock.chance(taken) { provider.take(id) }
        }
        finish(id, .fault(fault), ms: ms)
    }

    private func finish(_ id: UInt64, _ answer: PushResult.Answer, ms: UInt64) {
        process.later(ms: ms) { self.finish(id, answer) }
    }

    private func finish(_ id: UInt64, _ answer: PushResult.Answer) {
        let isMine = state.withLock { $0.flying.remove(id) != nil }
        guard isMine else { return }
        provider.end(id, of: process.life.process)
        clock.note(id, "answered: \(answer)")
        sink.answered([Self.result(id, answer, false)])
    }

    private static func result(
        _ id: UInt64, _ answer: PushResult.Answer, _ isLate: Bool
    ) -> PushResult {
        switch answer {
        case .response(let response): PushResult(response, isLate: isLate)
        case .fault(let fault): PushResult(items: [id], fault: fault)
        }
    }

    func classify(_ responses: [HTTPResponse]) -> [Outcome] {
        responses.flatMap { response in response.items.map { Self.outcome($0, response.status) } }
    }

    private static func outcome(_ id: UInt64, _ status: UInt32) -> Outcome {
        let kind: Outcome.Kind =
            switch status {
            case 200: .delivered
            case 400: .rejected
            case 403: .config
            case 410: .unregistered
            case 429: .throttled
            default: .retry
            }
        var outcome = Outcome(item: id, kind: kind, reason: "status_\(status)")
        outcome.providerCode = status
        if status == 403 { outcome.scope = .instance }
        if status == 429 { (outcome.scope, outcome.retryAfterMs) = (.app, 4_000) }
        return outcome
    }

    func withdraw() {
        let waiting = state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting.sorted()
        }
        for id in waiting { provider.end(id, of: process.life.process) }
        guard !waiting.isEmpty else { return }
        process.later(ms: clock.dice(5)) {
            self.sink.answered(waiting.map { Self.result($0, .fault(.withdrawn), false) })
        }
    }

    func leave(connection: UInt64) {}
    func credentialRefused(_ name: String) {}
    func renew() async throws {}
    func connections() async -> LaneConnections { LaneConnections() }

    /// Gives back what waits; what is in flight is lost.
    func shutdown(deadlineMs: Int) async { close() }

    func close() {
        let (waiting, flying) = state.withLock { state in
            defer { state = State(isClosed: true) }
            return (state.waiting.sorted(), state.flying.sorted())
        }
        for id in waiting + flying { provider.end(id, of: process.life.process) }
        for id in flying { provider.doubt(id) }
        sink.answered(waiting.map { Self.result($0, .fault(.stopping), false) })
        sink.answered(flying.map { Self.result($0, .fault(.lost), false) })
    }
}
