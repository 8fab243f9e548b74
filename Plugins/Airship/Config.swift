import SignalboxPluginKit

/// The `config:` of an instance.
struct Config: Sendable {
    static let schema = """
        {
          "type": "object", "family": "airship",
          "addresses": [
            { "config": { "audience": ["named_user"] } },
            { "attributes": { "airship": ["named_user"] } },
            { "token": "[^A-Za-z0-9_:-]" }
          ],
          "payloadLimits": [ { "bytes": 3584, "parts": ["/notification"] } ],
          "required": ["app_key"],
          "properties": {
            "app_key": {
              "type": "string", "pattern": "^[A-Za-z0-9_-]+$",
              "description": "the project's app key"
            },
            "master_secret": {
              "type": "string", "format": "secret", "minLength": 1,
              "description": "the project's master secret, such as ${file:secrets/airship}"
            },
            "token": {
              "type": "string", "format": "secret", "minLength": 1,
              "description": "an access token of the project, instead of the master secret"
            },
            "region": {
              "type": "string", "enum": ["us", "eu"], "default": "us",
              "description": "the data center of the project"
            },
            "audience": {
              "type": "string", "enum": ["channel", "named_user", "device_token"],
              "default": "channel",
              "description": "what the tokens of devices are; a device's attribute airship overrides it"
            },
            "endpoint": {
              "type": "string", "format": "uri", "default": "",
              "description": "another origin than Airship's, such as https://127.0.0.1:8443"
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
            "validate_only": {
              "type": "boolean", "default": false,
              "description": "let Airship check pushes and deliver none"
            }
          }
        }
        """

    let appKey: String
    let origin: String
    let caFile: String
    let connections: UInt32
    let requestTimeoutMs: UInt32
    let audience: Audience
    let androidChannel: String
    let isValidateOnly: Bool
    /// Whether requests bear an access token instead of the master secret.
    let hasToken: Bool
    private let apps: Set<String>

    init(_ json: JSON) throws(PluginError) {
        func text(_ key: String) -> String { json[key]?.string ?? "" }
        hasToken = !text("token").isEmpty
        guard hasToken != !text("master_secret").isEmpty else {
            throw PluginError(
                .invalid, "config needs either master_secret or token, and not both")
        }
        appKey = text("app_key")
        let endpoint = text("endpoint")
        let own = text("region") == "eu" ? "go.airship.eu" : "go.urbanairship.com"
        origin = endpoint.isEmpty ? "https://\(own)" : endpoint
        caFile = text("ca")
        connections = UInt32(clamping: json["connections"]?.integer ?? 2)
        requestTimeoutMs = UInt32(clamping: json["request_timeout_ms"]?.integer ?? 10_000)
        audience = Audience(rawValue: text("audience")) ?? .channel
        apps = Set(json["apps"]?.elements.compactMap(\.string) ?? [])
        androidChannel = text("android_channel")
        isValidateOnly = json["validate_only"]?.boolean ?? false
    }

    /// Whether pushes for an app use this project; channels do not name their project.
    func serves(_ app: String) -> Bool {
        app.isEmpty || apps.isEmpty || apps.contains(app)
    }

    /// The value of the header `authorization`.
    func authorization(_ host: Host) throws(PluginError) -> String {
        let name = hasToken ? "token" : "master_secret"
        var secret = try host.secretText(name)
        // An editor leaves a line end in a secret's file.
        while secret.last?.isNewline == true { secret.removeLast() }
        guard !secret.isEmpty else { throw PluginError(.invalid, "config.\(name) is empty") }
        if hasToken { return "Bearer \(secret)" }
        let text = Base64URL.encode(Array("\(appKey):\(secret)".utf8))
        let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        return "Basic \(text.replacing("-", with: "+").replacing("_", with: "/"))\(padding)"
    }
}

/// What a device's token names at Airship.
enum Audience: String, Hashable, Sendable {
    /// A channel's id: one installation.
    case channel
    /// A user with all of their channels.
    case namedUser = "named_user"
    /// A token of APNs or FCM itself, from before channels.
    case deviceToken = "device_token"

    /// The audience's selector; a legacy token's depends on the platform.
    func selector(platform: String) -> String {
        guard self == .deviceToken else { return rawValue }
        return platform == "ios" ? "device_token" : "apid"
    }
}
