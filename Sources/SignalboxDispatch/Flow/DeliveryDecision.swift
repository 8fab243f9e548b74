public import SignalboxCore

/// What the gateway does about one outcome of one delivery.
public enum DeliveryDecision: Sendable, Equatable {
    /// The provider took it.
    case delivered
    /// Retry at this time, in Unix milliseconds; `isFree`: the attempt does not count.
    case retry(atUnixMs: UInt64, isFree: Bool)
    /// It was not sent, so it waits again as before.
    case released
    /// It failed for good; the reason is fit for a metric label.
    case failed(reason: String)

    /// Decides about an outcome.
    ///
    /// Pure: the caller supplies time and randomness.
    public static func decide(
        _ outcome: Outcome, delivery: Delivery, policy: @autoclosure () -> RetryPolicy,
        nowUnixMs: UInt64, random: @autoclosure () -> Double
    ) -> DeliveryDecision {
        if outcome.kind == .delivered { return .delivered }
        let fault = TransportFault(rawValue: outcome.reason)
        if outcome.kind == .retry, fault == .withdrawn { return .released }
        let isFree = isFree(outcome)
        switch outcome.kind {
        case .delivered: return .delivered
        case .unregistered, .rejected: return .failed(reason: name(outcome))
        case .config where !isFree: return .failed(reason: name(outcome))
        case .retry, .throttled, .auth, .config:
            let free = delivery.freeAttempts
            let hint = hintMs(outcome, delivery, nowUnixMs)
            let wait =
                isFree
                ? RetryPolicy.outage.waitMs(
                    afterAttempt: free + 1, hintMs: hint, random: random())
                : policy().waitMs(
                    afterAttempt: delivery.attempt - min(free, delivery.attempt - 1),
                    hintMs: hint, random: random())
            guard let wait else {
                return .failed(reason: fault == .reset ? outcome.reason : "retries_exhausted")
            }
            let at = nowUnixMs + wait
            guard delivery.deadlineUnixMs == 0 || at < delivery.deadlineUnixMs else {
                // The outage may end before the deadline, so the delivery stays until then.
                guard isFree, nowUnixMs < delivery.deadlineUnixMs else {
                    return .failed(reason: "expired")
                }
                return .retry(atUnixMs: delivery.deadlineUnixMs, isFree: true)
            }
            return .retry(atUnixMs: at, isFree: isFree)
        }
    }

    /// The wait the provider asks for, at most half of the time left until the deadline: it may recover sooner than it
    /// says, and an expired push is lost.
    private static func hintMs(
        _ outcome: Outcome, _ delivery: Delivery, _ nowUnixMs: UInt64
    ) -> UInt64 {
        let deadline = delivery.deadlineUnixMs
        guard deadline > nowUnixMs else { return outcome.retryAfterMs }
        return min(outcome.retryAfterMs, (deadline - nowUnixMs) / 2)
    }

    /// Whether an attempt does not count: nothing was sent, the provider says it is down, or it accepts nothing from
    /// this sender for now. None of that is the delivery's fault.
    static func isFree(_ outcome: Outcome) -> Bool {
        switch outcome.kind {
        case .delivered, .unregistered, .rejected: false
        case .throttled, .config: outcome.scope != .item
        // A refused credential is never the delivery's fault.
        case .auth: true
        case .retry:
            outcome.isProvidersFault
                || TransportFault(rawValue: outcome.reason)?.isNeverSent == true
        }
    }

    private static func name(_ outcome: Outcome) -> String {
        outcome.reason.isEmpty ? "\(outcome.kind)" : outcome.reason
    }

    /// The outcome of a request that got no answer.
    ///
    /// `isAtMostOnce`: a push that may have arrived must not be sent again.
    public static func outcome(
        of fault: TransportFault, item: UInt64, isAtMostOnce: Bool
    ) -> Outcome {
        let isFinal =
            fault.isFateUnknown && isAtMostOnce || fault == .originPrivate
            || fault == .originInvalid
        let kind: Outcome.Kind = isFinal ? .rejected : .retry
        return Outcome(item: item, kind: kind, reason: fault.rawValue)
    }
}
