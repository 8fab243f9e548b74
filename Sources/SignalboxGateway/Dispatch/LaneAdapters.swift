internal import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxThreads

/// The gateway's clock, randomness and worker threads, for lanes.
struct GatewayClock: LaneClock {
    let workers: WorkerThreads
    let alarms: AlarmClock
    let inMemory: UnderWay
    /// Milliseconds since 1970.
    let unixMs: @Sendable () -> UInt64

    var now: LaneTime {
        // A clock that counts suspended time, since leases also end while the machine is suspended.
        LaneTime(unixMs: unixMs(), steadyMs: SystemClock.sinceBootNs / 1_000_000)
    }

    func random() -> Double { Double.random(in: 0..<1) }
    func run(_ job: @escaping @Sendable () -> Void) { workers.submitNext(job) }

    func wake(lane: Int, inMs ms: UInt64, _ ring: @escaping @Sendable () -> Void) {
        alarms.set(lane: lane, inMs: ms, ring: ring)
    }

    func after(ms: UInt64, _ ring: @escaping @Sendable () -> Void) {
        alarms.after(ms: ms, ring: ring)
    }

    func adjust(inMemory delta: Int) { inMemory.adjust(by: delta) }
}

/// The gateway's store, as lanes use it.
struct GatewayLaneStore: LaneStore {
    let store: any GatewayStore
    /// Woken when an outcome for receivers was stored.
    let outcomes: OutcomeStream
    /// Milliseconds since 1970.
    let unixMs: @Sendable () -> UInt64
    var isShared: Bool { store.isShared }

    func lease(
        _ lane: LaneKey, _ wish: LeaseWish, done: @escaping @Sendable (StoreLease?) -> Void
    ) {
        store.lease(lane, wish) { result in
            guard let lease = try? result.get() else { return done(nil) }
            look(lease, done)
        }
    }

    /// Marks deliveries whose users have left. If that cannot be looked up, they are released and leased again.
    private func look(_ lease: StoreLease, _ done: @escaping @Sendable (StoreLease?) -> Void) {
        let users = DepartedDevices.users(of: lease.deliveries, nowUnixMs: unixMs())
        guard !users.isEmpty else { return done(lease) }
        store.devices(of: users) { found in
            guard let known = try? found.get() else {
                let ends = lease.deliveries.map { LeaseEnd.released($0.id) }
                return store.settle(ends, under: lease.token, outcomes: OutcomePack()) { _ in
                    done(nil)
                }
            }
            var lease = lease
            lease.departed = DepartedDevices.departed(lease.deliveries, users: users, known)
            done(lease)
        }
    }

    func settle(
        _ ends: [LeaseEnd], under token: LeaseToken, outcomes pack: OutcomePack,
        done: @escaping @Sendable (LeaseRefusal?) -> Void
    ) {
        let outcomes = outcomes
        store.settle(ends, under: token, outcomes: pack) { result in
            let refusal = try? result.get()
            if refusal != nil, !pack.isEmpty { outcomes.wake() }
            done(refusal)
        }
    }

    func extend(
        _ ids: [UInt64], under token: LeaseToken, forMs: UInt64,
        done: @escaping @Sendable (LeaseRefusal?) -> Void
    ) { store.extend(ids, under: token, forMs: forMs) { done(try? $0.get()) } }

    func hasten(_ lane: LaneKey) { store.hasten(lane) }
}
