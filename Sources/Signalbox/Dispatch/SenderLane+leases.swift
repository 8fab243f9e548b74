internal import Logging
internal import SignalboxCore
internal import SignalboxThreads
internal import Synchronization

/// What a lane does with the leases of what it has in memory.
extension SenderLane {
    /// A store that failed is asked again after so many milliseconds.
    static let storePauseMs: UInt64 = 1_000

    /// Ends leases of what has left the window.
    func settle(_ ends: [LeaseEnd], _ outcomes: OutcomePack = OutcomePack()) {
        guard let token = state.withLock({ $0.token }) else {
            // They were lost in the meantime.
            context.inMemory.adjust(by: -ends.count)
            return
        }
        end(ends, outcomes, under: token) {
            self.state.withLock { $0.window.committed(ends.map(\.id)) }
            self.context.inMemory.adjust(by: -ends.count)
        }
    }

    /// Ends leases in the store, and goes on trying until it has done so: what is known of a delivery must
    /// not be lost.
    func end(
        _ ends: [LeaseEnd], _ outcomes: OutcomePack = OutcomePack(), under token: LeaseToken,
        done: @escaping @Sendable () -> Void = {}
    ) {
        context.store.settle(ends, under: token, outcomes: outcomes) { result in
            guard case .success(let refusal) = result else {
                self.context.alarms.after(ms: Self.storePauseMs) {
                    self.end(ends, outcomes, under: token, done: done)
                }
                return
            }
            if !outcomes.isEmpty { self.context.outcomes.wake() }
            if refusal != LeaseRefusal() { self.refused(refusal, ends.count, under: token) }
            done()
        }
    }

    /// Makes the leases of what is in memory last longer, if they have lasted a good part of their time.
    func extendLeases() {
        let (now, leaseMs) = (context.clock(), context.limits.leaseMs)
        let held = state.withLock { state -> (ids: [UInt64], token: LeaseToken)? in
            guard let token = state.token, now >= state.extendedUnixMs + leaseMs / 3 else {
                return nil
            }
            state.extendedUnixMs = now
            return (state.window.heldIDs, token)
        }
        guard let held, !held.ids.isEmpty else { return }
        context.store.extend(held.ids, under: held.token, forMs: leaseMs) { result in
            // After a failure they last as long as they did; the next round tries again.
            guard case .success(let refusal) = result, refusal != LeaseRefusal() else { return }
            let dropped = self.state.withLock { state in
                let lost = refusal.lost.filter { state.window.withdraw($0) }
                state.window.committed(lost)
                return lost.count
            }
            self.context.inMemory.adjust(by: -dropped)
            self.refused(refusal, held.ids.count, under: held.token)
        }
    }

    /// The store says itself what is wrong; it is asked again in a while.
    func leaseFailed() {
        let now = context.clock()
        state.withLock { state in
            state.isLeasing = false
            state.nextDueUnixMs = min(state.nextDueUnixMs ?? .max, now + Self.storePauseMs)
        }
        setAlarm()
    }

    /// Somebody else has what this lane thought it held: it is theirs now.
    private func refused(_ refusal: LeaseRefusal, _ count: Int, under token: LeaseToken) {
        context.metrics.leasesLost(key, count: refusal.isFenced ? count : refusal.lost.count)
        guard refusal.isFenced else { return }
        let dropped = state.withLock { state -> Int in
            guard state.token == token else { return 0 }
            state.token = nil
            state.hasBacklog = true
            return state.window.removeAll().count
        }
        context.inMemory.adjust(by: -dropped)
        context.logger.warning(
            "leases were lost to another gateway, its deliveries are dropped here",
            metadata: ["plugin.instance": "\(key.sender)", "app": "\(key.app)"])
        kick()
    }
}

extension SenderLane.State {
    /// Takes leased deliveries in; what is held under an older token is somebody else's by now. By how many more
    /// are in memory.
    mutating func hold(_ deliveries: [Delivery], under token: LeaseToken) -> Int {
        guard !deliveries.isEmpty else { return 0 }
        var dropped = 0
        if let known = self.token, known != token {
            // An answer that was overtaken by one of a later life.
            if known.owner == token.owner, known.epoch > token.epoch { return 0 }
            dropped = window.removeAll().count
            hasBacklog = true
        }
        self.token = token
        return window.arrive(deliveries) - dropped
    }
}
