import SignalboxPluginKit

/// The `config:` of an instance.
struct Config: Sendable {
    static let schema = """
        {
          "type": "object",
          "emits": { "conversation.message": ["*"] },
          "required": ["path", "api"],
          "properties": {
            "path": {
              "type": "string", "pattern": "^/[!-~]+$", "minLength": 2, "maxLength": 512,
              "description": "the path of the webhook, such as /in/zendesk-messaging/SECRET"
            },
            "webhook_secret": {
              "type": "string", "format": "secret", "minLength": 1,
              "description": "the webhook's shared secret, which comes in x-api-key"
            },
            "app_id": {
              "type": "string", "pattern": "^[A-Za-z0-9]{0,64}$", "default": "",
              "description": "the app's id in the Conversations API; webhooks of others are left out. Empty: any"
            },
            "app": {
              "type": "string", "default": "", "maxLength": 255,
              "description": "app of the registry whose devices get the pushes; empty: every app"
            },
            "users": {
              "type": "string", "enum": ["external_id", "id"], "default": "external_id",
              "description": "the id by which devices are registered: the app's own, or Zendesk's"
            },
            "sound": { "type": "string", "default": "default", "maxLength": 128 },
            "api": {
              "type": "object", "required": ["key_id", "key_secret"],
              "description": "the Conversations API, which says who takes part in a conversation",
              "properties": {
                "subdomain": {
                  "type": "string", "pattern": "^[a-z0-9-]{0,63}$", "default": "",
                  "description": "of SUBDOMAIN.zendesk.com"
                },
                "key_id": { "type": "string", "pattern": "^[^:]*$", "minLength": 1, "maxLength": 128 },
                "key_secret": { "type": "string", "format": "secret", "minLength": 1 },
                "endpoint": {
                  "type": "string", "format": "uri", "default": "",
                  "description": "another base than https://SUBDOMAIN.zendesk.com/sc"
                },
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
              "type": "string", "enum": ["app", "system"], "default": "system",
              "description": "who shows it on Android: the app from data, or the system"
            }
          }
        }
        """

    let path: String
    let isSecured: Bool
    let appID: String
    let app: String
    let takesExternalID: Bool
    let sound: String
    /// URL prefix of `/v2/apps/...`.
    let base: String
    let keyID: String
    let caFile: String

    init(_ json: JSON) throws(PluginError) {
        func text(_ pointer: String) -> String { json.at(pointer)?.string ?? "" }
        path = text("/path")
        isSecured = json["webhook_secret"] != nil
        appID = text("/app_id")
        app = text("/app")
        takesExternalID = text("/users") == "external_id"
        sound = text("/sound")
        let (subdomain, endpoint) = (text("/api/subdomain"), text("/api/endpoint"))
        guard !subdomain.isEmpty || !endpoint.isEmpty else {
            throw PluginError(.invalid, "api needs subdomain")
        }
        base =
            endpoint.isEmpty
            ? "https://\(subdomain).zendesk.com/sc"
            : String(endpoint.hasSuffix("/") ? endpoint.dropLast() : endpoint[...])
        keyID = text("/api/key_id")
        caFile = text("/api/ca")
    }
}
