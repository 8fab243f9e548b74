import SendbirdPush
import SignalboxPluginKit

/// The `config:` of an instance.
struct Config: Sendable {
    static let schema = """
        {
          "type": "object",
          "required": ["app_id"],
          "emits": {
            "desk.message.sent": ["*"], "desk.message.deleted": ["*"], "desk.event": ["*"],
            "ticket.closed": ["*"]
          },
          "properties": {
            "app_id": {
              "type": "string", "pattern": "^[A-Za-z0-9-]{1,64}$",
              "description": "the application's id in the dashboard; Chat and Desk have the same"
            },
            "path": {
              "type": "string", "pattern": "^(/[!-~]+)?$", "default": "", "maxLength": 512,
              "description": "the path of Desk's own webhooks; empty: none"
            },
            "api_token": {
              "type": "string", "format": "secret", "minLength": 1,
              "description": "the Desk API token: signs Desk's webhooks and opens its API"
            },
            "webhook_tokens": {
              "type": "array", "maxItems": 8, "default": [],
              "items": { "type": "string", "format": "secret", "minLength": 1 },
              "description": "further tokens with valid signatures, for token rotation"
            },
            "chat_path": {
              "type": "string", "pattern": "^(/[!-~]+)?$", "default": "", "maxLength": 512,
              "description": "the path of Chat webhooks that are meant for Desk alone; empty: none"
            },
            "chat_tokens": {
              "type": "array", "maxItems": 8, "default": [],
              "items": { "type": "string", "format": "secret", "minLength": 1 },
              "description": "Chat API tokens that sign the webhooks at chat_path"
            },
            "app": {
              "type": "string", "default": "", "maxLength": 255,
              "description": "app of the registry whose devices get the pushes; empty: every app"
            },
            "agent_prefixes": {
              "type": "array", "maxItems": 16, "default": ["sendbird_desk_agent_id_"],
              "items": { "type": "string", "minLength": 1, "maxLength": 64 },
              "description": "beginnings of agents' user ids: agents get no pushes"
            },
            \(PushSettings.schema(
                title: "{sender_name}", body: "{message}", fileBody: "{filename}")),
            "admin_messages": {
              "type": "string", "enum": ["hide", "notification"], "default": "hide",
              "description": "an admin message without a mark of Desk: never shown, or a notification"
            },
            "ticket": {
              "type": "string", "enum": ["webhook", "fetch"], "default": "webhook",
              "description": "fetch: ask Desk's API for the ticket when a message does not bring it"
            },
            "endpoint": {
              "type": "string", "format": "uri", "default": "",
              "description": "another origin than https://desk-api-APP_ID.sendbird.com"
            },
            "ca": { "type": "string", "format": "path", "default": "" }
          }
        }
        """

    /// `build.options` of a route.
    static let optionsSchema = """
        {
          "type": "object",
          "properties": {
            "events": {
              "type": "boolean", "default": false,
              "description": "push for Desk's webhooks without a message, too; give title and body in set"
            },
            "display": {
              "type": "string", "enum": ["app", "system"], "default": "app",
              "description": "who shows it on Android: the app from data, or the system"
            },
            \(PushSettings.optionsSchema)
          }
        }
        """

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

    init(_ json: JSON) throws(PluginError) {
        func text(_ key: String) -> String { json[key]?.string ?? "" }
        func names(_ key: String) -> [String] {
            (0..<(json[key]?.elements.count ?? 0)).map { "\(key).\($0)" }
        }
        appID = text("app_id")
        path = text("path")
        chatPath = text("chat_path")
        let hasToken = json["api_token"] != nil
        deskSigners = (hasToken ? ["api_token"] : []) + names("webhook_tokens")
        chatSigners = names("chat_tokens")
        app = text("app")
        agentPrefixes = json["agent_prefixes"]?.elements.compactMap(\.string) ?? []
        fetchesTickets = text("ticket") == "fetch"
        showsAdminMessages = text("admin_messages") == "notification"
        push = PushSettings(json)
        let endpoint = text("endpoint")
        origin = endpoint.isEmpty ? "https://desk-api-\(appID).sendbird.com" : endpoint
        caFile = text("ca")
        guard path.isEmpty || !deskSigners.isEmpty else {
            throw PluginError(.invalid, "path needs api_token, which signs Desk's webhooks")
        }
        guard chatPath.isEmpty || !chatSigners.isEmpty else {
            throw PluginError(.invalid, "chat_path needs chat_tokens, which sign Chat's webhooks")
        }
        guard !fetchesTickets || hasToken else {
            throw PluginError(.invalid, "ticket: fetch needs api_token")
        }
    }

    /// Whether a user is an agent, by the prefixes of agents' user ids.
    func isAgent(_ user: String) -> Bool {
        agentPrefixes.contains { user.hasPrefix($0) }
    }
}
