import SignalboxCore
import Synchronization

@testable import SignalboxDispatch

/// The gateway of the simulation: lanes that come and go with processes and reloads, before a store and
/// providers that stay.
final class SimGateway: Sendable {
    private struct State {
        var lanes: [LaneKey: Lane] = [:]
        var nextNumber = 1
        var nextID: UInt64 = 1
        var faults: [String] = []
        var deaths = 0
        var replaced: Set<LaneKey> = []
    }

    static let policy = RetryPolicy(
        name: "sim", initialMs: 500, factor: 2, maxMs: 8_000, retries: 6, jitter: 0.1)
    static let inMemoryMax = 24

    let clock: SimClock
    let store: SimStore
    let ledger: SimLedger
    let providers: [SimProvider]
    private let state = Mutex(State())

    init(seed: UInt64, lanes: Int) {
        clock = SimClock(seed: seed)
        ledger = SimLedger(clock)
        store = SimStore(clock: clock, isOrdered: seed % 2 == 0)
        // Two apps of each sender.
        providers = (0..<lanes).map {
            SimProvider(LaneKey(sender: "s\($0 / 2)", app: "a\($0)"))
        }
        start()
    }

    var replaced: Set<LaneKey> { state.withLock { $0.replaced } }
    var deaths: Int { state.withLock { $0.deaths } }
    var faults: [String] { state.withLock { $0.faults } }
    var lanes: [Lane] { state.withLock { Array($0.lanes.values) } }

    func fault(_ words: String) {
        let now = clock.now.steadyMs
        state.withLock { $0.faults.append("\(now) ms: \(words)") }
    }

    // MARK: Processes and generations

    private func start() {
        for provider in providers { make(provider) }
        for key in store.waitingLanes.sorted(by: { $0.app < $1.app }) { lane(key)?.backlog() }
    }

    private func lane(_ key: LaneKey) -> Lane? { state.withLock { $0.lanes[key] } }

    private func make(_ provider: SimProvider) {
        let number = state.withLock { state in
            defer { state.nextNumber += 1 }
            return state.nextNumber
        }
        let key = provider.key
        let isAtMostOnce = key.app == "a3"
        let lane = Lane(
            key, number: number,
            rules: { traits in
                var rules = LaneRules(traits)
                rules.inMemoryMax = Self.inMemoryMax
                return rules
            },
            world: LaneWorld(clock: clock, store: store, ledger: ledger),
            siblings: { [weak self] in
                (self?.lanes ?? []).filter { $0.key.sender == key.sender && $0.key != key }
                    .sorted { $0.key.app < $1.key.app }
            },
            onReturned: { [weak self] in self?.lane(key)?.backlog() },
            carrier: { sink in
                SimCarrier(sink, provider, clock, isAtMostOnce: isAtMostOnce) { [weak self] in
                    self?.fault($0)
                }
            })
        store.hasten(key)
        state.withLock { $0.lanes[key] = lane }
    }

    /// kill -9, and another process.
    func die() {
        clock.note(0, "the process dies")
        let ends = store.ends
        for provider in providers {
            provider.die()
            // Taken, and not written down: the next process sends it again.
            for id in provider.taken.keys where ends[id] == nil { provider.doubt(id) }
        }
        ledger.forget(all: Set(ends.keys))
        clock.die()
        state.withLock { state in
            state.lanes = [:]
            state.deaths += 1
        }
        store.reopen()
        start()
    }

    /// A reload replaces the lane of a provider.
    func replace(_ provider: SimProvider) {
        guard let old = lane(provider.key) else { return }
        clock.note(0, "a reload replaces \(provider.key.app)")
        state.withLock { _ = $0.replaced.insert(provider.key) }
        make(provider)
        old.leave()
        lane(provider.key)?.backlog()
        end(old, deadlineMs: clock.now.steadyMs + 6_000)
    }

    private func end(_ lane: Lane, deadlineMs: UInt64) {
        clock.later(ms: 5) { [self] in
            guard lane.isIdle || clock.now.steadyMs >= deadlineMs else {
                return end(lane, deadlineMs: deadlineMs)
            }
            (lane.carrier as? SimCarrier)?.close()
            lane.beginStop()
            stopped(lane)
        }
    }

    private func stopped(_ lane: Lane) {
        clock.later(ms: 5) { [self] in
            guard lane.isStopped else { return stopped(lane) }
            lane.end()
        }
    }

    // MARK: Events

    /// An event with deliveries to one lane.
    func submit(to provider: SimProvider) {
        let count = 1 + clock.dice(6)
        let first = state.withLock { state in
            defer { state.nextID += count }
            return state.nextID
        }
        let deliveries = (first..<first + count).map { delivery($0, provider.key) }
        let lane = lane(provider.key)
        let taken = lane?.reserve(deliveries) ?? []
        store.append(deliveries, taken: taken) { [self] isStored in
            guard isStored else {
                lane?.cancelled(taken.count)
                return
            }
            let own = deliveries.filter { taken.contains($0.id) }
            let isMore = own.count < deliveries.count
            let isServed =
                lane?.committed(own, under: SimStore.token, isMoreOnDisk: isMore)
                ?? false
            if !isServed, isMore { self.lane(provider.key)?.backlog() }
            check()
        }
    }

    private func delivery(_ id: UInt64, _ key: LaneKey) -> Delivery {
        var note = PushNotification()
        note.priority = [.high, .normal, .low][Int(clock.dice(3))]
        let isBrief = clock.chance(0.1)
        return Delivery(
            id: id, eventID: id, route: "r", sender: key.sender, stableID: "\(id)",
            deadlineUnixMs: isBrief ? clock.now.unixMs + 20_000 : 0,
            content: SharedNotification(note), device: Device(app: key.app, token: "t\(id)"))
    }

    /// What must hold at any time.
    func check() {
        for lane in lanes where lane.count > Self.inMemoryMax {
            fault("\(lane.count) deliveries in memory")
        }
    }
}

/// Notes what was recorded.
final class SimLedger: LaneLedger {
    private struct State {
        var finals: [UInt64: Int] = [:]
        var lines = 0
        var holds: [LaneKey: Int] = [:]
    }

    private let clock: SimClock
    private let state = Mutex(State())

    init(_ clock: SimClock) { self.clock = clock }

    var finals: [UInt64: Int] { state.withLock { $0.finals } }
    var lineCount: Int { state.withLock { $0.lines } }

    /// What was recorded and not stored is recorded again by the next process.
    func forget(all stored: Set<UInt64>) {
        state.withLock { state in
            state.finals = state.finals.filter { stored.contains($0.key) }
        }
    }

    func policy(of delivery: Delivery) -> RetryPolicy { SimGateway.policy }

    func record(_ endings: [LaneEnding]) -> OutcomePack {
        state.withLock { state in
            for ending in endings {
                clock.note(ending.delivery.id, "recorded: \(ending.kind)")
                switch ending.kind {
                case .delivered, .failed: state.finals[ending.delivery.id, default: 0] += 1
                case .retry, .released: break
                }
            }
        }
        return OutcomePack()
    }

    func held(_ lane: LaneKey, _ change: LaneHoldChange) {}
    func leasesLost(_ lane: LaneKey, count: Int, isFenced: Bool) {}

    func write(_ line: LaneLine, of lane: LaneKey) { state.withLock { $0.lines += 1 } }
}
