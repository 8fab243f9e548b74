import SignalboxCore
import SignalboxDispatch
import Synchronization

/// A store that keeps its commits whatever happens to the process; slow, and sometimes failing.
///
/// Its own clock decides about leases.
///
/// It answers in the order of the calls, or in any order (`isOrdered`).
final class SimStore: Sendable {
    struct Row {
        var delivery: Delivery
        var dueUnixMs: UInt64
        var isFree = false
        var holder: LeaseToken?
        var leasedUntilMs: UInt64 = 0
        var stale: Staleness = []

        mutating func giveBack() { (holder, leasedUntilMs) = (nil, 0) }
    }

    enum End: Equatable { case delivered, dead(String) }

    private struct State {
        var rows: [UInt64: Row] = [:]
        var ends: [UInt64: End] = [:]
        var attempts: [UInt64: UInt32] = [:]
        var failures = 0.0
        var delayMs: UInt64 = 5
        var busyUntilMs: UInt64 = 0
        var epochs: [Int: UInt64] = [:]
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
        /// Taken back from a process before the lease ended, which the process cannot know.
        var takenBack: [UInt64: Set<Int>] = [:]
    }

    private let clock: SimClock
    private let isOrdered: Bool
    private let state = Mutex(State())

    init(clock: SimClock, isOrdered: Bool) {
        self.clock = clock
        self.isOrdered = isOrdered
    }

    var ends: [UInt64: End] { state.withLock { $0.ends } }
    var waiting: [UInt64] { state.withLock { $0.rows.keys.sorted() } }
    var waitingLanes: Set<LaneKey> {
        state.withLock { Set($0.rows.values.map { LaneKey($0.delivery) }) }
    }
    /// How many attempts counted.
    var attempts: [UInt64: UInt32] { state.withLock { $0.attempts } }

    func trouble(failures: Double, delayMs: UInt64) {
        state.withLock { ($0.failures, $0.delayMs) = (failures, delayMs) }
    }

    /// How often a delivery went to another lease that its holder could not know of.
    var takenOver: [UInt64: Int] { state.withLock { $0.takenOver } }

    var hastenings: Int { state.withLock { $0.hastenings } }

    /// Whether a process may send a delivery now.
    func isHeld(_ id: UInt64, by process: Int) -> Bool {
        let now = clock.now.steadyMs
        return state.withLock { state in
            if state.takenBack[id]?.contains(process) == true || state.leasedAgain.contains(id) {
                return true
            }
            guard let row = state.rows[id] else { return state.endedBy[id] == process }
            return row.holder?.owner == "\(process)" && row.leasedUntilMs > now
        }
    }

    /// Takes back what an owner's earlier life held, as on a start.
    ///
    /// The store may also do so at any time.
    func takeBack(from process: Int, isAlive: Bool) {
        state.withLock { state in
            state.epochs[process, default: 0] += 1
            for (id, row) in state.rows where row.holder?.owner == "\(process)" {
                if isAlive {
                    state.takenBack[id, default: []].insert(process)
                    state.leasedAgain.insert(id)
                    state.takenOver[id, default: 0] += 1
                }
                state.rows[id]?.giveBack()
            }
        }
    }

    private static func token(_ life: SimClock.Life, _ state: State) -> LeaseToken {
        LeaseToken(owner: "\(life.process)", epoch: state.epochs[life.process] ?? 0)
    }

    /// The lanes with deliveries that nobody holds.
    var dueLanes: Set<LaneKey> {
        let now = clock.now.steadyMs
        return state.withLock { state in
            Set(state.rows.values.filter { $0.leasedUntilMs <= now }.map { LaneKey($0.delivery) })
        }
    }

    /// Commits deliveries; `done` gets the token under which the ones taken over are held.
    func append(
        _ deliveries: [Delivery], taken: Set<UInt64>, of process: SimProcess,
        done: @escaping @Sendable (LeaseToken?) -> Void
    ) {
        perform(process, done) { [clock] state in
            let now = clock.now.unixMs
            let token = Self.token(process.life, state)
            for delivery in deliveries {
                var row = Row(delivery: delivery, dueUnixMs: now)
                if taken.contains(delivery.id) {
                    row.holder = token
                    row.leasedUntilMs = clock.now.steadyMs + SimGateway.leaseMs
                }
                state.rows[delivery.id] = row
                clock.note(
                    delivery.id,
                    "committed for \(delivery.device.app)\(row.holder == nil ? "" : ", taken")")
            }
            return token
        } failed: {
            nil
        }
    }

    fileprivate func lease(
        _ lane: LaneKey, _ wish: LeaseWish, of process: SimProcess,
        done: @escaping @Sendable (StoreLease?) -> Void
    ) {
        perform(process, done) { [clock] state in
            let (now, steadyMs) = (clock.now.unixMs, clock.now.steadyMs)
            let token = Self.token(process.life, state)
            let own = state.rows.values.filter {
                LaneKey($0.delivery) == lane && $0.leasedUntilMs <= steadyMs
            }
            let due = own.filter { $0.dueUnixMs <= now || wish.isProbe }.sorted {
                Self.place($0, wish) < Self.place($1, wish)
            }
            var lease = StoreLease(token: token)
            for row in due.prefix(wish.max) {
                let id = row.delivery.id
                if let former = row.holder {
                    state.takenOver[id, default: 0] += 1
                    if former.owner == token.owner { state.leasedAgain.insert(id) }
                }
                state.takenBack[id]?.remove(process.life.process)
                state.rows[id]?.holder = token
                state.rows[id]?.leasedUntilMs = steadyMs + wish.forMs
                lease.deliveries.append(row.delivery)
                if !row.stale.isEmpty { lease.stale[id] = row.stale }
            }
            for delivery in lease.deliveries {
                clock.note(
                    delivery.id, "lent to \(token.owner)\(wish.isProbe ? " to try" : "")")
            }
            let lent = Set(lease.deliveries.map(\.id))
            let rest = own.filter { !lent.contains($0.delivery.id) }
            lease.hasMore = rest.contains { $0.dueUnixMs <= now }
            let waits = rest.map(\.dueUnixMs).filter { $0 > now }.map { $0 - now }
            let leased = state.rows.values.filter {
                LaneKey($0.delivery) == lane && $0.leasedUntilMs > steadyMs
                    && !lent.contains($0.delivery.id)
            }
            lease.nextDueInMs = (waits + leased.map { $0.leasedUntilMs - steadyMs }).min()
            return lease
        } failed: {
            nil
        }
    }

    private static func place(_ row: Row, _ wish: LeaseWish) -> (Int, Int, UInt64, UInt64) {
        (
            wish.isProbe && row.delivery.attempt > 1 ? 1 : 0, rank(row.delivery), row.dueUnixMs,
            row.delivery.id
        )
    }

    fileprivate func settle(
        _ ends: [LeaseEnd], under token: LeaseToken, of process: SimProcess,
        done: @escaping @Sendable (LeaseRefusal?) -> Void
    ) {
        perform(process, done) { [clock] state in
            guard token == Self.token(process.life, state) else {
                for end in ends {
                    clock.note(end.id, "refused: \(end)")
                    // It was recorded, and is sent again.
                    state.takenOver[end.id, default: 0] += 1
                }
                return .fenced
            }
            var refusal = LeaseRefusal()
            for end in ends {
                guard let row = state.rows[end.id], row.holder == nil || row.holder == token else {
                    clock.note(end.id, "lost: \(end)")
                    refusal.lost.append(end.id)
                    // A late answer, while somebody else tries the delivery.
                    state.takenOver[end.id, default: 0] += 1
                    continue
                }
                clock.note(end.id, "stored: \(end)")
                Self.apply(end, &state, clock.now.unixMs)
                if state.rows[end.id] == nil { state.endedBy[end.id] = process.life.process }
            }
            for case .delivered(_, let new?) in ends { Self.mark(new, &state) }
            return refusal
        } failed: {
            nil
        }
    }

    /// Like a store, it knows the keys of those alone that were tried.
    private static func mark(_ new: Supersession, _ state: inout State) {
        guard let key = new.shown else { return }
        state.accepted[key] = max(state.accepted[key] ?? new.order, new.order)
        for (id, row) in state.rows
        where row.delivery.attempt > 1 && row.delivery.supersession?.shown == key
            && row.delivery.order < new.order
        {
            state.rows[id]?.stale = .shown
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
        perform(process, done) { [clock] state in
            guard token == Self.token(process.life, state) else { return .fenced }
            var refusal = LeaseRefusal()
            for id in ids {
                guard state.rows[id]?.holder == token else {
                    refusal.lost.append(id)
                    continue
                }
                state.rows[id]?.leasedUntilMs = clock.now.steadyMs + forMs
            }
            return refusal
        } failed: {
            nil
        }
    }

    private static func apply(_ change: LeaseEnd, _ state: inout State, _ now: UInt64) {
        guard var row = state.rows[change.id] else { return }
        switch change {
        case .delivered(let id, _):
            state.rows[id] = nil
            state.ends[id] = .delivered
        case .dead(let id, let reason, _):
            state.rows[id] = nil
            state.ends[id] = .dead(reason)
        case .released(let id):
            state.rows[id]?.giveBack()
        case .retry(let id, let wait, _, let isFree):
            row.delivery.attempt += 1
            if isFree {
                row.delivery.freeAttempts += 1
            } else {
                state.attempts[id, default: 0] += 1
            }
            (row.dueUnixMs, row.isFree) = (now + wait, isFree)
            row.giveBack()
            state.rows[id] = row
        }
    }

    func hasten(_ lane: LaneKey, of process: SimProcess) {
        let now = clock.now.unixMs
        perform(process, { (_: Bool) in }) { state in
            state.hastenings += 1
            for (id, row) in state.rows
            where row.isFree && row.dueUnixMs > now && LaneKey(row.delivery) == lane {
                state.rows[id]?.dueUnixMs = now
            }
            return true
        } failed: {
            false
        }
    }

    /// A dead process neither calls nor gets answers, a stopped one gets them later; commits stay.
    private func perform<Answer: Sendable>(
        _ process: SimProcess, _ done: @escaping @Sendable (Answer) -> Void,
        _ work: @escaping @Sendable (inout State) -> Answer,
        failed: @escaping @Sendable () -> Answer
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
            let answer = isFailing ? failed() : state.withLock { work(&$0) }
            if isOrdered, !clock.isStopped(process.life.process) { return done(answer) }
            process.later(ms: isOrdered ? 0 : clock.dice(3)) { done(answer) }
        }
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

func rank(_ delivery: Delivery) -> Int {
    switch delivery.content.notification.priority ?? .normal {
    case .high: 0
    case .normal: 1
    case .low: 2
    }
}
