import SendbirdPush
import SignalboxPluginKit

/// The `config:` of an instance: the settings under "Push notifications" in Sendbird's dashboard.
struct Config: Sendable {
    static let schema = Keys.schema(
        """
        "emits": {
          "message.sent": ["*"], "message.deleted": ["*"], "message.read": ["*"],
          "desk.message.sent": ["*"], "desk.message.deleted": ["*"]
        },
        "providerPushes": { "register": ["message.sent", "desk.message.sent"] }
        """
    ) { try Config($0) }

    /// `build.options` of a route.
    static let optionsSchema = Keys.schema { PushSettings.options($0) }

    let path: String
    let appID: String
    /// Names of the secrets that may sign a webhook.
    let signers: [String]
    let app: String
    let fetchesMembers: Bool
    let fetchesPreferences: Bool
    let push: PushSettings
    let register: (isUnique: Bool, checksLimit: Bool)?
    let origin: String
    let caFile: String

    init(_ keys: Keys) throws(PluginError) {
        path = keys.webhookPath("the path of the webhook, such as /in/sendbird")
        appID = keys.text(
            "app_id", pattern: "^[A-Za-z0-9-]{1,64}$", "the application's id in the dashboard")
        let token = keys.secret(
            "api_token", isRequired: true,
            "the master API token: signs webhooks and opens the Platform API")
        let more = keys.secrets(
            "webhook_tokens", count: ...8,
            "further tokens with valid signatures, for token rotation")
        signers = [token] + more
        app = keys.app("app of the registry whose devices get the pushes; empty: every app")
        let members = keys.choice(
            "members", ["webhook", "fetch"],
            "fetch: ask the Platform API if a webhook has no members")
        fetchesMembers = members == "fetch"
        let preferences = keys.choice(
            "preferences", ["webhook", "fetch"],
            "fetch: ask for each member's push preference (quiet hours, snooze, sound)")
        fetchesPreferences = preferences == "fetch"
        push = PushSettings(
            keys, title: "", body: "{sender_name}: {message}",
            fileBody: "{sender_name}: {filename}")
        let register = try keys.object(
            "register", "forwards devices of the registry to the Platform API"
        ) { keys in
            (
                isEnabled: keys.flag("enabled", default: true),
                isUnique: keys.flag("unique", "a token leaves the users who had it before"),
                checksLimit: keys.flag(
                    "check_limit", default: true,
                    "count the user's tokens afterwards: Sendbird keeps the newest 20")
            )
        }
        self.register = register.flatMap {
            $0.isEnabled ? ($0.isUnique, $0.checksLimit) : nil
        }
        origin = keys.endpoint(
            "https://api-\(appID).sendbird.com",
            "another origin than https://api-APP_ID.sendbird.com")
        caFile = keys.ca()
    }

    /// A request to the Platform API.
    func get(_ path: String, _ token: String, timeoutMs: UInt32 = 2_000) -> HTTPCall {
        var call = HTTPCall("GET", origin + path)
        call.headers = [("api-token", token)]
        call.caFile = caFile
        call.timeoutMs = timeoutMs
        return call
    }
}
