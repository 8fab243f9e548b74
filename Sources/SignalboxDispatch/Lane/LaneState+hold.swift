public import SignalboxCore

/// What a lane does when its breaker opens or closes.
extension LaneState {
    /// The breaker has changed. `why`: the outcome that did it, as far as it is known.
    mutating func turned(
        from before: Breaker.Cause?, to after: Breaker.Cause?, _ why: Outcome?, _ now: LaneTime,
        into todo: inout LaneTodo
    ) {
        disk.hasBacklog = true
        guard let after else {
            let heldMs = now.steadyMs - (hold?.sinceMs ?? now.steadyMs)
            endHold(now)
            todo.lines += lines.flush()
            if let before { todo.holds.append(.back(before, afterMs: heldMs)) }
            return
        }
        hold = LaneHold(
            cause: after, sinceUnixMs: now.unixMs, sinceMs: now.steadyMs,
            reason: why?.reason ?? "", code: why?.providerCode ?? 0, detail: why?.detail ?? "")
        todo.holds.append(.held(after, why: why))
        todo.isWithdrawal = true
        releaseReady(into: &todo, now)
    }

    /// Another lane of the instance was told something that holds for all of them.
    public mutating func hear(
        _ why: Outcome, _ now: LaneTime, random: Double
    ) -> LaneTodo {
        guard life.rawValue < Life.stopping.rawValue else { return LaneTodo() }
        let before = health.breaker.cause
        let verdict = Breaker.verdict(why, isFirst: true)
        health.hear(verdict, nowMs: now.steadyMs, random: random)
        let after = health.breaker.cause
        guard before != after else { return LaneTodo() }
        var own = why
        // It is not told on.
        own.scope = .app
        var todo = turnSoon()
        turned(from: before, to: after, own, now, into: &todo)
        return todo
    }

    /// The lane has nothing to try with: whether the provider is back shows with the next delivery.
    mutating func forgetHold(_ now: LaneTime, into todo: inout LaneTodo) {
        guard window.isEmpty, let cause = health.breaker.cause else { return }
        health.forget()
        endHold(now)
        todo.lines += lines.flush()
        todo.holds.append(.forgotten(cause))
    }

    private mutating func endHold(_ now: LaneTime) {
        if let hold { delays.add(Self.delay(hold, until: now.unixMs)) }
        hold = nil
    }

    /// What held the lane may be mended: it tries at once. With nothing that may be sent now, it is held no more.
    public mutating func tryNow() -> LaneTodo {
        health.tryNow()
        if health.mayBeMended { noteBacklog() }
        return turnSoon()
    }

    /// Another lane of the instance has found that what held them is over.
    public mutating func tryNow(after cause: Breaker.Cause) -> LaneTodo {
        health.breaker.cause == cause ? tryNow() : LaneTodo()
    }

    /// The plugin has no use for these before it has a credential. A credential is soon there; if it is not, the lane
    /// is held like one whose provider is out of reach.
    ///
    /// `pauseEndings`: as in `heldBack`.
    public mutating func uncredentialed(
        _ batch: [Delivery], pauseEndings: Int, _ now: LaneTime, random: Double
    ) -> LaneTodo {
        heldBack(batch, pauseEndings: pauseEndings, now)
        let before = health.breaker.cause
        // It may be there by now, and what holds the lane already is not over.
        guard pause.endings == pauseEndings, before == nil || isUncredentialed else {
            return LaneTodo()
        }
        if before == nil {
            let last = pause.credential
            let isSame = last.map { now.steadyMs - $0.lastMs < Self.credentialMs } ?? false
            let since = isSame ? last?.sinceMs ?? now.steadyMs : now.steadyMs
            pause.credential = (since, now.steadyMs)
            guard now.steadyMs - since >= Self.credentialMs else { return LaneTodo() }
        }
        // From here on the breaker says when to try.
        pause.untilMs = nil
        let id = batch.first?.id ?? 0
        health.probe(id, nowMs: now.steadyMs)
        health.hear(.closed(.down, hintMs: 0), of: id, nowMs: now.steadyMs, random: random)
        var todo = LaneTodo()
        if before == nil {
            let why = Outcome(item: id, kind: .retry, reason: Self.noCredential)
            turned(from: before, to: health.breaker.cause, why, now, into: &todo)
        } else {
            releaseReady(into: &todo, now)
        }
        return todo
    }

    /// The reason of a hold: the plugin has had no credential for a while.
    public static let noCredential = "credential"

    /// It is held because there is no credential.
    private var isUncredentialed: Bool {
        hold?.cause == .down && hold?.reason == Self.noCredential
    }

    /// Credentials are new: what was refused with the previous ones, or could not be sent without, may be taken now.
    public mutating func credentialsChanged() -> LaneTodo {
        if health.breaker.cause == .misconfigured || isUncredentialed { health.tryNow() }
        return resume()
    }
}
