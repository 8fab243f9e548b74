import SignalboxPluginKit

/// The `config:` of an instance.
struct Config: Sendable {
    static let schema = Keys.schema(
        """
        "reportsWith": "api",
        "emits": {
          "ticket.replied": [
            "ticket_id", "notification.title", "notification.body", "notification.ticket_id"
          ]
        }
        """
    ) { try Config($0) }

    /// `build.options` of a route.
    static let optionsSchema = Keys.schema { $0.display("app", "system") }

    let path: String
    /// Name of the secret, or empty.
    let signingSecret: String
    let sound: String
    let deepLinkKeys: [String]
    /// The API to which dead tokens are reported; nil for none.
    let api: API?

    init(_ keys: Keys) throws(PluginError) {
        path = keys.webhookPath("the path of the webhook, such as /in/zendesk/SECRET")
        signingSecret = keys.secret(
            "signing_secret",
            "of a general Zendesk webhook that is routed here; the SDK's bears none")
        sound = keys.text(
            "sound", default: "default", "sound of the notification; empty: none")
        deepLinkKeys = keys.texts(
            "deep_link_keys", count: 1...8, bytes: 1...64,
            default: ["zendesk_sdk_request_id", "tid"],
            "keys under which the app finds the ticket's id")
        api = try keys.object("api", "Zendesk's API, to report dead tokens", API.init)
    }

    /// Zendesk's API.
    struct API: Sendable {
        let origin: String
        let caFile: String
        let email: String
        /// Names of secrets; one of them is empty.
        let apiToken: String
        let oauthToken: String

        init(_ keys: Keys) throws(PluginError) {
            let subdomain = keys.text(
                "subdomain", pattern: "^[a-z0-9-]{1,63}$", default: "",
                "of SUBDOMAIN.zendesk.com")
            email = keys.text(
                "email", pattern: "^[^:]*$", default: "", "an admin's address, with api_token")
            apiToken = keys.secret("api_token")
            oauthToken = keys.secret("oauth_token")
            let endpoint = keys.endpoint("")
            caFile = keys.ca()
            origin = endpoint.isEmpty ? "https://\(subdomain).zendesk.com" : endpoint
            guard apiToken.isEmpty != oauthToken.isEmpty else {
                throw PluginError(.invalid, "api needs either api_token with email, or oauth_token")
            }
            guard apiToken.isEmpty || !email.isEmpty else {
                throw PluginError(.invalid, "api: api_token needs email")
            }
            guard !subdomain.isEmpty || !endpoint.isEmpty else {
                throw PluginError(.invalid, "api needs subdomain")
            }
        }

        /// The value of the Authorization header.
        func authorization(_ host: Host) throws(PluginError) -> String {
            if apiToken.isEmpty { return "Bearer " + (try host.secretText(oauthToken)) }
            let token = try host.secret(apiToken)
            return "Basic " + Base64URL.encodePadded(Array("\(email)/token:".utf8) + token)
        }
    }
}
