import SignalboxPluginKit

/// Bulk unregister: `POST /api/v2/push_notification_devices/destroy_many`.
enum Unregister {
    /// Zendesk documents no maximum; its other bulk calls accept 100.
    static let chunkMax = 100

    /// One call for these changes; identifiers are sent back exactly as received.
    static func request(_ changes: [ChangeBatch.Change], authorization: String) -> RequestDraft {
        var body = JSONWriter()
        body.object { out in
            out.key("push_notification_devices")
            out.array { out in
                for change in changes { out.string(change.sourceToken) }
            }
        }
        var draft = RequestDraft()
        draft.begin("POST", path: "/api/v2/push_notification_devices/destroy_many")
        draft.header("authorization", authorization)
        draft.header("content-type", "application/json")
        draft.appendBody(body.bytes.span)
        return draft
    }

    /// The outcome for an answer.
    static func outcome(status: Int, retryAfterMs: UInt64?) -> Outcome {
        var outcome: Outcome
        switch status {
        case 200...299: outcome = Outcome(.delivered, "ok")
        case 401, 403:
            outcome = Outcome(.config, "forbidden")
            outcome.scope = .instance
            outcome.detail = "api: the credentials are wrong, or are not an admin's"
        case 429:
            outcome = Outcome(.throttled, "too_many_requests")
            outcome.scope = .instance
            outcome.retryAfterMs = retryAfterMs ?? 60_000
        case 500...599:
            outcome = Outcome(.retry, "server_error")
            outcome.retryAfterMs = retryAfterMs ?? 0
        default: outcome = Outcome(unknownStatus: status)
        }
        outcome.providerCode = UInt32(clamping: status)
        return outcome
    }
}
