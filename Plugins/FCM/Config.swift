import SignalboxPluginKit

/// The `config:` of an instance.
struct Config: Sendable {
    static let schema = """
        {
          "type": "object", "family": "fcm",
          "addresses": { "token": "^(topic|condition|tag|named_user|channel):|[^A-Za-z0-9_:-]" },
          "payloadLimits": [
            { "bytes": 3840, "platform": "ios",
              "parts": ["/message/notification", "/message/data", "/message/apns/payload"] },
            { "bytes": 4096, "texts": true, "parts": [
              "/message/notification", "/message/data", "/message/android/notification",
              "/message/android/data", "/message/webpush/notification", "/message/webpush/data"] }
          ],
          "required": ["service_account"],
          "properties": {
            "service_account": {
              "type": "string", "format": "secret", "minLength": 2,
              "description": "the service account's JSON, such as ${file:secrets/fcm.json}"
            },
            "project_id": {
              "type": "string", "pattern": "^[a-z0-9:.-]*$", "default": "",
              "description": "project id or number, if it is another than the service account's"
            },
            "endpoint": {
              "type": "string", "format": "uri", "default": "",
              "description": "another origin than Google's, such as https://127.0.0.1:8443"
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
              "description": "apps of the registry that belong to the project; empty: all"
            },
            "android_channel": {
              "type": "string", "maxLength": 128, "default": "",
              "description": "notification channel on Android; empty: the app's default"
            },
            "collapse_key": {
              "type": "boolean", "default": false,
              "description": "while a device is offline FCM keeps the newest message of each collapse key alone, of four keys at most; false: all"
            },
            "validate_only": {
              "type": "boolean", "default": false,
              "description": "let FCM check messages and deliver none"
            }
          }
        }
        """

    let projectID: String
    let origin: String
    let caFile: String
    let connections: UInt32
    let requestTimeoutMs: UInt32
    let androidChannel: String
    let hasCollapseKey: Bool
    let isValidateOnly: Bool
    private let apps: Set<String>

    /// Whether pushes for an app use this project; tokens do not name their project.
    func serves(_ app: String) -> Bool {
        app.isEmpty || apps.isEmpty || apps.contains(app)
    }

    init(_ json: JSON) {
        projectID = json["project_id"]?.string ?? ""
        let endpoint = json["endpoint"]?.string ?? ""
        origin = endpoint.isEmpty ? "https://fcm.googleapis.com" : endpoint
        caFile = json["ca"]?.string ?? ""
        connections = UInt32(clamping: json["connections"]?.integer ?? 2)
        requestTimeoutMs = UInt32(clamping: json["request_timeout_ms"]?.integer ?? 10_000)
        apps = Set(json["apps"]?.elements.compactMap(\.string) ?? [])
        androidChannel = json["android_channel"]?.string ?? ""
        hasCollapseKey = json["collapse_key"]?.boolean ?? false
        isValidateOnly = json["validate_only"]?.boolean ?? false
    }
}

/// The public fields of the service account; its private key stays in the host.
struct ServiceAccount: Sendable {
    static let secret = "service_account"

    let projectID: String
    let clientEmail: String
    let keyID: String
    let tokenURI: String

    init(_ host: Host) throws(PluginError) {
        let bytes = try host.secret(Self.secret)
        guard let json = try? host.parse(bytes.span), json.kind == .object else {
            throw PluginError(.invalid, "config.service_account is not a JSON object")
        }
        func text(_ name: String) throws(PluginError) -> String {
            guard let text = json[name]?.string, !text.isEmpty else {
                throw PluginError(.invalid, "config.service_account has no \"\(name)\"")
            }
            return text
        }
        projectID = try text("project_id")
        clientEmail = try text("client_email")
        keyID = json["private_key_id"]?.string ?? ""
        tokenURI = try text("token_uri")
        _ = try text("private_key")
        guard tokenURI.hasPrefix("https://") else {
            throw PluginError(
                .invalid, "config.service_account: token_uri must begin with https://")
        }
    }
}
