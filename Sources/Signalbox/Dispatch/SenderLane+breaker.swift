internal import Logging
internal import SignalboxCore
internal import SignalboxThreads
internal import Synchronization

/// What a lane does when its breaker opens or closes.
extension SenderLane {
    /// The breaker has changed; what the lane gives back to the disk.
    ///
    /// `why`: the outcome that did it, as far as it is known here.
    func turned(
        from before: Breaker.Cause?, to after: Breaker.Cause?, _ why: Outcome?
    ) -> [LeaseEnd] {
        guard let after else {
            context.logger.notice("provider is back", metadata: fields(before, why))
            context.metrics.held(key, nil)
            state.withLock { $0.held = nil }
            // What waits for the provider alone need not wait any longer.
            context.store.hasten(key)
            state.withLock { $0.hasBacklog = true }
            for lane in siblings() { lane.tryNow(after: before) }
            return []
        }
        context.logger.error("\(Self.words(after))", metadata: fields(after, why))
        context.metrics.held(key, after)
        carrier.transport?.withdraw()
        let now = context.clock()
        let ready = state.withLock { state in
            state.held = (now, why?.reason ?? "")
            state.hasBacklog = true
            return state.window.takeReady()
        }
        if let why, why.scope == .instance, after != .down {
            let verdict = Breaker.verdict(why, isFirst: true)
            for lane in siblings() { lane.hear(verdict, why) }
        }
        return ready.map { .released($0) }
    }

    /// Another lane of the instance was told something that holds for all of them.
    private func hear(_ verdict: Breaker.Verdict, _ why: Outcome) {
        let now = context.clock()
        let (before, after) = state.withLock { state in
            let before = state.health.breaker.cause
            state.health.hear(verdict, nowUnixMs: now, random: Double.random(in: 0..<1))
            return (before, state.health.breaker.cause)
        }
        guard before != after else { return }
        var own = why
        own.scope = .app
        let changes = turned(from: before, to: after, own)
        if !changes.isEmpty { settle(changes) }
        kick()
    }

    /// The lane has nothing to try with: whether the provider is back shows with the next delivery.
    func nothingWaits() {
        let cause = state.withLock { state -> Breaker.Cause? in
            guard state.window.isEmpty, let cause = state.health.breaker.cause else { return nil }
            state.health.forget()
            state.held = nil
            return cause
        }
        guard let cause else { return }
        context.metrics.held(key, nil)
        context.logger.notice(
            "sender is no longer held, nothing waits for it", metadata: fields(cause, nil))
    }

    /// What held the lane may be mended: it tries at once.
    func tryNow() {
        state.withLock { $0.health.tryNow() }
        kick()
    }

    /// Another lane of the instance has found that what held them is over.
    private func tryNow(after cause: Breaker.Cause?) {
        let isMeant = state.withLock { state in
            guard cause != nil, state.health.breaker.cause == cause else { return false }
            state.health.tryNow()
            return true
        }
        if isMeant { kick() }
    }

    private static func words(_ cause: Breaker.Cause) -> String {
        switch cause {
        case .down: "provider seems to be down, its deliveries wait"
        case .misconfigured:
            "provider refuses this sender's credentials or settings, its deliveries wait"
        case .throttled: "provider asks to slow down, its deliveries wait"
        }
    }

    private func fields(_ cause: Breaker.Cause?, _ why: Outcome?) -> Logger.Metadata {
        var fields: Logger.Metadata = [
            "plugin.instance": "\(key.sender)", "app": "\(key.app)",
            "cause": "\(cause?.rawValue ?? "")", "reason": "\(why?.reason ?? "")",
        ]
        if let why, !why.detail.isEmpty { fields["detail"] = "\(why.detail)" }
        return fields
    }
}
