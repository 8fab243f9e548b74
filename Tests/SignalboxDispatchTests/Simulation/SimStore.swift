import SignalboxCore
import SignalboxDispatch
import Synchronization

@testable import StoreConformance

/// A store that keeps its commits whatever happens to the process; slow, and sometimes failing.
///
/// `MemoryStorage` is the store itself, on a steady clock of its own. This one delays its answers and makes calls fail, and
/// remembers what a process cannot know.
///
/// It answers in the order of the calls, or in any order (`isOrdered`).
final class SimStore: Sendable {
    enum End: Equatable { case delivered, dead(String) }

    private struct State {
        /// Of the current life of each process.
        var stores: [Int: MemoryStore] = [:]
        var ends: [UInt64: End] = [:]
        var attempts: [UInt64: UInt32] = [:]
        var failures = 0.0
        var delayMs: UInt64 = 5
        var busyUntilMs: UInt64 = 0
        /// How often a delivery was leased again while its holder might still have been sending.
        var takenOver: [UInt64: Int] = [:]
        /// Leased again, or free to be, by the process whose own lease had ended.
        ///
        /// An earlier lane of that process may still have a request in flight, and the same owner
        /// settles its answers.
        var leasedAgain: Set<UInt64> = []
        /// Which process ended each delivery.
        ///
        /// A late answer may end it while the next attempt waits for a connection.
        var endedBy: [UInt64: Int] = [:]
        /// The newest of each key that a provider has accepted, as far as was committed.
        var accepted: [Int64: DeliveryOrder] = [:]
        /// How often lanes were hastened.
        var hastenings = 0
        /// The deliveries of each commit of an event, by its subject.
        var commits: [String: [[Delivery]]] = [:]
        var stableIDs: [UInt64: String] = [:]
        var nextID: UInt64 = 1
        /// How often a device's change was committed, and how many reports of it were queued, by token.
        var reports: [String: Int] = [:]
        var queuedReports: [String: Int] = [:]
        var superseded: Set<UInt64> = []
        /// With a key, and accepted while the clock was set back: by their times they are older than what came before.
        var timedBack: Set<UInt64> = []
        /// Taken back from a process before the lease ended, which the process cannot know.
        var takenBack: [UInt64: Set<Int>] = [:]

        /// Who holds a delivery, or held it last in a life that has not ended.
        func holder(_ entry: MemoryQueue.Entry) -> LeaseToken? {
            (entry.holder ?? entry.formerHolder).flatMap { token in
                Int(token.owner).flatMap { stores[$0]?.token } == token ? token : nil
            }
        }
    }

    /// The instance that is told of changes of devices.
    static let reportee = "crm"

    private let clock: SimClock
    private let isOrdered: Bool
    private let storage: MemoryStorage
    private let state = Mutex(State())

    init(clock: SimClock, isOrdered: Bool) {
        self.clock = clock
        self.isOrdered = isOrdered
        var options = MemoryStorage.Options { clock.now.steadyMs }
        options.leaseMs = SimGateway.leaseMs
        storage = MemoryStorage(options)
    }

    private var entries: [UInt64: MemoryQueue.Entry] { storage.state.withLock { $0.queue.entries } }
    var ends: [UInt64: End] { state.withLock { $0.ends } }
    var waiting: [UInt64] { entries.keys.sorted() }
    var waitingLanes: Set<LaneKey> { Set(entries.values.map { LaneKey($0.delivery) }) }
    var commits: [String: [[Delivery]]] { state.withLock { $0.commits } }
    /// The first of consecutive ids that no gateway gets again.
    func takeIDs(_ count: UInt64) -> UInt64 {
        state.withLock { state in
            defer { state.nextID += count }
            return state.nextID
        }
    }
    func stableID(of id: UInt64) -> String? { state.withLock { $0.stableIDs[id] } }
    /// How many attempts counted.
    var attempts: [UInt64: UInt32] { state.withLock { $0.attempts } }

    func trouble(failures: Double, delayMs: UInt64) {
        state.withLock { ($0.failures, $0.delayMs) = (failures, delayMs) }
    }

    /// How often a delivery went to another lease that its holder could not know of.
    var takenOver: [UInt64: Int] { state.withLock { $0.takenOver } }

    /// Deliveries that a clock set back made older than what was accepted before them.
    var timedBack: Set<UInt64> { state.withLock { $0.timedBack } }

    var hastenings: Int { state.withLock { $0.hastenings } }

    /// Whether a process may send a delivery now.
    func isHeld(_ id: UInt64, by process: Int) -> Bool {
        let (now, entry) = (clock.now.steadyMs, entries[id])
        return state.withLock { state in
            if state.takenBack[id]?.contains(process) == true || state.leasedAgain.contains(id) {
                return true
            }
            guard let entry else {
                return state.endedBy[id] == process || state.superseded.contains(id)
            }
            return entry.holder?.owner == "\(process)" && entry.dueUnixMs > now
        }
    }

    /// Takes back what an owner's earlier life held, as on a start.
    ///
    /// The store may also do so at any time.
    func takeBack(from process: Int, isAlive: Bool) {
        let entries = entries
        state.withLock { state in
            for (id, entry) in entries
            where isAlive && state.holder(entry)?.owner == "\(process)" {
                state.takenBack[id, default: []].insert(process)
                state.leasedAgain.insert(id)
                state.takenOver[id, default: 0] += 1
            }
            state.stores[process] = storage.open(owner: "\(process)")
        }
    }

    /// The lanes with deliveries that nobody holds.
    var dueLanes: Set<LaneKey> {
        let now = clock.now.steadyMs
        let free = entries.values.filter { $0.holder == nil || $0.dueUnixMs <= now }
        return Set(free.map { LaneKey($0.delivery) })
    }

    /// Commits an entry.
    func append(
        _ entry: StoreEntry, of process: SimProcess,
        done: @escaping @Sendable (StoreAnswer?) -> Void
    ) {
        perform(process, done) { [self] store, state in
            let answer = Answer<StoreAnswer>()
            let before = entry.isFromOutbox ? Set(entries.keys) : []
            store.append(entry) { answer.set($0) }
            guard case .committed(let commit) = answer.value else { return answer.value }
            // A report goes when a newer one of its device comes, though it may be in flight.
            if entry.isFromOutbox { state.superseded.formUnion(before.subtracting(entries.keys)) }
            for (index, item) in entry.items.enumerated()
            where !commit.duplicates.contains(index) {
                state.commits[item.event.subject, default: []].append(item.deliveries)
                for delivery in item.deliveries {
                    if delivery.supersession != nil, clock.wasAhead(of: delivery.acceptedUnixMs) {
                        state.timedBack.insert(delivery.id)
                    }
                    if delivery.kind == .report {
                        state.queuedReports[delivery.device.token, default: 0] += 1
                    }
                    state.stableIDs[delivery.id] = delivery.stableID
                    let taken = item.taken.contains(delivery.id) ? ", taken" : ""
                    clock.note(delivery.id, "committed for \(delivery.device.app)\(taken)")
                }
            }
            return answer.value
        }
    }

    /// Looks up devices.
    func devices(
        of users: [UserKey], of process: SimProcess,
        done: @escaping @Sendable ([[RegisteredDevice]]?) -> Void
    ) {
        perform(process, done) { store, _ in
            let answer = Answer<[[RegisteredDevice]]>()
            store.devices(of: users) { answer.set($0) }
            return answer.value
        }
    }

    /// Changes devices, and reports each change to `reportee`.
    func change(
        _ changes: [DeviceChange], of process: SimProcess,
        done: @escaping @Sendable (Bool?) -> Void
    ) {
        perform(process, done) { store, state in
            let answer = Answer<Bool>()
            let reports = changes.map { DeviceReport(to: Self.reportee, $0) }
            store.change(changes, reports: reports) { result in
                if case .success = result { answer.set(true) }
            }
            guard answer.value == true else { return nil }
            for change in changes { state.reports[change.device.token, default: 0] += 1 }
            return true
        }
    }

    func outbox(
        max: Int, of process: SimProcess, done: @escaping @Sendable ([OutboxEntry]?) -> Void
    ) {
        perform(process, done) { store, _ in
            let answer = Answer<[OutboxEntry]>()
            store.outbox(max: max) { answer.set($0) }
            return answer.value
        }
    }

    func removeFromOutbox(
        through id: UInt64, of process: SimProcess, done: @escaping @Sendable (Bool?) -> Void
    ) {
        perform(process, done) { store, _ in
            let answer = Answer<Bool>()
            store.removeFromOutbox(through: id) { result in
                if case .success = result { answer.set(true) }
            }
            return answer.value
        }
    }

    /// Reports that were not queued exactly once.
    var reportFaults: [String] {
        var out: [String] = []
        let left = storage.state.withLock { $0.outbox.entries.count }
        if left > 0 { out.append("\(left) reports are left in the outbox") }
        let (written, queued) = state.withLock { ($0.reports, $0.queuedReports) }
        for (token, count) in written where queued[token] != count {
            out.append("of \(count) reports of \(token), \(queued[token] ?? 0) were queued")
        }
        return out
    }

    fileprivate func lease(
        _ lane: LaneKey, _ wish: LeaseWish, of process: SimProcess,
        done: @escaping @Sendable (StoreLease?) -> Void
    ) {
        perform(process, done) { [self] store, state in
            let before = entries
            let answer = Answer<StoreLease>()
            store.lease(lane, wish) { answer.set($0) }
            guard let lease = answer.value else { return nil }
            for id in lease.deliveries.map(\.id) {
                if let former = before[id].flatMap(state.holder) {
                    state.takenOver[id, default: 0] += 1
                    if former.owner == store.token.owner { state.leasedAgain.insert(id) }
                }
                state.takenBack[id]?.remove(process.life.process)
                clock.note(id, "lent to \(store.token.owner)\(wish.isProbe ? " to try" : "")")
            }
            return lease
        }
    }

    fileprivate func settle(
        _ ends: [LeaseEnd], under token: LeaseToken, of process: SimProcess,
        done: @escaping @Sendable (LeaseRefusal?) -> Void
    ) {
        perform(process, done) { [clock] store, state in
            let answer = Answer<LeaseRefusal>()
            store.settle(ends, under: token, outcomes: OutcomePack()) { answer.set($0) }
            guard let refusal = answer.value else { return nil }
            for end in ends {
                guard !refusal.isFenced, !refusal.lost.contains(end.id) else {
                    clock.note(end.id, "\(refusal.isFenced ? "refused" : "lost"): \(end)")
                    // It was recorded, and is sent again; or somebody else tries it.
                    state.takenOver[end.id, default: 0] += 1
                    continue
                }
                clock.note(end.id, "stored: \(end)")
                switch end {
                case .delivered(let id, _): state.ends[id] = .delivered
                case .dead(let id, let reason, _): state.ends[id] = .dead(reason)
                case .retry(let id, _, _, isFree: false): state.attempts[id, default: 0] += 1
                case .retry, .released: continue
                }
                if state.ends[end.id] != nil { state.endedBy[end.id] = process.life.process }
            }
            for case .delivered(_, let new?) in ends where !refusal.isFenced {
                guard let key = new.shown else { continue }
                state.accepted[key] = max(state.accepted[key] ?? new.order, new.order)
            }
            return refusal
        }
    }

    /// Whether an attempt would undo what a newer push has shown.
    func isOvertaken(_ delivery: Delivery) -> Bool {
        guard delivery.attempt > 1, let key = delivery.supersession?.shown else { return false }
        return state.withLock { $0.accepted[key].map { delivery.order < $0 } ?? false }
    }

    fileprivate func extend(
        _ ids: [UInt64], under token: LeaseToken, forMs: UInt64, of process: SimProcess,
        done: @escaping @Sendable (LeaseRefusal?) -> Void
    ) {
        perform(process, done) { store, _ in
            let answer = Answer<LeaseRefusal>()
            store.extend(ids, under: token, forMs: forMs) { answer.set($0) }
            return answer.value
        }
    }

    func hasten(_ lane: LaneKey, of process: SimProcess) {
        perform(process, { (_: Bool?) in }) { store, state in
            state.hastenings += 1
            store.hasten(lane)
            return true
        }
    }

    /// A dead process neither calls nor gets answers, a stopped one gets them later; commits stay.
    private func perform<Answer: Sendable>(
        _ process: SimProcess, _ done: @escaping @Sendable (Answer?) -> Void,
        _ work: @escaping @Sendable (MemoryStore, inout State) -> Answer?
    ) {
        let steadyMs = clock.now.steadyMs
        let dice = clock.dice(.max)
        let wait = state.withLock { state in
            let free = max(steadyMs, state.busyUntilMs)
            let end = (isOrdered ? free : steadyMs) + dice % (state.delayMs + 1)
            if isOrdered { state.busyUntilMs = end + 1 }
            return end - steadyMs
        }
        clock.outside(ms: wait) { [self] in
            guard clock.isCurrent(process.life) else { return }
            let isFailing = clock.chance(state.withLock { $0.failures })
            if isFailing { storage.fail("as the test wants") }
            let answer = state.withLock { state in
                state.stores[process.life.process].flatMap { work($0, &state) }
            }
            storage.fail(nil)
            if isOrdered, !clock.isStopped(process.life.process) { return done(answer) }
            process.later(ms: isOrdered ? 0 : clock.dice(3)) { done(answer) }
        }
    }
}

/// The answer of a store that answers at once, or nil if it failed.
private final class Answer<Value: Sendable>: Sendable {
    private let found = Mutex<Value?>(nil)

    var value: Value? { found.withLock { $0 } }

    func set(_ new: Value) { found.withLock { $0 = new } }

    func set(_ result: Result<Value, StoreFailure>) {
        if case .success(let new) = result { set(new) }
    }
}

/// The store as the lanes of one process see it.
struct SimLaneStore: LaneStore {
    let isShared = true
    let store: SimStore
    let process: SimProcess

    func lease(
        _ lane: LaneKey, _ wish: LeaseWish, done: @escaping @Sendable (StoreLease?) -> Void
    ) { store.lease(lane, wish, of: process, done: done) }

    func settle(
        _ ends: [LeaseEnd], under token: LeaseToken, outcomes: OutcomePack,
        done: @escaping @Sendable (LeaseRefusal?) -> Void
    ) { store.settle(ends, under: token, of: process, done: done) }

    func extend(
        _ ids: [UInt64], under token: LeaseToken, forMs: UInt64,
        done: @escaping @Sendable (LeaseRefusal?) -> Void
    ) { store.extend(ids, under: token, forMs: forMs, of: process, done: done) }

    func hasten(_ lane: LaneKey) { store.hasten(lane, of: process) }
}
