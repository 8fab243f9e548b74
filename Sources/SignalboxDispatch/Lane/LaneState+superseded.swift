internal import SignalboxCore

/// Deliveries that a newer one has superseded: a retry must not undo it.
extension LaneState {
    /// Removes obsolete deliveries from a batch before they are sent; notes its withdrawals.
    mutating func endSuperseded(
        in batch: inout [Delivery], _ now: LaneTime, into effects: inout LaneEffects
    ) {
        for delivery in batch where delivery.content.notification.isWithdrawn {
            guard let own = delivery.supersession else { continue }
            newest.note(own, isWithdrawal: true, nowMs: now.steadyMs)
        }
        guard batch.contains(where: { newest.isBehind($0) }) else { return }
        var kept: [Delivery] = []
        kept.reserveCapacity(batch.count)
        for delivery in batch {
            let (stale, isWithdrawn) = newest.staleness(of: delivery, nowUnixMs: now.unixMs)
            if let left = delivery.without(stale) {
                kept.append(left)
                continue
            }
            _ = window.settle(delivery.id)
            overdue[delivery.id] = nil
            effects.endings.append(superseded(delivery, isWithdrawn: isWithdrawn, now))
        }
        batch = kept
    }

    /// Ends deliveries that the store found obsolete.
    mutating func endSuperseded(
        _ lent: [Delivery], _ stale: [UInt64: Staleness], _ now: LaneTime,
        into effects: inout LaneEffects
    ) {
        for delivery in lent where delivery.without(stale[delivery.id] ?? []) == nil {
            guard window.withdraw(delivery.id) else { continue }
            overdue[delivery.id] = nil
            effects.endings.append(superseded(delivery, isWithdrawn: false, now))
        }
    }

    /// The ending of a failed attempt that a newer delivery superseded; nil if its outcome decides.
    func supersededKind(_ outcome: Outcome, _ delivery: Delivery, _ now: LaneTime) -> LaneEnding
        .Kind?
    {
        // A dead token must be reported all the same.
        guard outcome.kind != .delivered, outcome.kind != .unregistered, !isUnsent(outcome),
            newest.isBehind(delivery)
        else { return nil }
        let (stale, isWithdrawn) = newest.staleness(of: delivery, nowUnixMs: now.unixMs)
        guard delivery.without(stale) == nil else { return nil }
        return .superseded(reason: isWithdrawn ? Supersession.withdrawn : Supersession.reason)
    }

    /// Notes an accepted delivery; returns what it makes obsolete.
    mutating func noteAccepted(_ delivery: Delivery, _ now: LaneTime) -> Supersession? {
        guard let own = delivery.supersession else { return nil }
        newest.note(
            own, isWithdrawal: delivery.content.notification.isWithdrawn, nowMs: now.steadyMs)
        return own
    }

    private func superseded(
        _ delivery: Delivery, isWithdrawn: Bool, _ now: LaneTime
    ) -> LaneEnding {
        let reason = isWithdrawn ? Supersession.withdrawn : Supersession.reason
        return LaneEnding(
            delivery, .superseded(reason: reason),
            Outcome(item: delivery.id, kind: .rejected, reason: reason), unixMs: now.unixMs)
    }
}

extension Delivery {
    /// The delivery without its obsolete parts; nil if nothing is left.
    func without(_ stale: Staleness) -> Delivery? {
        if stale.contains(.shown) { return nil }
        return stale.contains(.badge) ? withoutBadge : self
    }
}
