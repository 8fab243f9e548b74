internal import Logging
internal import SignalboxCore
internal import SignalboxHTTP
internal import SignalboxPluginHost
internal import Synchronization

/// From answers to what becomes of deliveries; runs on the worker that runs the lane.
extension SenderLane {
    func classify(
        _ results: [PushResult], _ batchMax: Int, _ turn: inout Turn
    ) {
        var responses: [HTTPResponse] = []
        var late: [HTTPResponse] = []
        responses.reserveCapacity(results.count)
        var lost: [Outcome] = []
        for result in results {
            switch result.answer {
            case .response(var response):
                response.items = result.items
                if result.isLate { late.append(response) } else { responses.append(response) }
            case .fault(let fault):
                for item in result.items {
                    var outcome = Settlement.outcome(
                        of: fault, item: item, isAtMostOnce: isAtMostOnce)
                    outcome.detail = result.detail
                    // Its answer may still come, and must find it waiting.
                    if fault == .timeout { outcome.retryAfterMs = lateAnswerMs }
                    lost.append(outcome)
                }
            }
        }
        decide(lost, &turn)
        if !late.isEmpty { takeLate(late, &turn) }
        var start = 0
        while start < responses.count {
            let end = min(responses.count, start + batchMax)
            let part =
                start == 0 && end == responses.count ? responses : Array(responses[start..<end])
            start = end
            guard case .requests(let role, let pool) = carrier else { return }
            let (settled, requests) = role.classify(app: key.app, responses: part)
            if !requests.requests.isEmpty { pool.submit(requests) }
            decide(settled, of: part, &turn)
        }
    }

    /// A delivery that was answered after its time-out.
    private struct Late {
        var delivery: Delivery
        var token: LeaseToken?
        var isHere: Bool
        var before: Breaker.Cause?
        var after: Breaker.Cause?
    }

    /// A push that was taken after all must not be sent again; any other late answer says nothing, since
    /// the delivery is tried again anyway.
    private func takeLate(_ responses: [HTTPResponse], _ turn: inout Turn) {
        guard case .requests(let role, _) = carrier else { return }
        let now = context.clock()
        let (settled, _) = role.classify(app: key.app, responses: responses)
        for outcome in settled where outcome.kind == .delivered {
            let found = state.withLock { state -> Late? in
                guard let delivery = state.overdue.removeValue(forKey: outcome.item) else {
                    return nil
                }
                let before = state.health.breaker.cause
                state.health.take(outcome, isFirst: false, nowUnixMs: now, random: 0)
                // Its next attempt may be on its way, or ready; else it waits on disk.
                let isHere =
                    state.window.settle(outcome.item) != nil || state.window.withdraw(outcome.item)
                return Late(
                    delivery: delivery, token: state.token, isHere: isHere, before: before,
                    after: state.health.breaker.cause)
            }
            guard let found else { continue }
            if found.before != found.after {
                turn.ends += turned(from: found.before, to: found.after, outcome)
            }
            if found.isHere {
                delivered(found.delivery, outcome, &turn)
            } else {
                if found.delivery.isDryRun { context.feedback.tried(found.delivery, reason: nil) }
                var tally = OutcomeTally()
                context.record.delivered(found.delivery, outcome: outcome, &tally)
                context.record.count(&tally)
                let pack = tally.pack
                if let token = found.token {
                    end([.delivered(outcome.item)], pack, under: token)
                }
            }
        }
    }

    /// Remembers a delivery whose answer may still come, and forgets one that is settled.
    private func note(_ outcome: Outcome, of delivery: Delivery, in state: inout State) {
        if outcome.reason == TransportFault.timeout.rawValue, outcome.kind == .retry {
            // Each leaves within two time-outs, or is forgotten here.
            if state.overdue.count >= context.limits.deliveriesInMemoryMax { state.overdue = [:] }
            state.overdue[delivery.id] = delivery
        } else if !state.overdue.isEmpty {
            state.overdue[delivery.id] = nil
        }
    }

    /// Settles outcomes; the lock is taken once for all of them.
    ///
    /// `responses`: what they were read from.
    func decide(
        _ outcomes: [Outcome], of responses: [HTTPResponse] = [], _ turn: inout Turn
    ) {
        guard !outcomes.isEmpty else { return }
        let now = context.clock()
        var deliveries: [Delivery?] = []
        deliveries.reserveCapacity(outcomes.count)
        let (before, after) = state.withLock { state in
            let before = state.health.breaker.cause
            for outcome in outcomes {
                let delivery = state.window.settle(outcome.item)
                deliveries.append(delivery)
                guard let delivery else { continue }
                note(outcome, of: delivery, in: &state)
                state.health.take(
                    outcome, isFirst: delivery.attempt == 1, nowUnixMs: now,
                    random: Double.random(in: 0..<1))
            }
            return (before, state.health.breaker.cause)
        }
        turn.ends.reserveCapacity(turn.ends.count + outcomes.count)
        for (outcome, delivery) in zip(outcomes, deliveries) {
            guard let delivery else { continue }
            if outcome.reconnect { leave(outcome.item, responses) }
            if !outcome.newToken.isEmpty {
                context.feedback.moved(delivery, to: outcome.newToken)
            }
            if outcome.kind == .auth { instance.credentialRefused(outcome.credential) }
            if outcome.kind == .delivered {
                delivered(delivery, outcome, &turn)
            } else {
                decide(outcome, delivery, now, &turn)
            }
        }
        if before != after {
            let why = outcomes.last { Breaker.verdict($0, isFirst: true) != .silent }
            turn.ends += turned(from: before, to: after, why)
        }
    }

    private func delivered(_ delivery: Delivery, _ outcome: Outcome, _ turn: inout Turn) {
        if delivery.isDryRun { context.feedback.tried(delivery, reason: nil) }
        context.record.delivered(delivery, outcome: outcome, &turn.tally)
        turn.ends.append(.delivered(delivery.id))
    }

    /// Takes nothing more to the connection that answered for an item.
    private func leave(_ item: UInt64, _ responses: [HTTPResponse]) {
        guard let response = responses.first(where: { $0.items.contains(item) }) else { return }
        carrier.transport?.drain(connection: response.connection)
    }

    private func decide(
        _ outcome: Outcome, _ delivery: Delivery, _ now: UInt64, _ turn: inout Turn
    ) {
        let attempt = Attempt(
            number: delivery.attempt, unixMs: now, reason: outcome.reason,
            code: outcome.providerCode, detail: outcome.detail)
        let decision = Settlement.decide(
            outcome, delivery: delivery, policy: retryPolicy(of: delivery),
            nowUnixMs: now, random: Double.random(in: 0..<1))
        switch decision {
        case .delivered: delivered(delivery, outcome, &turn)
        case .released: turn.ends.append(.released(delivery.id))
        case .retry(let at, let isFree):
            context.record.retried(delivery, outcome: outcome, atUnixMs: at, &turn.tally)
            turn.ends.append(
                .retry(delivery.id, afterMs: at - min(at, now), attempt, isFree: isFree))
            state.withLock { $0.nextDueUnixMs = min($0.nextDueUnixMs ?? .max, at) }
        case .failed(let reason):
            if outcome.kind == .unregistered { context.feedback.report(delivery, outcome) }
            if delivery.isDryRun { context.feedback.tried(delivery, reason: reason) }
            context.record.failed(
                delivery, reason: reason, detail: outcome.detail, code: outcome.providerCode,
                &turn.tally)
            turn.ends.append(.dead(delivery.id, reason: reason, attempt))
        }
    }

    private func retryPolicy(of delivery: Delivery) -> RetryPolicy {
        Feedback.isReport(key) ? .reports : context.live.now.router.rules(of: delivery.route).retry
    }
}
