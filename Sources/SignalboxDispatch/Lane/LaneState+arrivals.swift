public import SignalboxCore

/// Arrivals: from events being committed and from the disk.
extension LaneState {
    /// Reserves room for deliveries that are being committed; returns those it takes at once.
    public mutating func reserve(_ deliveries: [Delivery]) -> Set<UInt64> {
        // What waits on disk is older and goes first.
        guard life == .open, !disk.hasBacklog, !disk.isLeasing, disk.unsettledCount == 0,
            !health.breaker.isOpen, !term.isGivenUp || window.count == 0, !paused.isWhole
        else { return [] }
        guard !paused.routes.isEmpty else { return window.reserve(deliveries) }
        return window.reserve(deliveries.filter { paused.routes[$0.route] == nil })
    }

    /// Deliveries are on disk: `taken` were reserved at `askedMs`; `isMoreOnDisk` says whether others wait there.
    ///
    /// `isServed` is false if the lane is ending; what is on disk is then for its successor.
    public mutating func committed(
        _ taken: [Delivery], under token: LeaseToken, askedMs: UInt64, isMoreOnDisk: Bool
    ) -> (isServed: Bool, effects: LaneEffects) {
        window.release(reserved: taken.count)
        if isMoreOnDisk { noteBacklog() }
        var effects = turnSoon()
        if life == .open || life == .draining {
            take(taken, under: token, askedMs: askedMs, into: &effects)
        } else {
            effects.returned = back(taken, token, askedMs)
        }
        return (life == .open, effects)
    }

    /// The commit failed: its room is free for what waits on disk.
    public mutating func cancelled(_ count: Int) -> LaneEffects {
        window.release(reserved: count)
        return disk.hasBacklog ? turnSoon() : LaneEffects()
    }

    /// Something waits on disk.
    public mutating func backlog() -> LaneEffects {
        noteBacklog()
        return turnSoon()
    }

    mutating func noteBacklog() {
        disk.hasBacklog = true
        disk.hasNews = disk.isLeasing
    }

    // MARK: The disk

    /// What to ask the store for; nil if there is no room or nothing is due.
    mutating func nextWish(_ now: LaneTime) -> LeaseWish? {
        if let due = disk.nextDueMs, due <= now.steadyMs {
            disk.nextDueMs = nil
            disk.hasBacklog = true
        }
        // A held lane with nothing in memory asks anyway: if nothing is on disk either, the hold is over.
        let isCurious = hold != nil && window.isEmpty && disk.nextDueMs == nil
        guard life == .open, disk.hasBacklog || isCurious, !disk.isLeasing,
            disk.unsettledCount == 0, disk.retryMs <= now.steadyMs, !isGivenUp(now), !paused.isWhole
        else { return nil }
        let room: Int
        var isProbe = false
        switch health.breaker.permission(nowMs: now.steadyMs) {
        // While the provider accepts nothing, the rest stays on disk.
        case .none: return nil
        case .probe:
            isProbe = true
            room = window.readyCount == 0 ? min(1, window.room) : 0
        case .all:
            let isLow = window.count < max(1, min(rules.inMemoryMax, share.max) / 2)
            room = isLow ? min(1_024, window.room) : 0
        }
        guard room > 0 else { return nil }
        disk.isLeasing = true
        disk.askedMs = now.steadyMs
        disk.hasNews = false
        return LeaseWish(max: room, forMs: rules.leaseMs, isProbe: isProbe)
    }

    /// The store leased deliveries, or failed and is asked again a second later.
    public mutating func leased(
        _ lease: StoreLease?, _ wish: LeaseWish, _ now: LaneTime
    ) -> LaneEffects {
        disk.isLeasing = false
        guard let lease else {
            // The failed request may have been made without a backlog, to end a hold: it must be repeated.
            disk.hasBacklog = true
            disk.retryMs = now.steadyMs + Self.pauseMs
            return turnSoon()
        }
        // A probe need not be due, so its lease does not tell what else is.
        disk.hasBacklog =
            lease.hasMore || disk.hasNews || (wish.isProbe && !lease.deliveries.isEmpty)
        if let wait = lease.nextDueInMs { noteDue(now.steadyMs + wait) }
        var effects = turnSoon()
        guard life == .open || life == .draining else {
            effects.returned = back(lease.deliveries, lease.token, disk.askedMs)
            return effects
        }
        var lent =
            ended.isEmpty
            ? lease.deliveries : lease.deliveries.filter { !ended.contains($0.id) }
        if !lease.stale.isEmpty {
            lent = lent.map { $0.without(lease.stale[$0.id] ?? []) ?? $0 }
        }
        let before = window.count
        take(lent, under: lease.token, askedMs: disk.askedMs, into: &effects)
        if window.count < before + lent.count {
            // The store answered out of order: it leased these before the lane heard that their release was stored.
            effects.returned = back(
                lent.filter { window.isSettling($0.id) }, lease.token, disk.askedMs)
        }
        if !lease.departed.isEmpty { endDeparted(lent, lease.departed, now, into: &effects) }
        if !lease.stale.isEmpty { endSuperseded(lent, lease.stale, now, into: &effects) }
        if wish.isProbe, lease.deliveries.isEmpty,
            lease.nextDueInMs == nil || health.mayBeMended
        {
            forgetHold(now, into: &effects)
        }
        return effects
    }

    /// Ends deliveries whose device has a new user, who must not see them.
    private mutating func endDeparted(
        _ lent: [Delivery], _ departed: Set<UInt64>, _ now: LaneTime,
        into effects: inout LaneEffects
    ) {
        for delivery in lent where departed.contains(delivery.id) {
            guard window.withdraw(delivery.id) else { continue }
            overdue[delivery.id] = nil
            // A forgotten user has left, too, but the order to forget is the reason to report.
            let reason = paused.cancelReason(of: delivery) ?? Self.departedReason
            effects.endings.append(cancelled(delivery, reason, now))
        }
    }

    private func back(
        _ deliveries: [Delivery], _ token: LeaseToken, _ askedMs: UInt64
    ) -> LaneReturn? {
        guard !deliveries.isEmpty else { return nil }
        return LaneReturn(
            ids: deliveries.map(\.id), token: token, endMs: askedMs + rules.leaseMs / 2)
    }

    mutating func noteDue(_ steadyMs: UInt64) {
        disk.nextDueMs = min(disk.nextDueMs ?? .max, steadyMs)
    }

    /// The store has these endings, except those it refused; `wereLate`: an earlier try had failed.
    ///
    /// Only now can a lease return those that wait for a retry.
    public mutating func stored(
        _ ends: [LeaseEnd], _ refusal: LeaseRefusal = LeaseRefusal(), wereLate: Bool,
        _ now: LaneTime
    ) -> LaneEffects {
        let hadNoRoom = window.isAwaitingStore
        window.committed(ends.lazy.map(\.id))
        // The store refused these, so a lease that returns them is valid.
        if !ended.isEmpty { ended.subtract(refusal.isFenced ? ends.map(\.id) : refusal.lost) }
        var isWaiting = false
        var asideCount = 0
        for end in ends {
            switch end {
            case .retry(_, let wait, let attempt, _):
                noteDue(now.steadyMs + wait)
                if attempt.reason == Self.pausedReason { asideCount += 1 }
            case .released: noteBacklog()
            case .delivered, .dead: continue
            }
            isWaiting = true
        }
        if wereLate { disk.unsettledCount -= ends.count }
        var effects = LaneEffects()
        if isWaiting || wereLate || hadNoRoom, life == .open { effects = turnSoon() }
        storedAside(asideCount, into: &effects)
        if effects.isHaste, life == .open { effects.add(turnSoon()) }
        tell("fenced", refusal.isFenced ? ends.count : 0, now, into: &effects)
        tell("taken_over", refusal.lost.count, now, into: &effects)
        effects.isForSuccessor = isWaiting && life.rawValue >= Life.leaving.rawValue
        return effects
    }

    /// The store failed on these for the first time: until it has them, nothing more is leased.
    public mutating func unsettled(_ count: Int) { disk.unsettledCount += count }
}
