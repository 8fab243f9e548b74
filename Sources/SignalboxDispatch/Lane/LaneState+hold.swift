public import SignalboxCore

/// What a lane does when its breaker opens or closes.
extension LaneState {
    /// The breaker changed. `why`: the outcome that caused it, if known.
    mutating func turned(
        from before: Breaker.Cause?, to after: Breaker.Cause?, _ why: Outcome?, _ now: LaneTime,
        into effects: inout LaneEffects
    ) {
        disk.hasBacklog = true
        guard let after else {
            let heldMs = now.steadyMs - (hold?.sinceMs ?? now.steadyMs)
            endHold(now)
            effects.lines += lines.flush()
            if let before { effects.holds.append(.back(before, afterMs: heldMs)) }
            return
        }
        hold = LaneHold(
            cause: after, sinceUnixMs: now.unixMs, sinceMs: now.steadyMs,
            reason: why?.reason ?? "", code: why?.providerCode ?? 0, detail: why?.detail ?? "")
        effects.holds.append(.held(after, why: why))
        effects.isWithdrawal = true
        releaseReady(into: &effects, now)
    }

    /// Another lane of the instance got an outcome that concerns all of them.
    public mutating func hear(
        _ why: Outcome, _ now: LaneTime, random: Double
    ) -> LaneEffects {
        guard life.rawValue < Life.stopping.rawValue else { return LaneEffects() }
        let before = health.breaker.cause
        let verdict = Breaker.verdict(why, isFirst: true)
        health.hear(verdict, nowMs: now.steadyMs, random: random)
        let after = health.breaker.cause
        guard before != after else { return LaneEffects() }
        var own = why
        // Narrowed, so that it is not passed on again.
        own.scope = .app
        var effects = turnSoon()
        turned(from: before, to: after, own, now, into: &effects)
        return effects
    }

    /// Nothing is left to probe with, so the hold ends; the next delivery shows whether the provider is back.
    mutating func forgetHold(_ now: LaneTime, into effects: inout LaneEffects) {
        guard window.isEmpty, let cause = health.breaker.cause else { return }
        health.forget()
        endHold(now)
        effects.lines += lines.flush()
        effects.holds.append(.forgotten(cause))
    }

    private mutating func endHold(_ now: LaneTime) {
        if let hold { delays.add(Self.delay(hold, until: now.unixMs)) }
        hold = nil
    }

    /// The cause may be fixed: probes at once. If nothing may be sent now, the hold ends.
    public mutating func tryNow() -> LaneEffects {
        health.tryNow()
        if health.mayBeMended { noteBacklog() }
        return turnSoon()
    }

    /// Another lane of the instance found that the cause of their hold is over.
    public mutating func tryNow(after cause: Breaker.Cause) -> LaneEffects {
        health.breaker.cause == cause ? tryNow() : LaneEffects()
    }

    /// The plugin needs a credential for these, which usually arrives soon. If it does not, the lane is held as if the
    /// provider were unreachable.
    ///
    /// `pauseEndings`: as in `heldBack`.
    public mutating func uncredentialed(
        _ batch: [Delivery], pauseEndings: Int, _ now: LaneTime, random: Double
    ) -> LaneEffects {
        heldBack(batch, pauseEndings: pauseEndings, now)
        let before = health.breaker.cause
        // The credential may have arrived, or the lane may be held for another cause, which stays.
        guard pause.endings == pauseEndings, before == nil || isUncredentialed else {
            return LaneEffects()
        }
        if before == nil {
            let last = pause.credential
            let isSame = last.map { now.steadyMs - $0.lastMs < Self.credentialMs } ?? false
            let since = isSame ? last?.sinceMs ?? now.steadyMs : now.steadyMs
            pause.credential = (since, now.steadyMs)
            guard now.steadyMs - since >= Self.credentialMs else { return LaneEffects() }
        }
        // From now on the breaker schedules the attempts.
        pause.untilMs = nil
        let id = batch.first?.id ?? 0
        health.probe(id, nowMs: now.steadyMs)
        health.hear(.closed(.down, hintMs: 0), of: id, nowMs: now.steadyMs, random: random)
        var effects = LaneEffects()
        if before == nil {
            let why = Outcome(item: id, kind: .retry, reason: Self.noCredential)
            turned(from: before, to: health.breaker.cause, why, now, into: &effects)
        } else {
            releaseReady(into: &effects, now)
        }
        return effects
    }

    /// The reason of a hold for lack of a credential.
    public static let noCredential = "credential"

    /// Whether it is held for lack of a credential.
    private var isUncredentialed: Bool {
        hold?.cause == .down && hold?.reason == Self.noCredential
    }

    /// Credentials have changed: what was refused or unsendable before may be accepted now.
    public mutating func credentialsChanged() -> LaneEffects {
        if health.breaker.cause == .misconfigured || isUncredentialed { health.tryNow() }
        return resume()
    }
}
