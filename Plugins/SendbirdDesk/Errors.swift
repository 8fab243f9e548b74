import SignalboxPluginKit

/// Why a whole webhook is rejected.
enum Fault {
    case deskSignature, chatSignature
    case notAnObject
    case wrong(path: String, what: String)

    var error: PluginError {
        switch self {
        case .deskSignature:
            PluginError(.auth, "x-hub-signature is missing or matches none of the tokens")
        case .chatSignature:
            PluginError(.auth, "x-sendbird-signature is missing or matches none of the tokens")
        case .notAnObject: PluginError(.invalid, "the body must be a JSON object")
        case .wrong(let path, let what): PluginError(.invalid, "\(path): \(what)")
        }
    }
}

/// Why a webhook is rejected; the raw value is a metric label.
enum Reject: String {
    case otherApp = "other_app"
    case notDesk = "not_desk"
    case noMembers = "no_members"

    var detail: String {
        switch self {
        case .otherApp: "app_id is not the one of config.app_id"
        case .notDesk: "the channel is not one of Desk; point ordinary Chat webhooks at Sendbird"
        case .noMembers: "the webhook has no members: switch them on in the dashboard"
        }
    }
}
