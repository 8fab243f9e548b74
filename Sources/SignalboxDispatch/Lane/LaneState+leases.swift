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
        into todo: inout LaneTodo
    ) {
        guard !deliveries.isEmpty else { return }
        if let known = self.token, known != token {
            // A late answer from an earlier epoch: the store has taken these back.
            if known.owner == token.owner, known.epoch > token.epoch { return noteBacklog() }
            dropAll(into: &todo)
        }
        self.token = token
        usedMs = max(usedMs, askedMs)
        if window.count == 0 { term = LeaseTerm() }
        term.took(askedMs: askedMs)
        todo.arrived += window.arrive(deliveries)
    }

    /// The store leased these to the lane's successor under the same owner, because their leases had ended. Those in
    /// flight here stay, so that their outcome counts and they are not sent twice; `rest` are the others.
    mutating func retake(
        _ deliveries: [Delivery], under token: LeaseToken, askedMs: UInt64
    ) -> (rest: [Delivery], todo: LaneTodo) {
        var todo = LaneTodo()
        let own = deliveries.filter { window.isUnderWay($0.id) }
        guard !own.isEmpty else { return (deliveries, todo) }
        if life != .stopped { take(own, under: token, askedMs: askedMs, into: &todo) }
        let ids = Set(own.map(\.id))
        return (deliveries.filter { !ids.contains($0.id) }, todo)
    }

    /// Called periodically: extends leases (not those of deliveries that have not moved since the last call), drops
    /// what could not be extended, keeps to its share, and writes due log lines. `isShared`: others use the store.
    public mutating func tended(_ now: LaneTime, isShared: Bool = false) -> LaneTodo {
        var todo = LaneTodo()
        if restedMs(now) == nil { usedMs = now.steadyMs }
        todo.lines = lines.due(nowMs: now.steadyMs)
        giveUpIfOver(now, into: &todo)
        keepShare(now, isShared: isShared, into: &todo)
        if let token, term.wantsExtension(now.steadyMs, leaseMs: rules.leaseMs) {
            // Released, since leasing again checks whether their devices still belong to these users.
            for delivery in window.takeStanding() { todo.endings.append(released(delivery, now)) }
            let ids = window.heldIDs
            guard !ids.isEmpty else { return todo }
            term.asked()
            todo.extension = LeaseExtension(
                ids: ids, token: token, forMs: rules.leaseMs, askedMs: now.steadyMs)
        }
        return todo
    }

    /// The store extended leases, except those it refused; if it failed, it is asked again.
    public mutating func extended(
        _ wish: LeaseExtension, _ refusal: LeaseRefusal?, _ now: LaneTime
    ) -> LaneTodo {
        guard let refusal else {
            term.notExtended()
            return LaneTodo()
        }
        guard !refusal.isFenced else { return fenced(under: wish.token, now) }
        term.extended(askedMs: wish.askedMs)
        if !isGivenUp(now) { term.isGivenUp = false }
        var todo = turnSoon()
        lose(refusal.lost, now, into: &todo)
        return todo
    }

    /// The token is outdated: another holder has everything the lane held.
    public mutating func fenced(under token: LeaseToken, _ now: LaneTime) -> LaneTodo {
        term.notExtended()
        guard self.token == token else { return LaneTodo() }
        var todo = turnSoon()
        let count = dropAll(into: &todo)
        tell("fenced", count, now, into: &todo)
        return todo
    }

    /// Another gateway holds these: unsent requests are recalled, and their outcomes do not count.
    private mutating func lose(_ ids: [UInt64], _ now: LaneTime, into todo: inout LaneTodo) {
        let flying = window.inFlightCount
        let count = window.drop(ids)
        guard count > 0 else { return }
        todo.isWithdrawal = window.inFlightCount < flying
        for id in ids { overdue[id] = nil }
        health.probesDropped(ids)
        // Due when the new holder's leases end, in case it does nothing.
        noteDue(now.steadyMs + rules.leaseMs)
        todo.arrived -= count
        tell("taken_over", count, now, into: &todo)
    }

    /// The leases end soon. Unsent deliveries are dropped, and the store leases them again afterwards. Requests in
    /// flight end here; the store decides whether their outcomes count.
    mutating func giveUpIfOver(_ now: LaneTime, into todo: inout LaneTodo) {
        guard isGivenUp(now) else { return }
        let count = window.drop(window.readyIDs)
        todo.arrived -= count
        if count > 0 { disk.hasBacklog = true }
        if !term.isGivenUp {
            term.isGivenUp = true
            todo.isWithdrawal = window.inFlightCount > 0
        }
        tell("not_extended", count, now, into: &todo)
    }

    /// Drops deliveries that came back unsent after that.
    mutating func drop(unsent ids: [UInt64], into todo: inout LaneTodo) {
        todo.arrived -= window.drop(ids)
        for id in ids { _ = window.settle(id) }
        disk.hasBacklog = true
    }

    mutating func tell(
        _ reason: String, _ count: Int, _ now: LaneTime, into todo: inout LaneTodo
    ) {
        guard count > 0 else { return }
        todo.leasesLost += count
        let line = lines.note(.lost, reason, count: count, detail: "", nowMs: now.steadyMs)
        if let line { todo.lines.append(line) }
    }

    /// Drops all deliveries held; returns how many.
    @discardableResult
    private mutating func dropAll(into todo: inout LaneTodo) -> Int {
        token = nil
        term = LeaseTerm()
        disk.hasBacklog = true
        overdue = [:]
        ended = []
        todo.isWithdrawal = window.inFlightCount > 0
        let held = window.heldIDs
        health.probesDropped(held)
        let count = window.drop(held)
        todo.arrived -= count
        return count
    }
}
