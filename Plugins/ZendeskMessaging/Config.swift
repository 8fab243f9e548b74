import SignalboxPluginKit

/// The `config:` of an instance.
struct Config: Sendable {
    static let schema = Keys.schema(#""emits": { "conversation.message": ["*"] }"#) {
        try Config($0)
    }

    /// `build.options` of a route.
    static let optionsSchema = Keys.schema { $0.display("system", "app") }

    let path: String
    /// Name of the secret, or empty.
    let webhookSecret: String
    let appID: String
    let app: String
    let takesExternalID: Bool
    let sound: String
    let api: API

    init(_ keys: Keys) throws(PluginError) {
        path = keys.webhookPath(
            "the path of the webhook, such as /in/zendesk-messaging/SECRET")
        webhookSecret = keys.secret(
            "webhook_secret", "the webhook's shared secret, which comes in x-api-key")
        appID = keys.text(
            "app_id", pattern: "^[A-Za-z0-9]{0,64}$", default: "",
            "the app's id in the Conversations API; webhooks of others are left out. Empty: any")
        app = keys.app("app of the registry whose devices get the pushes; empty: every app")
        let users = keys.choice(
            "users", ["external_id", "id"],
            "the id by which devices are registered: the app's own, or Zendesk's")
        takesExternalID = users == "external_id"
        sound = keys.text("sound", bytes: ...128, default: "default")
        let api = try keys.object(
            "api", isRequired: true,
            "the Conversations API, which says who takes part in a conversation", API.init)
        guard let api else { throw PluginError(.invalid, "api is missing") }
        self.api = api
    }

    struct API: Sendable {
        /// URL prefix of `/v2/apps/...`.
        let base: String
        let keyID: String
        /// Name of the secret.
        let keySecret: String
        let caFile: String

        init(_ keys: Keys) throws(PluginError) {
            let subdomain = keys.text(
                "subdomain", pattern: "^[a-z0-9-]{0,63}$", default: "", "of SUBDOMAIN.zendesk.com")
            keyID = keys.text("key_id", bytes: 1...128, pattern: "^[^:]*$")
            keySecret = keys.secret("key_secret", isRequired: true)
            let endpoint = keys.endpoint("", "another base than https://SUBDOMAIN.zendesk.com/sc")
            caFile = keys.ca()
            base =
                endpoint.isEmpty
                ? "https://\(subdomain).zendesk.com/sc"
                : String(endpoint.hasSuffix("/") ? endpoint.dropLast() : endpoint[...])
            guard !subdomain.isEmpty || !endpoint.isEmpty else {
                throw PluginError(.invalid, "api needs subdomain")
            }
        }
    }
}
