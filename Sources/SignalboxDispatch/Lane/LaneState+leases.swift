public import SignalboxCore

/// Under which token the lane holds what is in memory, and for how long.
///
/// *Held*: it may send. *Given up*: the store has not confirmed the leases in time, and by now another gateway may
/// be about to send them. Then nothing is offered and nothing is leased, until an extension succeeds or the outcomes
/// of what is in flight have come.
extension LaneState {
    /// It may not send: its leases are about to end.
    func isGivenUp(_ now: LaneTime) -> Bool {
        window.count > 0 && term.isOver(now.steadyMs, leaseMs: rules.leaseMs)
    }

    /// Nothing may leave from this steady time on, not even what the carrier has already.
    var heldUntilMs: UInt64 { term.endMs(leaseMs: rules.leaseMs) }

    /// Takes leased deliveries in, that were asked for at a time; what is held under an older token is somebody
    /// else's by now.
    mutating func take(
        _ deliveries: [Delivery], under token: LeaseToken, askedMs: UInt64,
        into todo: inout LaneTodo
    ) {
        guard !deliveries.isEmpty else { return }
        if let known = self.token, known != token {
            // An answer that was overtaken by one of a later life: the store has taken these back.
            if known.owner == token.owner, known.epoch > token.epoch { return noteBacklog() }
            dropAll(into: &todo)
        }
        self.token = token
        usedMs = max(usedMs, askedMs)
        if window.count == 0 { term = LeaseTerm() }
        term.took(askedMs: askedMs)
        todo.arrived += window.arrive(deliveries)
    }

    /// The store has lent these to the lane's successor, under the same owner's token, because their leases had ended.
    /// What is under way here stays here, so that its outcome counts and nobody sends it again; `rest`: the others.
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

    /// Now and then, whatever the lane is doing: extends leases in time, but those of deliveries that have not moved since
    /// the last time, gives up what could not be extended, keeps no more than its share, and writes the log lines whose interval is over. `isShared`: other gateways use the store.
    public mutating func tended(_ now: LaneTime, isShared: Bool = false) -> LaneTodo {
        var todo = LaneTodo()
        if restedMs(now) == nil { usedMs = now.steadyMs }
        todo.lines = lines.due(nowMs: now.steadyMs)
        giveUpIfOver(now, into: &todo)
        keepShare(now, isShared: isShared, into: &todo)
        if let token, term.wantsExtension(now.steadyMs, leaseMs: rules.leaseMs) {
            // The next lease looks whether their devices still have these users.
            for delivery in window.takeStanding() { todo.endings.append(released(delivery, now)) }
            let ids = window.heldIDs
            guard !ids.isEmpty else { return todo }
            term.asked()
            todo.extension = LeaseExtension(
                ids: ids, token: token, forMs: rules.leaseMs, askedMs: now.steadyMs)
        }
        return todo
    }

    /// The store has extended leases but those that it refused, or could not: then it is asked again.
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

    /// The token is outdated: somebody else has all that the lane thought it held.
    public mutating func fenced(under token: LeaseToken, _ now: LaneTime) -> LaneTodo {
        term.notExtended()
        guard self.token == token else { return LaneTodo() }
        var todo = turnSoon()
        let count = dropAll(into: &todo)
        tell("fenced", count, now, into: &todo)
        return todo
    }

    /// Somebody else has these. What may still be unsent is called back, and no outcome of theirs counts any more.
    private mutating func lose(_ ids: [UInt64], _ now: LaneTime, into todo: inout LaneTodo) {
        let flying = window.inFlightCount
        let count = window.drop(ids)
        guard count > 0 else { return }
        todo.isWithdrawal = window.inFlightCount < flying
        for id in ids { overdue[id] = nil }
        health.probesDropped(ids)
        // If their owner does nothing with them, they are due then.
        noteDue(now.steadyMs + rules.leaseMs)
        todo.arrived -= count
        tell("taken_over", count, now, into: &todo)
    }

    /// The leases end soon. What was not sent is dropped: the store lends it when they have ended. What is in flight
    /// ends here; whether that counts is up to the store.
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

    /// These came back unsent after that.
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

    /// Forgets all that is held; how many deliveries that were.
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
