import SendbirdPush
import SignalboxPluginKit

/// The `config:` of an instance.
struct Config: Sendable {
    static let schema = Keys.schema(
        """
        "emits": {
          "desk.message.sent": ["*"], "desk.message.deleted": ["*"], "desk.event": ["*"],
          "ticket.closed": ["*"]
        }
        """
    ) { try Config($0) }

    /// `build.options` of a route.
    static let optionsSchema = Keys.schema { keys in
        _ = keys.flag(
            "events",
            "push for Desk's webhooks without a message, too; give title and body in set")
        _ = keys.display("app", "system")
        PushSettings.options(keys)
    }

    let appID: String
    let path: String
    let chatPath: String
    /// Names of the secrets that may sign webhooks of Desk, or of Chat.
    let deskSigners: [String]
    let chatSigners: [String]
    let app: String
    let agentPrefixes: [String]
    let fetchesTickets: Bool
    /// An admin message without a system marker is for customers.
    let showsAdminMessages: Bool
    let push: PushSettings
    let origin: String
    let caFile: String

    init(_ keys: Keys) throws(PluginError) {
        appID = keys.text(
            "app_id", pattern: "^[A-Za-z0-9-]{1,64}$",
            "the application's id in the dashboard; Chat and Desk have the same")
        path = keys.optionalPath("path", "the path of Desk's own webhooks; empty: none")
        let token = keys.secret(
            "api_token", "the Desk API token: signs Desk's webhooks and opens its API")
        let more = keys.secrets(
            "webhook_tokens", count: ...8,
            "further tokens with valid signatures, for token rotation")
        deskSigners = (token.isEmpty ? [] : [token]) + more
        chatPath = keys.optionalPath(
            "chat_path", "the path of Chat webhooks that are meant for Desk alone; empty: none")
        chatSigners = keys.secrets(
            "chat_tokens", count: ...8, "Chat API tokens that sign the webhooks at chat_path")
        app = keys.app("app of the registry whose devices get the pushes; empty: every app")
        agentPrefixes = keys.texts(
            "agent_prefixes", count: ...16, bytes: 1...64, default: ["sendbird_desk_agent_id_"],
            "beginnings of agents' user ids: agents get no pushes")
        push = PushSettings(
            keys, title: "{sender_name}", body: "{message}", fileBody: "{filename}")
        let admin = keys.choice(
            "admin_messages", ["hide", "notification"],
            "an admin message without a mark of Desk: never shown, or a notification")
        showsAdminMessages = admin == "notification"
        let ticket = keys.choice(
            "ticket", ["webhook", "fetch"],
            "fetch: ask Desk's API for the ticket when a message does not bring it")
        fetchesTickets = ticket == "fetch"
        origin = keys.endpoint(
            "https://desk-api-\(appID).sendbird.com",
            "another origin than https://desk-api-APP_ID.sendbird.com")
        caFile = keys.ca()
        guard path.isEmpty || !deskSigners.isEmpty else {
            throw PluginError(.invalid, "path needs api_token, which signs Desk's webhooks")
        }
        guard chatPath.isEmpty || !chatSigners.isEmpty else {
            throw PluginError(.invalid, "chat_path needs chat_tokens, which sign Chat's webhooks")
        }
        guard !fetchesTickets || !token.isEmpty else {
            throw PluginError(.invalid, "ticket: fetch needs api_token")
        }
    }

    /// Whether a user is an agent, by the prefixes of agents' user ids.
    func isAgent(_ user: String) -> Bool {
        agentPrefixes.contains { user.hasPrefix($0) }
    }
}
