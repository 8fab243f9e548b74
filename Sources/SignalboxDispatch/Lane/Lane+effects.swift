internal import SignalboxCore
internal import Synchronization

/// What the state asks to be done.
extension Lane {
    func perform(_ effects: LaneEffects) {
        guard !effects.isEmpty else { return }
        if effects.arrived != 0 { world.clock.adjust(inMemory: effects.arrived) }
        if !effects.endings.isEmpty { settle(effects.endings) }
        if let late = effects.returned { giveBack(late) }
        for line in effects.lines { world.outcomeSink.write(line, of: key) }
        if effects.isWithdrawal { carrier.withdraw() }
        if effects.isHaste { world.store.hasten(key) }
        for change in effects.holds { turned(change) }
        if effects.isForSuccessor { onReturned() }
        if effects.leasesLost > 0 { world.outcomeSink.leasesLost(key, count: effects.leasesLost) }
        if let wish = effects.extension { extend(wish) }
        if let wish = effects.wish {
            let askedMs = world.clock.now.steadyMs
            world.store.lease(key, wish) { lease in
                let lease = lease.map { self.withoutUnderWay($0, askedMs: askedMs) }
                self.step { state, now in state.leased(lease, wish, now) }
            }
        }
        if let ms = effects.wakeInMs {
            world.clock.wake(lane: number, inMs: ms) {
                self.step { state, _ in state.woken() }
            }
        }
        if effects.isTurn { world.clock.run { self.run() } }
    }

    /// Leaves to a predecessor what it still has in flight: the store leases it again if a pause exceeds its lease.
    ///
    /// If the store refuses its outcome because the lease is from a later run, nobody has it until this lease ends.
    func withoutUnderWay(_ lease: StoreLease, askedMs: UInt64) -> StoreLease {
        var lease = lease
        for lane in predecessors() where !lease.deliveries.isEmpty {
            let (rest, leaseMs, effects) = lane.change {
                let (rest, effects) = $0.retake(
                    lease.deliveries, under: lease.token, askedMs: askedMs)
                return (rest, $0.rules.leaseMs, effects)
            }
            if rest.count < lease.deliveries.count {
                lease.nextDueInMs = min(lease.nextDueInMs ?? leaseMs, leaseMs)
            }
            lease.deliveries = rest
            lane.perform(effects)
        }
        return lease
    }

    func settle(_ endings: [LaneEnding]) {
        // By index: a loop over the elements copies each ending with its texts.
        for index in endings.indices where endings[index].outcome.kind == .auth {
            carrier.credentialRefused(endings[index].outcome.credential)
        }
        guard let token = locked({ $0.state.token }) else {
            // Their leases were lost meanwhile: the new holder reports their outcome.
            return world.clock.adjust(inMemory: -endings.count)
        }
        let pack = world.outcomeSink.record(endings)
        settle(world.outcomeSink.ends(of: endings), under: token, pack, wereLate: false)
    }

    /// Repeats until the store has them: an accepted push must not be sent again.
    func settle(
        _ ends: [LeaseEnd], under token: LeaseToken, _ pack: OutcomePack, wereLate: Bool
    ) {
        world.store.settle(ends, under: token, outcomes: pack) { refusal in
            guard let refusal else {
                if !wereLate { self.locked { $0.state.unsettled(ends.count) } }
                self.world.clock.after(ms: LaneState.settlePauseMs) {
                    self.settle(ends, under: token, pack, wereLate: true)
                }
                return
            }
            self.step { state, now in
                state.stored(ends, refusal, wereLate: wereLate, now)
            }
            self.world.clock.adjust(inMemory: -ends.count)
            if refusal.isFenced { self.step { state, now in state.fenced(under: token, now) } }
        }
    }

    /// Releases deliveries leased too late for this lane, or lets their leases run out. A successor leases under the
    /// same token, so those it may hold by now must not be released.
    func giveBack(_ late: LaneReturn) {
        guard world.clock.now.steadyMs < late.endMs else { return onReturned() }
        world.store.settle(late.ends, under: late.token, outcomes: OutcomePack()) { refusal in
            if refusal != nil { return self.onReturned() }
            self.world.clock.after(ms: LaneState.pauseMs) { self.giveBack(late) }
        }
    }

    func extend(_ wish: LeaseExtension) {
        world.store.extend(wish.ids, under: wish.token, forMs: wish.forMs) { refusal in
            self.step { state, now in state.extended(wish, refusal, now) }
        }
    }

    func turned(_ change: LaneHoldChange) {
        world.outcomeSink.held(key, change)
        switch change {
        case .held(let cause, let why):
            guard let why, why.scope == .instance, cause != .down else { return }
            for lane in siblings() {
                let chance = world.clock.random()
                lane.step { state, now in state.hear(why, now, random: chance) }
            }
        case .back(let cause, _):
            // Deliveries that wait only for the provider are due now.
            world.store.hasten(key)
            for lane in siblings() { lane.step { state, _ in state.tryNow(after: cause) } }
        case .forgotten: break
        }
    }
}
