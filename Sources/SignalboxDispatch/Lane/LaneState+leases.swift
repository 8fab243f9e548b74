public import SignalboxCore

/// The token under which the lane holds deliveries, and for how long.
///
/// *Held*: it may send. *Given up*: the store has not confirmed the leases in time, so another gateway may soon send
/// the same deliveries. Then nothing is offered or leased until an extension succeeds or all outcomes in flight have
/// arrived.
extension LaneState {
    /// It may not send, since its leases are about to end.
    func isGivenUp(_ now: LaneTime) -> Bool {
        window.count > 0 && term.isOver(now.steadyMs, leaseMs: rules.leaseMs)
    }

    /// From this steady time on nothing may leave, not even requests the carrier already has.
    var heldUntilMs: UInt64 { term.endMs(leaseMs: rules.leaseMs) }

    /// Adds deliveries leased by a request at `askedMs`. Another holder has those held under an older token by now.
    mutating func take(
        _ deliveries: [Delivery], under token: LeaseToken, askedMs: UInt64,
        into effects: inout LaneEffects
    ) {
        guard !deliveries.isEmpty else { return }
        if let known = self.token, known != token {
            // A late answer from an earlier epoch: the store has taken these back.
            if known.owner == token.owner, known.epoch > token.epoch { return noteBacklog() }
            dropAll(into: &effects)
        }
        self.token = token
        usedMs = max(usedMs, askedMs)
        if window.count == 0 { term = LeaseTerm() }
        term.took(askedMs: askedMs)
        effects.arrived += window.arrive(deliveries)
    }

    /// The store leased these to the lane's successor under the same owner, because their leases had ended. Those in
    /// flight here stay, so that their outcome counts and they are not sent twice; `rest` are the others.
    mutating func retake(
        _ deliveries: [Delivery], under token: LeaseToken, askedMs: UInt64
    ) -> (rest: [Delivery], effects: LaneEffects) {
        var effects = LaneEffects()
        let own = deliveries.filter { window.isUnderWay($0.id) }
        guard !own.isEmpty else { return (deliveries, effects) }
        if life != .stopped { take(own, under: token, askedMs: askedMs, into: &effects) }
        let ids = Set(own.map(\.id))
        return (deliveries.filter { !ids.contains($0.id) }, effects)
    }

    /// Called periodically: extends leases (not those of deliveries that have not moved since the last call), drops
    /// what could not be extended, keeps to its share, and writes due log lines. `isShared`: others use the store.
    public mutating func tended(_ now: LaneTime, isShared: Bool = false) -> LaneEffects {
        var effects = LaneEffects()
        if restedMs(now) == nil { usedMs = now.steadyMs }
        effects.lines = lines.due(nowMs: now.steadyMs)
        giveUpIfOver(now, into: &effects)
        keepShare(now, isShared: isShared, into: &effects)
        if let token, term.wantsExtension(now.steadyMs, leaseMs: rules.leaseMs) {
            // Released, since leasing again checks whether their devices still belong to these users.
            for delivery in window.takeStanding() {
                effects.endings.append(released(delivery, now))
            }
            let ids = window.heldIDs
            guard !ids.isEmpty else { return effects }
            term.asked()
            effects.extension = LeaseExtension(
                ids: ids, token: token, forMs: rules.leaseMs, askedMs: now.steadyMs)
        }
        return effects
    }

    /// The store extended leases, except those it refused; if it failed, it is asked again.
    public mutating func extended(
        _ wish: LeaseExtension, _ refusal: LeaseRefusal?, _ now: LaneTime
    ) -> LaneEffects {
        guard let refusal else {
            term.notExtended()
            return LaneEffects()
        }
        guard !refusal.isFenced else { return fenced(under: wish.token, now) }
        term.extended(askedMs: wish.askedMs)
        if !isGivenUp(now) { term.isGivenUp = false }
        var effects = turnSoon()
        lose(refusal.lost, now, into: &effects)
        return effects
    }

    /// The token is outdated: another holder has everything the lane held.
    public mutating func fenced(under token: LeaseToken, _ now: LaneTime) -> LaneEffects {
        term.notExtended()
        guard self.token == token else { return LaneEffects() }
        var effects = turnSoon()
        let count = dropAll(into: &effects)
        tell("fenced", count, now, into: &effects)
        return effects
    }

    /// Another gateway holds these: unsent requests are recalled, and their outcomes do not count.
    private mutating func lose(_ ids: [UInt64], _ now: LaneTime, into effects: inout LaneEffects) {
        let flying = window.inFlightCount
        let count = window.drop(ids)
        guard count > 0 else { return }
        effects.isWithdrawal = window.inFlightCount < flying
        for id in ids { overdue[id] = nil }
        health.probesDropped(ids)
        // Due when the new holder's leases end, in case it does nothing.
        noteDue(now.steadyMs + rules.leaseMs)
        effects.arrived -= count
        tell("taken_over", count, now, into: &effects)
    }

    /// The leases end soon. Unsent deliveries are dropped, and the store leases them again afterwards. Requests in
    /// flight end here; the store decides whether their outcomes count.
    mutating func giveUpIfOver(_ now: LaneTime, into effects: inout LaneEffects) {
        guard isGivenUp(now) else { return }
        let count = window.drop(window.readyIDs)
        effects.arrived -= count
        if count > 0 { disk.hasBacklog = true }
        if !term.isGivenUp {
            term.isGivenUp = true
            effects.isWithdrawal = window.inFlightCount > 0
        }
        tell("not_extended", count, now, into: &effects)
    }

    /// Drops deliveries that came back unsent after that.
    mutating func drop(unsent ids: [UInt64], into effects: inout LaneEffects) {
        effects.arrived -= window.drop(ids)
        for id in ids { _ = window.settle(id) }
        disk.hasBacklog = true
    }

    mutating func tell(
        _ reason: String, _ count: Int, _ now: LaneTime, into effects: inout LaneEffects
    ) {
        guard count > 0 else { return }
        effects.leasesLost += count
        let line = lines.note(.lost, reason, count: count, detail: "", nowMs: now.steadyMs)
        if let line { effects.lines.append(line) }
    }

    /// Drops all deliveries held; returns how many.
    @discardableResult
    private mutating func dropAll(into effects: inout LaneEffects) -> Int {
        token = nil
        term = LeaseTerm()
        disk.hasBacklog = true
        overdue = [:]
        ended = []
        effects.isWithdrawal = window.inFlightCount > 0
        let held = window.heldIDs
        health.probesDropped(held)
        let count = window.drop(held)
        effects.arrived -= count
        return count
    }
}
