import SignalboxPluginKit

/// An answer of a receiver.
struct Answer {
    /// Words of Slack that name a webhook which will never work again.
    private static let gone = [
        "no_service", "no_service_id", "no_team", "team_disabled", "channel_not_found",
        "channel_is_archived", "invalid_token",
    ]

    /// Discord's codes of the same: Unknown Webhook, Invalid Webhook Token.
    private static let goneCodes: [Int64: String] = [
        10_015: "unknown_webhook", 50_027: "invalid_webhook_token",
    ]

    private let status: Int
    private let code: Int64?
    /// Discord's seconds, which may be a fraction.
    private let retryAfterMs: UInt64?
    private let word: String
    /// The URL belongs to one device, so an answer says nothing about other devices.
    private let isPersonal: Bool

    init(status: Int, body: Span<UInt8>, json: JSON?, isPersonal: Bool) {
        self.status = status
        code = json?["code"]?.integer
        let seconds = json?["retry_after"]?.text ?? ""
        retryAfterMs = Double(seconds).flatMap {
            $0 >= 0 && $0 <= 86_400 ? UInt64(($0 * 1_000).rounded(.up)) : nil
        }
        self.isPersonal = isPersonal
        var word = ""
        // Slack answers a word.
        if body.count <= 64 {
            for index in body.indices { word.append(Character(UnicodeScalar(body[index]))) }
        }
        self.word = word
    }

    /// The outcome for this answer.
    func outcome(retryAfterMs: UInt64?) -> Outcome {
        var outcome = classified(retryAfterMs: retryAfterMs)
        outcome.providerCode = UInt32(clamping: status)
        return outcome
    }

    private func classified(retryAfterMs: UInt64?) -> Outcome {
        if Self.gone.contains(word), status >= 400 { return dead(word) }
        if let reason = code.flatMap({ Self.goneCodes[$0] }), status >= 400 { return dead(reason) }
        switch status {
        case 200...299: return Outcome(.delivered, "ok")
        case 404:
            guard isPersonal else { return misconfigured("not_found") }
            // Or the receiver was deployed without this path.
            return Outcome(.rejected, "not_found", suspectsToken: true)
        case 410: return dead("gone")
        case 401: return refused("unauthorized")
        case 403: return refused("forbidden")
        case 408, 425:
            return Outcome(.retry, "timeout", retryAfterMs: retryAfterMs ?? 0)
        case 413: return Outcome(.rejected, "payload_too_large")
        case 429:
            return Outcome(
                .throttled, "too_many_requests", scope: isPersonal ? .item : .instance,
                retryAfterMs: self.retryAfterMs ?? retryAfterMs ?? 30_000)
        case 500...599:
            return Outcome(.retry, "server_error", retryAfterMs: retryAfterMs ?? 0)
        // A redirect of one device's URL says nothing about other devices.
        case 300...399 where isPersonal: return Outcome(.rejected, "http_3xx")
        default: return Outcome(unknownStatus: status)
        }
    }

    /// The URL is gone: a device's is a dead token, that of all is the operator's to mend.
    private func dead(_ reason: String) -> Outcome {
        isPersonal ? Outcome(.unregistered, reason) : misconfigured(reason)
    }

    private func refused(_ reason: String) -> Outcome {
        isPersonal ? Outcome(.rejected, reason) : misconfigured(reason)
    }

    private func misconfigured(_ reason: String) -> Outcome {
        Outcome(
            .config, reason,
            detail: "the receiver does not know the URL, or refuses the credential",
            scope: .instance)
    }
}
