internal import SignalboxCore

/// What a lane does while operators have paused its sender, or routes.
///
/// A paused sender leases nothing: its deliveries stay on disk, and unsent ones return there. Deliveries of a paused
/// route share the lane with others, so they are leased in turn and set aside: due again when they expire or when the
/// route is resumed.
extension LaneState {
    /// The reason of an attempt that was set aside.
    public static let pausedReason = "paused"
    /// The reason for cancelling a delivery whose device has another user now, or none.
    public static let departedReason = "user_left"
    /// Longest time a delivery is set aside, in milliseconds: the delay if a resume does not reach the store.
    static let asideMs: UInt64 = 600_000

    /// Replaces all pauses and cancel orders.
    public mutating func pause(_ next: LanePause, _ now: LaneTime) -> LaneEffects {
        let before = paused
        guard next != before else { return LaneEffects() }
        for delay in Self.delays(before, until: now.unixMs, without: next) { delays.add(delay) }
        paused = next
        var effects = turnSoon()
        // Recalls what the carrier has not sent yet.
        let isMore =
            next.isWhole && !before.isWhole
            || next.routes.keys.contains { before.routes[$0] == nil }
            || next.cancelled.count > before.cancelled.count
            || next.forgotten != before.forgotten
        if isMore { effects.isWithdrawal = true }
        if before.isWhole, !next.isWhole { noteBacklog() }
        // What was set aside is due at once.
        if before.routes.keys.contains(where: { next.routes[$0] == nil }) {
            effects.isHaste = true
            aside.isOver = aside.unstoredCount > 0
            noteBacklog()
        }
        return effects
    }

    /// Deliveries in flight that a cancel order matches but cannot stop.
    func inFlight(coveredBy order: CancelOrder) -> Int {
        window.deliveriesInFlight.count { order.covers($0) }
    }

    /// Ends the cancelled deliveries of a batch.
    mutating func endCancelled(
        in batch: inout [Delivery], _ now: LaneTime, into effects: inout LaneEffects
    ) {
        guard !paused.cancelsNothing else { return }
        batch.removeAll { delivery in
            guard let reason = paused.cancelReason(of: delivery) else { return false }
            _ = window.settle(delivery.id)
            overdue[delivery.id] = nil
            effects.endings.append(cancelled(delivery, reason, now))
            return true
        }
    }

    func cancelled(_ delivery: Delivery, _ reason: String, _ now: LaneTime) -> LaneEnding {
        LaneEnding(
            delivery, .cancelled,
            Outcome(item: delivery.id, kind: .rejected, reason: reason), unixMs: now.unixMs)
    }

    /// Removes paused deliveries from a batch and sets them aside.
    mutating func putAside(
        from batch: inout [Delivery], _ now: LaneTime, into effects: inout LaneEffects
    ) {
        guard !paused.routes.isEmpty else { return }
        batch.removeAll { delivery in
            guard paused.routes[delivery.route] != nil else { return false }
            _ = window.settle(delivery.id)
            overdue[delivery.id] = nil
            aside.unstoredCount += 1
            var again = now.unixMs + Self.asideMs
            if delivery.deadlineUnixMs > now.unixMs { again = min(again, delivery.deadlineUnixMs) }
            effects.endings.append(
                LaneEnding(
                    delivery, .aside(untilUnixMs: again),
                    Outcome(item: delivery.id, kind: .retry, reason: Self.pausedReason),
                    unixMs: now.unixMs))
            return true
        }
    }

    /// The store has some that were set aside. If their route was resumed meanwhile, they are due.
    mutating func storedAside(_ count: Int, into effects: inout LaneEffects) {
        guard count > 0 else { return }
        aside.unstoredCount = max(0, aside.unstoredCount - count)
        guard aside.isOver else { return }
        effects.isHaste = true
        aside.isOver = aside.unstoredCount > 0
        noteBacklog()
    }
}
