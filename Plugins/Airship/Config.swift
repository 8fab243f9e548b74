import SignalboxPluginKit

/// The `config:` of an instance.
struct Config: Sendable {
    static let schema = Keys.schema(
        """
        "family": "airship", "platforms": ["ios", "android", "amazon", "web"],
        "addresses": [
          { "config": { "audience": ["named_user"] } },
          { "attributes": { "airship": ["named_user"] } },
          { "token": "[^A-Za-z0-9_:-]" }
        ],
        "payloadLimits": [ { "bytes": 3584, "parts": ["/notification"] } ]
        """
    ) { try Config($0) }

    let appKey: String
    let audience: Audience
    let origin: String
    let connections: Connections
    let apps: ServedApps
    let androidChannel: String
    let isValidateOnly: Bool
    /// Whether requests bear an access token instead of the master secret.
    let hasToken: Bool
    /// Name of that secret.
    private let secret: String

    init(_ keys: Keys) throws(PluginError) {
        appKey = keys.text("app_key", pattern: "^[A-Za-z0-9_-]+$", "the project's app key")
        let master = keys.secret(
            "master_secret", "the project's master secret, such as ${file:secrets/airship}")
        let token = keys.secret(
            "token", "an access token of the project, instead of the master secret")
        let region = keys.choice("region", ["us", "eu"], "the data center of the project")
        audience = keys.choice(
            "audience", Audience.self,
            "what the tokens of devices are; a device's attribute airship overrides it")
        origin = keys.endpoint(
            region == "eu" ? "https://go.airship.eu" : "https://go.urbanairship.com",
            "another origin than Airship's, such as https://127.0.0.1:8443")
        connections = keys.connections(2)
        apps = keys.servedApps("apps of the registry that belong to the project; empty: all")
        androidChannel = keys.text(
            "android_channel", bytes: ...128, default: "",
            "notification channel on Android; empty: the app's default")
        isValidateOnly = keys.flag(
            "validate_only", "let Airship check pushes and deliver none")
        hasToken = !token.isEmpty
        secret = hasToken ? token : master
        guard token.isEmpty != master.isEmpty else {
            throw PluginError(
                .invalid, "config needs either master_secret or token, and not both")
        }
    }

    /// The value of the header `authorization`.
    func authorization(_ host: Host) throws(PluginError) -> String {
        let value = try host.secretLine(secret)
        guard !value.isEmpty else { throw PluginError(.invalid, "config.\(secret) is empty") }
        return hasToken
            ? "Bearer \(value)"
            : "Basic \(Base64URL.encodePadded(Array("\(appKey):\(value)".utf8)))"
    }
}

/// What a device's token names at Airship.
enum Audience: String, CaseIterable, Sendable {
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
