import SignalboxCore
import Synchronization

@testable import SignalboxDispatch

/// One gateway of the simulation.
///
/// Its lanes come and go with processes and reloads; the store and the providers stay.
final class SimGateway: Sendable {
    private struct State {
        var lanes: [LaneKey: Lane] = [:]
        var nextNumber = 1
        var faults: [String] = []
        var deaths = 0
        var replaced: Set<LaneKey> = []
        /// Replaced; some are over.
        var leaving: [Lane] = []
        var process: SimProcess
        /// Of the current life and the previous ones.
        var ledgers: [SimOutcomeSink] = []
        var rules: RigRules
        var large = SimIntake.room
        var pipeline: EventPipeline?
        var relay: OutboxRelay?
    }

    static let policy = RetryPolicy(
        name: "sim", initialMs: 500, factor: 2, maxMs: 8_000, retries: 6, jitter: 0.1)
    static let inMemoryMax = 24
    static let leaseMs: UInt64 = 20_000
    private static let tendMs: UInt64 = 2_000
    private static let lookMs: UInt64 = 10_000

    let clock: SimClock
    let store: SimStore
    let providers: [SimProvider]
    /// Whether other gateways use the store, too: then it looks for what they left behind.
    let isShared: Bool
    let number: Int
    private let state: Mutex<State>

    init(
        _ number: Int, clock: SimClock, store: SimStore, providers: [SimProvider], isShared: Bool
    ) {
        self.number = number
        self.clock = clock
        self.store = store
        self.providers = providers
        self.isShared = isShared
        let rules = SimRequest.rules(providers)
        state = Mutex(State(process: SimProcess(clock, number), rules: rules))
        store.takeBack(from: number, isAlive: false)
        start()
    }

    var replaced: Set<LaneKey> { state.withLock { $0.replaced } }
    var deaths: Int { state.withLock { $0.deaths } }
    var faults: [String] { state.withLock { $0.faults } }
    var lanes: [Lane] {
        state.withLock { $0.lanes.values.sorted { $0.number < $1.number } }
    }
    var inMemory: Int { process.inMemory }
    /// How often each delivery was recorded as ended.
    var finals: [UInt64: Int] {
        state.withLock { state in
            state.ledgers.reduce(into: [:]) { $0.merge($1.finals) { $0 + $1 } }
        }
    }

    private var process: SimProcess { state.withLock { $0.process } }
    private var outcomeSink: SimOutcomeSink? { state.withLock { $0.ledgers.last } }

    func fault(_ words: String) {
        let now = clock.now.steadyMs
        state.withLock { $0.faults.append("\(now) ms: gateway \(number): \(words)") }
    }

    // MARK: Processes and generations

    private func start() {
        state.withLock { state in
            state.ledgers.append(SimOutcomeSink(clock))
            state.rules = SimRequest.rules(providers)
            state.large = SimIntake.room
            state.pipeline = EventPipeline(
                SimIntake(gateway: self, process: state.process), large: state.large)
            state.relay = OutboxRelay(SimOutbox(gateway: self, process: state.process))
        }
        reportsWritten()
        for provider in providers { make(provider) }
        for key in store.waitingLanes.sorted() { lane(key)?.backlog() }
        tend(process)
        if isShared { look(process) }
    }

    private func tend(_ process: SimProcess) {
        process.later(ms: Self.tendMs) { [self] in
            for lane in lanes { lane.tend() }
            tend(process)
        }
    }

    /// Looks for what another gateway left behind.
    private func look(_ process: SimProcess) {
        process.later(ms: Self.lookMs) { [self] in
            for key in store.dueLanes.sorted() { lane(key)?.backlog() }
            look(process)
        }
    }

    private func leaving(_ key: LaneKey, before number: Int) -> [Lane] {
        state.withLock { $0.leaving.filter { $0.key == key && $0.number < number && !$0.isOver } }
    }

    func lane(_ key: LaneKey) -> Lane? { state.withLock { $0.lanes[key] } }

    private func make(_ provider: SimProvider) {
        let number = state.withLock { state in
            defer { state.nextNumber += 1 }
            return state.nextNumber
        }
        let (key, process, store) = (provider.key, process, store)
        guard let outcomeSink else { return }
        let isAtMostOnce = key.app == "a3" && key.kind == .push
        let lane = Lane(
            key, number: number,
            rules: { traits in
                var rules = LaneRules(traits)
                rules.inMemoryMax = Self.inMemoryMax
                rules.leaseMs = Self.leaseMs
                return rules
            },
            world: LaneWorld(
                clock: process, store: SimLaneStore(store: store, process: process),
                outcomeSink: outcomeSink),
            siblings: { [weak self] in
                (self?.lanes ?? []).filter { $0.key.sender == key.sender && $0.key != key }
                    .sorted { $0.key.app < $1.key.app }
            },
            predecessors: { [weak self] in self?.leaving(key, before: number) ?? [] },
            onReturned: { [weak self] in self?.lane(key)?.backlog() },
            carrier: { sink in
                SimCarrier(sink, provider, process, store, isAtMostOnce: isAtMostOnce) {
                    [weak self] in self?.fault($0)
                }
            })
        store.hasten(key, of: process)
        state.withLock { $0.lanes[key] = lane }
    }

    /// kill -9, then a new process.
    func die() {
        clock.note(0, "gateway \(number) dies")
        let ends = store.ends
        for provider in providers {
            provider.die(number)
            // Accepted but not recorded: the next process sends it again.
            for id in provider.taken.keys where ends[id] == nil { provider.doubt(id) }
        }
        outcomeSink?.forget(all: Set(ends.keys))
        let process = SimProcess(clock, number)
        state.withLock { state in
            state.process = process
            state.lanes = [:]
            state.leaving = []
            state.deaths += 1
        }
        store.takeBack(from: number, isAlive: false)
        start()
    }

    /// SIGSTOP, and SIGCONT after a while.
    func stop(ms: UInt64) {
        clock.note(0, "gateway \(number) is stopped for \(ms) ms")
        clock.stop(number, ms: ms)
    }

    /// The store takes back what this gateway holds; the gateway learns of it with its next call.
    func fence() {
        clock.note(0, "gateway \(number) is fenced")
        store.takeBack(from: number, isAlive: true)
    }

    /// A reload replaces the lane of a provider.
    func replace(_ provider: SimProvider, drainMs: UInt64 = 6_000) {
        guard let old = lane(provider.key) else { return }
        clock.note(0, "a reload replaces \(provider.key.app)")
        state.withLock { _ = $0.replaced.insert(provider.key) }
        state.withLock { $0.leaving.append(old) }
        make(provider)
        old.leave()
        lane(provider.key)?.backlog()
        end(old, deadlineMs: clock.now.steadyMs + drainMs, process)
    }

    private func end(_ lane: Lane, deadlineMs: UInt64, _ process: SimProcess) {
        process.later(ms: 5) { [self] in
            guard lane.isIdle || clock.now.steadyMs >= deadlineMs else {
                return end(lane, deadlineMs: deadlineMs, process)
            }
            (lane.carrier as? SimCarrier)?.close()
            lane.beginStop()
            stopped(lane, process)
        }
    }

    private func stopped(_ lane: Lane, _ process: SimProcess) {
        process.later(ms: 5) { [self] in
            guard lane.isStopped else { return stopped(lane, process) }
            lane.end()
        }
    }

    // MARK: Events

    /// Takes a request; `done` is not called if the process dies meanwhile.
    func take(_ request: SimRequest, done: @escaping @Sendable (StoreAnswer) -> Void) {
        let (process, pipeline) = state.withLock { ($0.process, $0.pipeline) }
        process.run { [self] in
            guard let pipeline else { return }
            let answers = Mutex(0)
            pipeline.accept(
                request.events, changes: request.changes, from: request.source,
                receivedUnixMs: clock.now.unixMs
            ) { [self] answer, _ in
                let count = answers.withLock { count in
                    count += 1
                    return count
                }
                if count > 1 { fault("request \(request.number) is answered twice") }
                check()
                done(answer)
            }
        }
    }

    /// Changes of devices were stored.
    func reportsWritten() { state.withLock { $0.relay }?.written() }

    /// A reload takes the sources away, and another brings them back.
    func reload(backMs: UInt64) {
        clock.note(0, "gateway \(number) has no sources for \(backMs) ms")
        setRules(RigRules([], sources: []))
        process.later(ms: backMs) { [self] in setRules(SimRequest.rules(providers)) }
    }

    private func setRules(_ rules: RigRules) { state.withLock { $0.rules = rules } }

    /// The rules of its current configuration.
    var rules: RigRules { state.withLock { $0.rules } }

    /// Whether no request holds room for its devices.
    var hasRoom: Bool {
        state.withLock { state in
            guard state.large.enter(SimIntake.devicesMax) else { return false }
            state.large.leave(SimIntake.devicesMax)
            return true
        }
    }

    /// Checks what must hold at any time.
    func check() {
        for lane in lanes where lane.count > Self.inMemoryMax {
            fault("\(lane.count) deliveries in memory")
        }
    }
}

/// Records how deliveries ended.
final class SimOutcomeSink: OutcomeSink {
    private struct State {
        var finals: [UInt64: Int] = [:]
        var lost = 0
    }

    private let clock: SimClock
    private let state = Mutex(State())

    init(_ clock: SimClock) { self.clock = clock }

    var finals: [UInt64: Int] { state.withLock { $0.finals } }

    /// Forgets what was recorded but not stored: the next process records it again.
    func forget(all stored: Set<UInt64>) {
        state.withLock { state in
            state.finals = state.finals.filter { stored.contains($0.key) }
        }
    }

    func policy(of delivery: Delivery) -> RetryPolicy { SimGateway.policy }

    func offered(_ batch: [Delivery], unixMs: UInt64) {}

    func keepsLetter(of ending: LaneEnding) -> Bool { true }

    func record(_ endings: [LaneEnding]) -> OutcomePack {
        state.withLock { state in
            for ending in endings {
                clock.note(ending.delivery.id, "recorded: \(ending.kind)")
                switch ending.kind {
                case .delivered, .failed, .cancelled, .superseded:
                    state.finals[ending.delivery.id, default: 0] += 1
                case .retry, .released, .aside: break
                }
            }
        }
        return OutcomePack()
    }

    func held(_ lane: LaneKey, _ change: LaneHoldChange) {}
    func leasesLost(_ lane: LaneKey, count: Int) {
        clock.note(0, "\(count) leases of \(lane.app) are lost")
    }
    func write(_ line: LaneLine, of lane: LaneKey) {}
}
