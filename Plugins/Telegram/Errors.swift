import SignalboxPluginKit

/// An answer of Telegram: `{"ok": true, "result": {...}}`, or
/// `{"ok": false, "error_code": 403, "description": "Forbidden: bot was blocked by the user"}`.
struct Answer {
    private enum Class {
        case dead, rejected
        /// Of this chat, or of each one that another bot has talked to.
        case suspect
    }

    /// What Telegram says of a chat, in its own words; there are no codes for it.
    private static let words: [(status: Int, words: String, class: Class, reason: String)] = [
        (400, "chat not found", .suspect, "chat_not_found"),
        (400, "user not found", .suspect, "chat_not_found"),
        (400, "peer_id_invalid", .suspect, "chat_not_found"),
        (400, "group chat was deactivated", .dead, "chat_not_found"),
        (400, "message thread not found", .dead, "topic_not_found"),
        (400, "topic_deleted", .dead, "topic_not_found"),
        (400, "topic_closed", .rejected, "topic_closed"),
        (400, "message is too long", .rejected, "payload_too_large"),
        (400, "text must be non-empty", .rejected, "nothing_to_show"),
        (400, "message text is empty", .rejected, "nothing_to_show"),
        (400, "button_url_invalid", .rejected, "invalid_link"),
        (400, "button url", .rejected, "invalid_link"),
        (400, "rights to send", .rejected, "no_rights"),
        (400, "chat_write_forbidden", .rejected, "no_rights"),
        (400, "chat_restricted", .rejected, "no_rights"),
        (403, "blocked by the user", .dead, "blocked"),
        (403, "user is deactivated", .dead, "deactivated"),
        (403, "was kicked", .dead, "kicked"),
        (403, "is not a member", .suspect, "not_a_member"),
        (403, "initiate conversation", .suspect, "not_started"),
        (403, "to bots", .rejected, "chat_is_a_bot"),
    ]

    private let status: Int
    private let description: String
    /// What Telegram said, for the operator.
    private let said: String
    private let retryAfterMs: UInt64?
    private let messageID: Int64?
    /// The id that a group has now.
    let successor: String?

    /// `retryAfterMs`: what a proxy's header says.
    init(status: Int, json: JSON?, retryAfterMs: UInt64?) {
        self.status = status
        said = json?["description"]?.string ?? ""
        description = said.lowercased()
        let seconds = json?.at("/parameters/retry_after")?.integer
        self.retryAfterMs =
            seconds.map { min(UInt64(clamping: $0), 86_400) * 1_000 } ?? retryAfterMs
        messageID = json?.at("/result/message_id")?.integer
        successor = json?.at("/parameters/migrate_to_chat_id")?.integer.map { String($0) }
    }

    /// The outcome for this answer; `chat`: nil if the request named none, which does not happen.
    func outcome(for chat: Chat?) -> Outcome {
        var outcome = classified(isPrivate: chat?.isPrivate ?? true)
        outcome.providerCode = UInt32(clamping: status)
        if outcome.kind != .delivered, outcome.detail.isEmpty { outcome.detail = said }
        return outcome
    }

    private func classified(isPrivate: Bool) -> Outcome {
        if let successor, status == 400 {
            // Sent again, it goes to the new id.
            return Outcome(.retry, "chat_moved", newToken: successor)
        }
        if let known = Self.words.first(where: {
            $0.status == status && description.contains($0.words)
        }) {
            return Outcome(
                known.class == .dead ? .unregistered : .rejected, known.reason,
                suspectsToken: known.class == .suspect)
        }
        switch status {
        case 200...299:
            return Outcome(.delivered, "ok", providerID: messageID.map { String($0) } ?? "")
        case 400: return Outcome(.rejected, "bad_request")
        case 401, 404:
            return misconfigured("unauthorized", "bot_token is not one that Telegram knows")
        case 403: return Outcome(.rejected, "forbidden")
        case 413: return Outcome(.rejected, "payload_too_large")
        case 429:
            // A group has a limit of its own; what a user's chat hears is the bot's.
            return Outcome(
                .throttled, "too_many_requests", scope: isPrivate ? .instance : .item,
                retryAfterMs: retryAfterMs ?? 30_000)
        case 500...599:
            return Outcome(.retry, "server_error", retryAfterMs: retryAfterMs ?? 0)
        default: return Outcome(unknownStatus: status)
        }
    }

    private func misconfigured(_ reason: String, _ detail: String) -> Outcome {
        Outcome(.config, reason, detail: detail, scope: .instance)
    }
}
