import SignalboxPluginKit

/// The `config:` of an instance.
struct Config: Sendable {
    static let schema = """
        {
          "type": "object",
          "required": ["path"],
          "reportsWith": "api",
          "emits": {
            "ticket.replied": [
              "ticket_id", "notification.title", "notification.body", "notification.ticket_id"
            ]
          },
          "properties": {
            "path": {
              "type": "string", "pattern": "^/[!-~]+$", "minLength": 2, "maxLength": 512,
              "description": "the path of the webhook, such as /in/zendesk/SECRET"
            },
            "signing_secret": {
              "type": "string", "format": "secret", "minLength": 1,
              "description": "of a general Zendesk webhook that is routed here; the SDK's bears none"
            },
            "sound": {
              "type": "string", "default": "default",
              "description": "sound of the notification; empty: none"
            },
            "deep_link_keys": {
              "type": "array", "minItems": 1, "maxItems": 8,
              "items": { "type": "string", "minLength": 1, "maxLength": 64 },
              "default": ["zendesk_sdk_request_id", "tid"],
              "description": "keys under which the app finds the ticket's id"
            },
            "api": {
              "type": "object",
              "description": "Zendesk's API, to report dead tokens",
              "properties": {
                "subdomain": {
                  "type": "string", "pattern": "^[a-z0-9-]{1,63}$", "default": "",
                  "description": "of SUBDOMAIN.zendesk.com"
                },
                "email": {
                  "type": "string", "pattern": "^[^:]*$", "default": "",
                  "description": "an admin's address, with api_token"
                },
                "api_token": { "type": "string", "format": "secret", "minLength": 1 },
                "oauth_token": { "type": "string", "format": "secret", "minLength": 1 },
                "endpoint": { "type": "string", "format": "uri", "default": "" },
                "ca": { "type": "string", "format": "path", "default": "" }
              }
            }
          }
        }
        """

    /// `build.options` of a route.
    static let optionsSchema = """
        {
          "type": "object",
          "properties": {
            "display": {
              "type": "string", "enum": ["app", "system"], "default": "app",
              "description": "who shows it on Android: the app from data, or the system"
            }
          }
        }
        """

    let path: String
    let isSigned: Bool
    let sound: String
    let deepLinkKeys: [String]

    /// The API to which dead tokens are reported; nil for none.
    let api: API?

    /// Zendesk's API.
    struct API: Sendable {
        let origin: String
        let caFile: String
        let email: String
        let usesOAuth: Bool

        init(_ json: JSON) throws(PluginError) {
            let hasToken = json["api_token"] != nil
            usesOAuth = json["oauth_token"] != nil
            guard hasToken != usesOAuth else {
                throw PluginError(.invalid, "api needs either api_token with email, or oauth_token")
            }
            email = json["email"]?.string ?? ""
            guard usesOAuth || !email.isEmpty else {
                throw PluginError(.invalid, "api: api_token needs email")
            }
            let subdomain = json["subdomain"]?.string ?? ""
            let endpoint = json["endpoint"]?.string ?? ""
            guard !subdomain.isEmpty || !endpoint.isEmpty else {
                throw PluginError(.invalid, "api needs subdomain")
            }
            origin = endpoint.isEmpty ? "https://\(subdomain).zendesk.com" : endpoint
            caFile = json["ca"]?.string ?? ""
        }

        /// The value of the Authorization header.
        func authorization(_ host: Host) throws(PluginError) -> String {
            if usesOAuth {
                let token = try host.secret("api.oauth_token")
                return "Bearer " + String(decoding: token, as: UTF8.self)
            }
            let token = try host.secret("api.api_token")
            return "Basic " + Base64URL.encodePadded(Array("\(email)/token:".utf8) + token)
        }
    }

    init(_ json: JSON) throws(PluginError) {
        if let given = json["api"], given.kind == .object, given.count > 0 {
            api = try API(given)
        } else {
            api = nil
        }
        isSigned = json["signing_secret"] != nil
        path = json["path"]?.string ?? ""
        sound = json["sound"]?.string ?? ""
        deepLinkKeys = json["deep_link_keys"]?.elements.compactMap(\.string) ?? []
    }
}
