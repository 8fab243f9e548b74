import SignalboxPluginKit

/// An answer of a push service. What one service says holds for none of the others, so no outcome has a wider scope.
struct Answer {
    let status: Int
    /// `x-wns-status` of Edge's service: "appthrottled", "channelthrottled"; empty for others.
    var serviceStatus = ""

    /// The outcome for this answer.
    func outcome(retryAfterMs: UInt64?) -> Outcome {
        var outcome = classified(retryAfterMs: retryAfterMs)
        // A service that fails must not count as an outage of all.
        if status < 500 { outcome.providerCode = UInt32(clamping: status) }
        return outcome
    }

    private func classified(retryAfterMs: UInt64?) -> Outcome {
        switch status {
        case 200...299:
            // Services name the message in `location`, mostly with a piece of the subscription, which is a secret.
            return Outcome(.delivered, "ok")
        case 404: return Outcome(.unregistered, "not_found")
        case 410: return Outcome(.unregistered, "gone")
        case 400: return Outcome(.rejected, "bad_request")
        case 401, 403:
            return Outcome(
                .rejected, "vapid_refused",
                detail: "the subscription belongs to another VAPID key, or subject is refused")
        case 413: return Outcome(.rejected, "payload_too_large")
        case 406 where retryAfterMs == nil && !serviceStatus.contains("throttled"):
            return Outcome(unknownStatus: status)
        case 406, 429:
            return Outcome(.throttled, "too_many_requests", retryAfterMs: retryAfterMs ?? 60_000)
        case 500...599:
            return Outcome(
                .retry, "server_error", detail: "the push service answered \(status)",
                retryAfterMs: retryAfterMs ?? 0)
        // Redirects, too, reject only this push: the client chose the server that answers.
        default: return Outcome(.rejected, "http_\(status / 100)xx")
        }
    }
}
