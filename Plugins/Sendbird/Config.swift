import SendbirdPush
import SignalboxPluginKit

/// The `config:` of an instance: the settings under "Push notifications" in Sendbird's dashboard.
struct Config: Sendable {
    static let schema = """
        {
          "type": "object",
          "required": ["path", "app_id", "api_token"],
          "emits": {
            "message.sent": ["*"], "message.deleted": ["*"], "message.read": ["*"],
            "desk.message.sent": ["*"], "desk.message.deleted": ["*"]
          },
          "providerPushes": { "register": ["message.sent", "desk.message.sent"] },
          "properties": {
            "path": {
              "type": "string", "pattern": "^/[!-~]+$", "minLength": 2, "maxLength": 512,
              "description": "the path of the webhook, such as /in/sendbird"
            },
            "app_id": {
              "type": "string", "pattern": "^[A-Za-z0-9-]{1,64}$",
              "description": "the application's id in the dashboard"
            },
            "api_token": {
              "type": "string", "format": "secret", "minLength": 1,
              "description": "the master API token: signs webhooks and opens the Platform API"
            },
            "webhook_tokens": {
              "type": "array", "maxItems": 8, "default": [],
              "items": { "type": "string", "format": "secret", "minLength": 1 },
              "description": "further tokens with valid signatures, for token rotation"
            },
            "app": {
              "type": "string", "default": "", "maxLength": 255,
              "description": "app of the registry whose devices get the pushes; empty: every app"
            },
            "members": {
              "type": "string", "enum": ["webhook", "fetch"], "default": "webhook",
              "description": "fetch: ask the Platform API if a webhook has no members"
            },
            "preferences": {
              "type": "string", "enum": ["webhook", "fetch"], "default": "webhook",
              "description": "fetch: ask for each member's push preference (quiet hours, snooze, sound)"
            },
            \(PushSettings.schema(
                title: "", body: "{sender_name}: {message}",
                fileBody: "{sender_name}: {filename}")),
            "register": {
              "type": "object",
              "description": "forwards devices of the registry to the Platform API",
              "properties": {
                "enabled": { "type": "boolean", "default": true },
                "unique": {
                  "type": "boolean", "default": false,
                  "description": "a token leaves the users who had it before"
                },
                "check_limit": {
                  "type": "boolean", "default": true,
                  "description": "count the user's tokens afterwards: Sendbird keeps the newest 20"
                }
              }
            },
            "endpoint": {
              "type": "string", "format": "uri", "default": "",
              "description": "another origin than https://api-APP_ID.sendbird.com"
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
            \(PushSettings.optionsSchema)
          }
        }
        """

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

    init(_ json: JSON) throws(PluginError) {
        func text(_ key: String) -> String { json[key]?.string ?? "" }
        path = text("path")
        appID = text("app_id")
        let more = json["webhook_tokens"]?.elements.count ?? 0
        signers = ["api_token"] + (0..<more).map { "webhook_tokens.\($0)" }
        app = text("app")
        fetchesMembers = text("members") == "fetch"
        fetchesPreferences = text("preferences") == "fetch"
        push = PushSettings(json)
        if let given = json["register"], given.kind == .object,
            given["enabled"]?.boolean ?? true
        {
            register = (
                given["unique"]?.boolean ?? false, given["check_limit"]?.boolean ?? true
            )
        } else {
            register = nil
        }
        let endpoint = text("endpoint")
        origin = endpoint.isEmpty ? "https://api-\(appID).sendbird.com" : endpoint
        caFile = text("ca")
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
