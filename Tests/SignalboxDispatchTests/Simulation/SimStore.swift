import SignalboxCore
import SignalboxDispatch
import Synchronization

/// A store that keeps what it has committed, whatever happens to the process; slow, and failing at times. Its own
/// clock decides about leases.
///
/// It answers in the order in which it was asked, or in any order (`isOrdered`).
final class SimStore: LaneStore {
    struct Row {
        var delivery: Delivery
        var dueUnixMs: UInt64
        var isFree = false
        var leasedUntilMs: UInt64 = 0
    }

    enum End: Equatable { case delivered, dead(String) }

    private struct State {
        var rows: [UInt64: Row] = [:]
        var ends: [UInt64: End] = [:]
        var attempts: [UInt64: UInt32] = [:]
        var failures = 0.0
        var delayMs: UInt64 = 5
        var busyUntilMs: UInt64 = 0
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
    /// Attempts that counted.
    var attempts: [UInt64: UInt32] { state.withLock { $0.attempts } }

    func trouble(failures: Double, delayMs: UInt64) {
        state.withLock { ($0.failures, $0.delayMs) = (failures, delayMs) }
    }

    /// A start takes back what an earlier life held.
    func reopen() {
        state.withLock { state in
            state.busyUntilMs = 0
            for id in state.rows.keys { state.rows[id]?.leasedUntilMs = 0 }
        }
    }

    /// Commits deliveries; `done` says whether.
    func append(
        _ deliveries: [Delivery], taken: Set<UInt64>, done: @escaping @Sendable (Bool) -> Void
    ) {
        perform(done) { [clock] state in
            let now = clock.now.unixMs
            for delivery in deliveries {
                let until = taken.contains(delivery.id) ? clock.now.steadyMs + 120_000 : 0
                state.rows[delivery.id] = Row(
                    delivery: delivery, dueUnixMs: now, leasedUntilMs: until)
            }
            return true
        } failed: {
            false
        }
    }

    func lease(
        _ lane: LaneKey, _ wish: LeaseWish, done: @escaping @Sendable (StoreLease?) -> Void
    ) {
        perform(done) { [clock] state in
            let (now, steadyMs) = (clock.now.unixMs, clock.now.steadyMs)
            let own = state.rows.values.filter {
                LaneKey($0.delivery) == lane && $0.leasedUntilMs <= steadyMs
            }
            let due = own.filter { $0.dueUnixMs <= now || wish.isProbe }.sorted {
                Self.place($0, wish) < Self.place($1, wish)
            }
            var lease = StoreLease(token: SimStore.token)
            for row in due.prefix(wish.max) {
                state.rows[row.delivery.id]?.leasedUntilMs = steadyMs + 120_000
                lease.deliveries.append(row.delivery)
            }
            for delivery in lease.deliveries {
                clock.note(delivery.id, "lent\(wish.isProbe ? " to try" : "")")
            }
            let lent = Set(lease.deliveries.map(\.id))
            let rest = own.filter { !lent.contains($0.delivery.id) }
            lease.hasMore = rest.contains { $0.dueUnixMs <= now }
            lease.nextDueInMs = rest.map(\.dueUnixMs).filter { $0 > now }.min().map { $0 - now }
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

    func settle(
        _ ends: [LeaseEnd], under token: LeaseToken, outcomes: OutcomePack,
        done: @escaping @Sendable (LeaseRefusal?) -> Void
    ) {
        perform(done) { [clock] state in
            for end in ends {
                clock.note(end.id, "stored: \(end)")
                Self.apply(end, &state, clock.now.unixMs)
            }
            return LeaseRefusal()
        } failed: {
            nil
        }
    }

    func extend(
        _ ids: [UInt64], under token: LeaseToken, forMs: UInt64,
        done: @escaping @Sendable (LeaseRefusal?) -> Void
    ) {
        perform(done) { [clock] state in
            for id in ids where state.rows[id] != nil {
                state.rows[id]?.leasedUntilMs = clock.now.steadyMs + forMs
            }
            return LeaseRefusal()
        } failed: {
            nil
        }
    }

    static let token = LeaseToken(owner: "sim", epoch: 1)

    private static func apply(_ change: LeaseEnd, _ state: inout State, _ now: UInt64) {
        guard var row = state.rows[change.id] else { return }
        switch change {
        case .delivered(let id):
            state.rows[id] = nil
            state.ends[id] = .delivered
        case .dead(let id, let reason, _):
            state.rows[id] = nil
            state.ends[id] = .dead(reason)
        case .released(let id): state.rows[id]?.leasedUntilMs = 0
        case .retry(let id, let wait, _, let isFree):
            row.delivery.attempt += 1
            if isFree {
                row.delivery.freeAttempts += 1
            } else {
                state.attempts[id, default: 0] += 1
            }
            (row.dueUnixMs, row.isFree, row.leasedUntilMs) = (now + wait, isFree, 0)
            state.rows[id] = row
        }
    }

    func hasten(_ lane: LaneKey) {
        let now = clock.now.unixMs
        perform({ (_: Bool) in }) { state in
            for (id, row) in state.rows
            where row.isFree && row.dueUnixMs > now && LaneKey(row.delivery) == lane {
                state.rows[id]?.dueUnixMs = now
            }
            return true
        } failed: {
            false
        }
    }

    /// A dead process neither asks nor hears; what was committed before stays.
    private func perform<Answer: Sendable>(
        _ done: @escaping @Sendable (Answer) -> Void,
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
        clock.later(ms: wait) { [self] in
            let isFailing = clock.chance(state.withLock { $0.failures })
            let answer = isFailing ? failed() : state.withLock { work(&$0) }
            isOrdered ? done(answer) : clock.later(ms: clock.dice(3)) { done(answer) }
        }
    }
}

func rank(_ delivery: Delivery) -> Int {
    switch delivery.content.notification.priority ?? .normal {
    case .high: 0
    case .normal: 1
    case .low: 2
    }
}
