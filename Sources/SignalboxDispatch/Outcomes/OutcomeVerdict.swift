/// What a receiver's answer to a batch of outcomes means.
package enum OutcomeVerdict: Sendable, Equatable {
    /// It accepted the batch.
    case taken
    /// It may accept the same batch later.
    case later(Breaker.Cause, hintMs: UInt64, reason: String, detail: String)
    /// The batch is too large; a smaller one may be accepted.
    case tooLarge
    /// It rejects all such batches until an operator fixes it.
    case refused(reason: String)

    /// For a metric.
    package var name: String {
        switch self {
        case .taken: "taken"
        case .later: "failed"
        case .tooLarge, .refused: "refused"
        }
    }

    package var reason: String {
        switch self {
        case .taken: ""
        case .later(_, _, let reason, _), .refused(let reason): reason
        case .tooLarge: "413"
        }
    }

    package var detail: String {
        if case .later(_, _, _, let detail) = self { detail } else { "" }
    }

    /// What it means for the breaker.
    var breakers: Breaker.Verdict {
        switch self {
        case .taken: .up
        case .later(let cause, let hintMs, _, _): .closed(cause, hintMs: hintMs)
        case .tooLarge: .closed(.throttled, hintMs: 0)
        case .refused: .closed(.misconfigured, hintMs: 0)
        }
    }
}
