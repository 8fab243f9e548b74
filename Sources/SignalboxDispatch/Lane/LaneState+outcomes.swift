public import SignalboxCore

/// Turns outcomes into endings of deliveries.
extension LaneState {
    /// Settles outcomes. `policy`: the retry policy of a delivery.
    public mutating func take(
        _ outcomes: [Outcome], _ now: LaneTime, random: () -> Double,
        policy: (Delivery) -> RetryPolicy
    ) -> LaneEffects {
        var effects = LaneEffects()
        guard !outcomes.isEmpty else { return effects }
        effects.endings.reserveCapacity(outcomes.count)
        var (moved, unheld): ([UInt64], [UInt64]) = ([], [])
        let isGivenUp = isGivenUp(now)
        let before = health.breaker.cause
        for index in outcomes.indices {
            let item = outcomes[index].item
            let origin = origins.isEmpty ? "" : origins.removeValue(forKey: item) ?? ""
            if isUnsent(outcomes[index]), life == .open || life == .draining,
                !health.breaker.isOpen,
                !isGivenUp, !paused.isWhole
            {
                moved.append(item)
                continue
            }
            if isUnsent(outcomes[index]), isGivenUp {
                unheld.append(item)
                continue
            }
            guard let delivery = window.settle(item) else { continue }
            let outcome = doubt.judged(outcomes[index], of: delivery.device, origin: origin, now)
            share.ended(1)
            health.take(
                outcome, isFirst: delivery.attempt == 1, nowMs: now.steadyMs, random: random())
            let kind =
                supersededKind(outcome, delivery, now)
                ?? decide(outcome, delivery, now, random, policy, into: &effects)
            note(outcome, of: delivery, kind)
            let supersedes = kind == .delivered ? noteAccepted(delivery, now) : nil
            effects.endings.append(ended(delivery, kind, outcome, now, supersedes: supersedes))
        }
        // Before the breaker releases what is ready.
        if !moved.isEmpty { window.restore(moved) }
        if !unheld.isEmpty { drop(unsent: unheld, into: &effects) }
        let after = health.breaker.cause
        if before != after {
            // A failure opened it, whatever else is in the same group.
            let why = outcomes.last {
                let verdict = Breaker.verdict($0, isFirst: true)
                return verdict != .silent && (after == nil || verdict != .up)
            }
            turned(from: before, to: after, why, now, into: &effects)
        } else if after != nil {
            note(holdOf: outcomes)
        }
        return effects
    }

    /// A held lane names the newest reason: a provider that was unreachable may meanwhile refuse the certificate.
    private mutating func note(holdOf outcomes: [Outcome]) {
        guard var newer = hold, newer.reason != Self.noCredential else { return }
        for why in outcomes {
            switch Breaker.verdict(why, isFirst: false) {
            case .failure, .closed:
                (newer.reason, newer.code, newer.detail) = (
                    why.reason, why.providerCode, why.detail
                )
            case .up, .silent: break
            }
        }
        hold = newer
    }

    /// Whether a delivery left its connection unsent with nothing else wrong: it goes first to the next connection,
    /// costs no attempt and need not be written to disk.
    func isUnsent(_ outcome: Outcome) -> Bool {
        outcome.kind == .retry && outcome.reason == TransportFault.withdrawn.rawValue
    }

    private mutating func decide(
        _ outcome: Outcome, _ delivery: Delivery, _ now: LaneTime, _ random: () -> Double,
        _ policy: (Delivery) -> RetryPolicy, into effects: inout LaneEffects
    ) -> LaneEnding.Kind {
        let decision = DeliveryDecision.decide(
            outcome, delivery: delivery, policy: policy(delivery), nowUnixMs: now.unixMs,
            random: random())
        switch decision {
        case .delivered: return .delivered
        case .released: return .released
        case .retry(let at, let isFree):
            count(.retried, outcome.reason, outcome.detail, now, into: &effects)
            return .retry(atUnixMs: at, isFree: isFree)
        case .failed(let reason):
            // A dead token is nobody's fault, so it gets no log line.
            if outcome.kind != .unregistered {
                count(.failed, reason, outcome.detail, now, into: &effects)
            }
            return .failed(reason: reason, wasSent: true)
        }
    }

    private mutating func count(
        _ what: LaneLine.What, _ reason: String, _ detail: String, _ now: LaneTime,
        into effects: inout LaneEffects
    ) {
        let line = lines.note(what, reason, detail: detail, nowMs: now.steadyMs)
        if let line { effects.lines.append(line) }
    }

    /// Remembers a delivery whose answer may still arrive; forgets one that is settled.
    private mutating func note(
        _ outcome: Outcome, of delivery: Delivery, _ kind: LaneEnding.Kind
    ) {
        if case .retry = kind, outcome.reason == TransportFault.timeout.rawValue {
            // Entries last two time-outs at most; cleared when full.
            if overdue.count >= rules.inMemoryMax { overdue = [:] }
            overdue[delivery.id] = delivery
        } else if !overdue.isEmpty {
            overdue[delivery.id] = nil
        }
    }

    private mutating func noteEnded(_ id: UInt64) {
        if ended.count >= rules.inMemoryMax { ended = [] }
        ended.insert(id)
    }

    /// Takes outcomes of answers that arrived after their time-out.
    ///
    /// A push that was accepted after all must not be sent again; any other late answer is ignored, since the delivery
    /// is retried anyway.
    public mutating func takeLate(
        _ outcomes: [Outcome], _ now: LaneTime, random: () -> Double
    ) -> LaneEffects {
        var effects = LaneEffects()
        for outcome in outcomes where outcome.kind == .delivered {
            guard let delivery = overdue.removeValue(forKey: outcome.item) else { continue }
            _ = doubt.judged(outcome, of: delivery.device, origin: "", now)
            let before = health.breaker.cause
            health.take(outcome, isFirst: false, nowMs: now.steadyMs, random: random())
            // Its next attempt may be in flight or ready here; otherwise it waits on disk.
            let isHere =
                window.settle(outcome.item) != nil || window.withdraw(outcome.item)
            if !isHere {
                noteEnded(outcome.item)
                // Until the store has its end, it counts as in memory.
                effects.arrived += 1
            }
            let supersedes = noteAccepted(delivery, now)
            effects.endings.append(
                ended(delivery, .delivered, outcome, now, supersedes: supersedes))
            let after = health.breaker.cause
            if before != after { turned(from: before, to: after, outcome, now, into: &effects) }
        }
        return effects
    }
}
