import SignalboxPluginKit

/// The `config:` of an instance.
struct Config: Sendable {
    static let schema = Keys.schema(
        """
        "family": "fcm", "platforms": ["android", "ios", "web"],
        "addresses": { "token": "^(topic|condition|tag|named_user|channel):|[^A-Za-z0-9_:-]" },
        "payloadLimits": [
          { "bytes": 3840, "platform": "ios",
            "parts": ["/message/notification", "/message/data", "/message/apns/payload"] },
          { "bytes": 4096, "texts": true, "parts": [
            "/message/notification", "/message/data", "/message/android/notification",
            "/message/android/data", "/message/webpush/notification", "/message/webpush/data"] }
        ]
        """
    ) { Config($0) }

    let projectID: String
    let origin: String
    let connections: Connections
    let apps: ServedApps
    let androidChannel: String
    let hasCollapseKey: Bool
    let isValidateOnly: Bool

    init(_ keys: Keys) {
        _ = keys.secret(
            ServiceAccount.secret, bytes: 2..., isRequired: true,
            "the service account's JSON, such as ${file:secrets/fcm.json}")
        projectID = keys.text(
            "project_id", pattern: "^[a-z0-9:.-]*$", default: "",
            "project id or number, if it is another than the service account's")
        origin = keys.endpoint(
            "https://fcm.googleapis.com",
            "another origin than Google's, such as https://127.0.0.1:8443")
        connections = keys.connections(2)
        apps = keys.servedApps("apps of the registry that belong to the project; empty: all")
        androidChannel = keys.text(
            "android_channel", bytes: ...128, default: "",
            "notification channel on Android; empty: the app's default")
        hasCollapseKey = keys.flag(
            "collapse_key",
            "while a device is offline FCM keeps the newest message of each collapse key alone, of four keys at most; false: all"
        )
        isValidateOnly = keys.flag("validate_only", "let FCM check messages and deliver none")
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
