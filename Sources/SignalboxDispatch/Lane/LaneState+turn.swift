public import SignalboxCore

/// Turns: a worker runs them until one is empty.
extension LaneState {
    /// Results of requests.
    public mutating func answered(_ results: [PushResult]) -> LaneEffects {
        if inbox.results.isEmpty { inbox.results = results } else { inbox.results += results }
        return turnSoon()
    }

    /// Outcomes from a plugin with a transport of its own.
    public mutating func learned(_ outcomes: [Outcome]) -> LaneEffects {
        if inbox.outcomes.isEmpty { inbox.outcomes = outcomes } else { inbox.outcomes += outcomes }
        return turnSoon()
    }

    /// The alarm rings.
    public mutating func woken() -> LaneEffects { turnSoon() }

    /// The work to do now. After the last turn the lane rests until something happens.
    ///
    /// `batchMax`: most deliveries the carrier takes per call.
    public mutating func turn(_ now: LaneTime, batchMax: Int? = nil) -> LaneTurn {
        var turn = LaneTurn()
        giveUpIfOver(now, into: &turn.effects)
        if paused.isWhole { releaseReady(into: &turn.effects, now) }
        sort(&turn)
        turn.pauseEndings = pause.endings
        take(into: &turn, min(rules.batchMax, batchMax ?? .max), now)
        turn.isLast =
            turn.responses.isEmpty && turn.late.isEmpty && turn.outcomes.isEmpty
            && turn.batch.isEmpty && turn.effects.endings.isEmpty
        guard turn.isLast else { return turn }
        isScheduled = false
        if life == .stopping {
            turn.effects.add(end(now))
        } else if life != .stopped {
            turn.effects.wish = nextWish(now)
            turn.effects.wakeInMs = nextWaitMs(now)
        }
        return turn
    }

    private mutating func sort(_ turn: inout LaneTurn) {
        guard !inbox.isEmpty else { return }
        let results = inbox.results
        turn.outcomes = inbox.outcomes
        inbox = Inbox()
        turn.responses.reserveCapacity(results.count)
        for result in results {
            if !result.origin.isEmpty { health.spread() }
            switch result.answer {
            case .response(let response):
                if !result.origin.isEmpty {
                    for item in result.items { origins[item] = result.origin }
                }
                if result.isLate {
                    turn.late.append(response)
                } else {
                    turn.responses.append(response)
                }
            case .fault(let fault):
                for item in result.items {
                    var outcome = DeliveryDecision.outcome(
                        of: fault, item: item, isAtMostOnce: rules.traits.isAtMostOnce)
                    outcome.detail = result.detail
                    // The delivery must still be here when a late answer arrives.
                    if fault == .timeout { outcome.retryAfterMs = rules.traits.lateAnswerMs }
                    turn.outcomes.append(outcome)
                }
            }
        }
    }

    private mutating func take(into turn: inout LaneTurn, _ batchMax: Int, _ now: LaneTime) {
        guard life.rawValue < Life.stopping.rawValue, !isGivenUp(now), !paused.isWhole
        else { return }
        if let until = pause.untilMs {
            guard now.steadyMs >= until else { return }
            pause.untilMs = nil
        }
        var most = batchMax
        var isProbe = false
        switch health.breaker.permission(nowMs: now.steadyMs) {
        case .all:
            let flying = window.inFlightCount
            most = min(most, health.room(inFlight: flying), max(0, share.max - flying))
        case .none: return
        case .probe:
            isProbe = true
            most = 1
        }
        let busy = rules.traits.keepsOrder ? window.stableIDsInFlight : []
        let next = window.next(max: most, nowUnixMs: now.unixMs)
        turn.batch = next.batch
        endCancelled(in: &turn.batch, now, into: &turn.effects)
        putAside(from: &turn.batch, now, into: &turn.effects)
        if rules.traits.keepsOrder { holdBackFollowers(in: &turn.batch, of: busy) }
        for delivery in next.expired {
            overdue[delivery.id] = nil
            turn.effects.endings.append(
                ended(
                    delivery, .failed(reason: "expired", wasSent: false),
                    Outcome(item: delivery.id, kind: .rejected, reason: "expired"), now))
        }
        endSuperseded(in: &turn.batch, now, into: &turn.effects)
        if isProbe, let first = turn.batch.first { health.probe(first.id, nowMs: now.steadyMs) }
    }

    /// Holds back deliveries whose predecessor has no outcome yet; its outcome triggers a turn.
    private mutating func holdBackFollowers(in batch: inout [Delivery], of busy: Set<String>) {
        var busy = busy
        var followers: [Delivery] = []
        batch = batch.filter { delivery in
            if busy.insert(delivery.stableID).inserted { return true }
            followers.append(delivery)
            return false
        }
        if !followers.isEmpty { window.giveBack(followers) }
    }

    /// The plugin cannot take these now: they are offered again when it says so, or a second later.
    ///
    /// `pauseEndings`: from the turn that offered them. If it has changed, the plugin is asked again at once.
    public mutating func heldBack(_ batch: [Delivery], pauseEndings: Int, _ now: LaneTime) {
        window.giveBack(batch)
        health.probeReturned()
        if pause.endings == pauseEndings { pause.untilMs = now.steadyMs + Self.pauseMs }
    }

    /// The plugin may have what it waited for: a credential, or room.
    public mutating func resume() -> LaneEffects {
        pause.untilMs = nil
        pause.endings += 1
        pause.credential = nil
        return turnSoon()
    }

    /// How long until something is due; nil if nothing is.
    private func nextWaitMs(_ now: LaneTime) -> UInt64? {
        guard !paused.isWhole else { return nil }
        var wait = UInt64.max
        func atSteady(_ ms: UInt64) { wait = min(wait, ms - min(ms, now.steadyMs)) }
        if let until = pause.untilMs { atSteady(until) }
        if case .none(let until) = health.breaker.permission(nowMs: now.steadyMs) {
            // With nothing in memory, only an open lane can lease a probe.
            if life == .open || window.readyCount > 0 { atSteady(until) }
        } else if life == .open, !disk.isLeasing {
            if let due = disk.nextDueMs { atSteady(due) }
            if disk.hasBacklog, disk.retryMs > now.steadyMs { atSteady(disk.retryMs) }
        }
        return wait == .max ? nil : min(wait, Self.lookMs)
    }

    // MARK: Shutdown

    /// Leases nothing more; what is in memory is still sent.
    public mutating func drain() { if life == .open { life = .draining } }

    /// Returns unsent deliveries for a successor that sends them elsewhere; requests in flight end here.
    public mutating func leave(_ now: LaneTime) -> LaneEffects {
        guard life.rawValue < Life.leaving.rawValue else { return LaneEffects() }
        life = .leaving
        var effects = turnSoon()
        effects.isWithdrawal = true
        releaseReady(into: &effects, now)
        return effects
    }

    /// All requests have results: reads them, then ends.
    public mutating func stop(_ now: LaneTime) -> LaneEffects {
        guard life.rawValue < Life.stopping.rawValue else { return LaneEffects() }
        life = .stopping
        guard !isScheduled, inbox.isEmpty else { return turnSoon() }
        return end(now)
    }

    /// Ends now: unsent deliveries are released and due at once.
    public mutating func end(_ now: LaneTime) -> LaneEffects {
        var effects = LaneEffects()
        guard life != .stopped else { return effects }
        life = .stopped
        for delivery in window.removeAll() { effects.endings.append(released(delivery, now)) }
        effects.lines = lines.flush()
        return effects
    }

    mutating func releaseReady(into effects: inout LaneEffects, _ now: LaneTime) {
        for delivery in window.takeReady() { effects.endings.append(released(delivery, now)) }
    }

    func released(_ delivery: Delivery, _ now: LaneTime) -> LaneEnding {
        LaneEnding(
            delivery, .released,
            Outcome(item: delivery.id, kind: .retry, reason: TransportFault.withdrawn.rawValue),
            unixMs: now.unixMs)
    }
}
