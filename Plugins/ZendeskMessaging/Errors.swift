import SignalboxPluginKit

/// Why a whole webhook is rejected.
enum Fault {
    case secret, notAnObject, events

    var error: PluginError {
        switch self {
        case .secret: PluginError(.auth, "x-api-key is missing or is not webhook_secret")
        case .notAnObject: PluginError(.invalid, "the body must be a JSON object")
        case .events: PluginError(.invalid, "\"events\" is missing or not a list")
        }
    }
}

/// Why one event of a webhook is rejected; the raw value is a metric label.
enum Reject: String, Error {
    case otherApp = "other_app"
    case malformedEvent = "malformed_event"
    case noConversation = "no_conversation"
    case unknownConversation = "unknown_conversation"
    case participantsUnavailable = "participants_unavailable"
    case noUser = "no_user"

    var detail: String {
        switch self {
        case .otherApp: "app.id is not the one of config.app_id"
        case .malformedEvent: "an event is not an object with a type, or its message has no author"
        case .noConversation: "a message has no conversation.id"
        case .unknownConversation: "the Conversations API does not know the conversation"
        case .participantsUnavailable:
            "the Conversations API did not say who takes part; the webhook gets 503, to be retried"
        case .noUser: "no participant has the id that config.users selects"
        }
    }
}
