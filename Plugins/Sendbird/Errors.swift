import SignalboxPluginKit

/// Why a whole webhook is rejected.
enum Fault {
    case signature
    case wrong(path: String, what: String)

    var error: PluginError {
        switch self {
        case .signature:
            PluginError(.auth, "x-sendbird-signature is missing or matches none of the tokens")
        case .wrong(let path, let what): PluginError(.invalid, "\(path): \(what)")
        }
    }
}

/// Why a webhook, or one member of its channel, is rejected; the raw value is a metric label.
enum Reject: String, CaseIterable {
    case otherApp = "other_app"
    case noMembers = "no_members"
    case malformedMember = "malformed_member"
    case malformedUpdate = "malformed_update"
    case superGroup = "super_group"

    var detail: String {
        switch self {
        case .otherApp: "app_id is not the one of config.app_id"
        case .noMembers:
            "the webhook has no members: switch them on in the dashboard, or set members: fetch"
        case .malformedMember: "a member has no user_id"
        case .malformedUpdate: "an entry of read_updates has no user_id"
        case .superGroup: "Sendbird sends no members of supergroups: set members: fetch"
        }
    }
}

/// Why a member gets no push; the raw value is a metric label.
enum Skip: String, CaseIterable {
    case sender, silent, blocking
    case notJoined = "not_joined"
    case pushDisabled = "push_disabled"
    case doNotDisturb = "do_not_disturb"
    case notMentioned = "not_mentioned"
    case triggerOff = "trigger_off"
    case quietHours = "quiet_hours"
    case snoozed
    case blockedBot = "blocked_bot"
    case reply
    case superGroupWindow = "super_group_window"
    case deleted
}

/// The outcome of a change for an answer of the Platform API.
enum Answer {
    static func outcome(_ status: Int, code: Int64?, isRemoval: Bool, retryAfterMs: UInt64?)
        -> Outcome
    {
        // 400201: no such user or token. The token to remove is already gone.
        let isGone = isRemoval && (status == 404 || status == 400 && code == 400_201)
        var outcome = Outcome(
            reportStatus: status, accepted: isRemoval ? "removed" : "registered",
            refusal: "the Platform API refuses api_token", retryAfterMs: retryAfterMs,
            waitMs: 10_000)
        if isGone {
            outcome.kind = .delivered
            outcome.reason = "already_gone"
        } else if outcome.reason.hasPrefix("http_") {
            outcome.detail = code.map { "error code \($0)" } ?? ""
        }
        return outcome
    }
}
