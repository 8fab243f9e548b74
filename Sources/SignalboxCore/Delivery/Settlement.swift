/// What the gateway does about one outcome of one delivery.
public enum Settlement: Sendable, Equatable {
    /// The provider took it.
    case delivered
    /// Again at this time, in Unix milliseconds.
    case retry(atUnixMs: UInt64)
    /// It is over and failed; the reason is fit for a metric label.
    case failed(reason: String)

    /// Decides about an outcome.
    ///
    /// Pure: time and chance come from outside.
    public static func decide(
        _ outcome: Outcome, delivery: Delivery, policy: RetryPolicy, nowUnixMs: UInt64,
        random: Double
    ) -> Settlement {
        switch outcome.kind {
        case .delivered: return .delivered
        case .unregistered, .rejected, .config:
            return .failed(reason: outcome.reason.isEmpty ? "\(outcome.kind)" : outcome.reason)
        case .retry, .throttled, .auth:
            guard
                let wait = policy.waitMs(
                    afterAttempt: delivery.attempt, hintMs: outcome.retryAfterMs, random: random)
            else { return .failed(reason: "retries_exhausted") }
            let at = nowUnixMs + wait
            guard delivery.deadlineUnixMs == 0 || at < delivery.deadlineUnixMs else {
                return .failed(reason: "expired")
            }
            return .retry(atUnixMs: at)
        }
    }

    /// The outcome of a request that got no answer.
    ///
    /// `isAtMostOnce`: a fate that is unknown must not become a second push.
    public static func outcome(
        of fault: TransportFault, item: UInt64, isAtMostOnce: Bool
    ) -> Outcome {
        let kind: Outcome.Kind = fault.isFateUnknown && isAtMostOnce ? .rejected : .retry
        return Outcome(item: item, kind: kind, reason: fault.rawValue)
    }
}
