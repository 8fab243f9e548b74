import SignalboxPluginKit

/// The `config:` of an instance.
struct Config: Sendable {
    static let schema = """
        {
          "type": "object", "family": "hms",
          "addresses": { "token": "[^A-Za-z0-9_.:=+/-]" },
          "payloadLimits": [
            { "bytes": 4048, "parts": [
              "/message/notification", "/message/data", "/message/android",
              "/payload", "/pushOptions"] }
          ],
          "properties": {
            "client_id": {
              "type": "string", "pattern": "^[A-Za-z0-9._-]*$", "default": "",
              "description": "the app's OAuth client id in AppGallery Connect; for older apps the app id"
            },
            "client_secret": {
              "type": "string", "format": "secret", "minLength": 1,
              "description": "the client's secret, such as ${file:secrets/hms}"
            },
            "service_account": {
              "type": "string", "format": "secret", "minLength": 1,
              "description": "instead of a client, for HarmonyOS 5 and later: the service account's JSON, such as ${file:secrets/hms.json}"
            },
            "project_id": {
              "type": "string", "pattern": "^[A-Za-z0-9._-]*$", "default": "",
              "description": "with a client: sends by API v2, for all apps of this project; with a service account: another project than its own"
            },
            "endpoint": {
              "type": "string", "format": "uri", "default": "",
              "description": "another origin than Huawei's, such as https://127.0.0.1:8443"
            },
            "token_url": {
              "type": "string", "format": "uri", "default": "",
              "description": "another token endpoint than Huawei's"
            },
            "ca": {
              "type": "string", "format": "path", "default": "",
              "description": "PEM file of trusted roots instead of the system's"
            },
            "request_timeout_ms": {
              "type": "integer", "minimum": 100, "maximum": 60000, "default": 10000,
              "description": "how long a push may take from submit to answer"
            },
            "connections": { "type": "integer", "minimum": 1, "maximum": 64, "default": 2 },
            "apps": {
              "type": "array", "maxItems": 1000, "default": [],
              "items": { "type": "string", "minLength": 1, "maxLength": 255 },
              "description": "apps of the registry that belong to the client or project; empty: all"
            },
            "channel": {
              "type": "string", "maxLength": 128, "default": "",
              "description": "notification channel; empty: the app's default"
            },
            "category": {
              "type": "string", "maxLength": 32, "pattern": "^[A-Z_]*$", "default": "",
              "description": "kind of message that Huawei has approved for the app, such as IM or WORK"
            },
            "badge_class": {
              "type": "string", "maxLength": 255, "default": "",
              "description": "the app's launcher activity, such as com.example.app.MainActivity; badges need it"
            },
            "collapse_key": {
              "type": "boolean", "default": false,
              "description": "while a device is offline Huawei keeps the newest message of each of 100 groups alone; false: all"
            },
            "high_priority": {
              "type": "boolean", "default": false,
              "description": "the app may send data messages with urgency HIGH: Huawei has granted the right"
            },
            "quick_app": {
              "type": "string", "enum": ["no", "production", "development"], "default": "no",
              "description": "the tokens are those of a quick app, in this mode"
            },
            "validate_only": {
              "type": "boolean", "default": false,
              "description": "let Huawei check messages and deliver none"
            }
          }
        }
        """

    static let clientSecret = "client_secret"

    /// The service account of API v3; nil for v1 and v2.
    let account: ServiceAccount?
    let clientID: String
    let origin: String
    let tokenURL: String
    /// Of requests to send.
    let path: String
    let caFile: String
    let connections: UInt32
    let requestTimeoutMs: UInt32
    let channel: String
    let category: String
    let badgeClass: String
    let hasCollapseKey: Bool
    let hasHighPriority: Bool
    /// `fast_app_target` of a quick app; nil for an ordinary app.
    let quickAppTarget: Int?
    let isValidateOnly: Bool
    private let apps: Set<String>

    /// Whether pushes for an app use this client; tokens do not name their app.
    func serves(_ app: String) -> Bool {
        app.isEmpty || apps.isEmpty || apps.contains(app)
    }

    init(_ json: JSON, host: Host) throws(PluginError) {
        func text(_ key: String) -> String { json[key]?.string ?? "" }
        clientID = text("client_id")
        let project = text("project_id")
        if text(ServiceAccount.secret).isEmpty {
            guard !clientID.isEmpty, !text(Self.clientSecret).isEmpty else {
                throw PluginError(
                    .invalid, "config needs client_id and client_secret, or service_account")
            }
            account = nil
            path =
                project.isEmpty
                ? "/v1/\(clientID)/messages:send" : "/v2/\(project)/messages:send"
        } else {
            let account = try ServiceAccount(host)
            for key in ["client_id", Self.clientSecret] where !text(key).isEmpty {
                throw PluginError(
                    .invalid, "config.\(key) and config.service_account exclude each other")
            }
            guard json["validate_only"]?.boolean != true, json["quick_app"]?.string != "production",
                json["quick_app"]?.string != "development"
            else {
                throw PluginError(
                    .invalid, "config.validate_only and config.quick_app need client_id")
            }
            self.account = account
            path = "/v3/\(project.isEmpty ? account.projectID : project)/messages:send"
        }
        let endpoint = text("endpoint")
        origin = endpoint.isEmpty ? "https://push-api.cloud.huawei.com" : endpoint
        let tokens = text("token_url")
        tokenURL =
            tokens.isEmpty ? "https://oauth-login.cloud.huawei.com/oauth2/v3/token" : tokens
        caFile = text("ca")
        connections = UInt32(clamping: json["connections"]?.integer ?? 2)
        requestTimeoutMs = UInt32(clamping: json["request_timeout_ms"]?.integer ?? 10_000)
        apps = Set(json["apps"]?.elements.compactMap(\.string) ?? [])
        channel = text("channel")
        category = text("category")
        badgeClass = text("badge_class")
        hasCollapseKey = json["collapse_key"]?.boolean ?? false
        hasHighPriority = json["high_priority"]?.boolean ?? false
        quickAppTarget = ["development": 1, "production": 2][text("quick_app")]
        isValidateOnly = json["validate_only"]?.boolean ?? false
    }
}
