import SignalboxPluginKit

/// An answer of Airship: `{"ok": true, "push_ids": [...]}`, or `{"ok": false, "error_code": 40001, ...}`.
struct Answer {
    let status: Int
    private let isRefused: Bool
    private let errorCode: Int64?
    private let pushID: String

    init(status: Int, json: JSON?) {
        self.status = status
        isRefused = json?["ok"]?.boolean == false
        errorCode = json?["error_code"]?.integer
        pushID = json?.at("/push_ids/0")?.string ?? json?["operation_id"]?.string ?? ""
    }

    /// The outcome for this answer.
    func outcome(retryAfterMs: UInt64?) -> Outcome {
        var outcome = classified(retryAfterMs: retryAfterMs)
        outcome.providerCode = UInt32(clamping: status)
        if outcome.kind != .delivered, let errorCode {
            let number = "Airship's error_code is \(errorCode)"
            outcome.detail += outcome.detail.isEmpty ? number : "; \(number)"
        }
        return outcome
    }

    private func classified(retryAfterMs: UInt64?) -> Outcome {
        switch status {
        case 200...299:
            guard !isRefused else { return Outcome(.rejected, "refused") }
            return Outcome(.delivered, "ok", providerID: pushID)
        case 400:
            // An unknown channel cannot be told from a malformed push, so the token is kept.
            return Outcome(.rejected, "invalid_push")
        case 401: return misconfigured("unauthorized", "app_key, the secret or region is wrong")
        case 403: return misconfigured("forbidden", "the project may not use this API")
        case 404: return misconfigured("wrong_path", "endpoint is wrong")
        case 413: return Outcome(.rejected, "payload_too_large")
        case 429:
            // The rate of the project, not of a device.
            return Outcome(
                .throttled, "too_many_requests", scope: .instance,
                retryAfterMs: retryAfterMs ?? 60_000)
        case 500...599:
            return Outcome(.retry, "server_error", retryAfterMs: max(10_000, retryAfterMs ?? 0))
        default: return Outcome(unknownStatus: status)
        }
    }

    private func misconfigured(_ reason: String, _ detail: String) -> Outcome {
        Outcome(.config, reason, detail: detail, scope: .instance)
    }
}
