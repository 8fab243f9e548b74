import SignalboxPluginKit

/// The `config:` of an instance.
struct Config: Sendable {
    static let schema = Keys.schema(
        """
        "family": "hms", "platforms": ["huawei", "harmony", "android"],
        "addresses": { "token": "[^A-Za-z0-9_.:=+/-]" },
        "payloadLimits": [
          { "bytes": 4048, "parts": [
            "/message/notification", "/message/data", "/message/android",
            "/payload", "/pushOptions"] }
        ]
        """
    ) { Config($0) }

    let clientID: String
    let origin: String
    let tokenURL: String
    let connections: Connections
    let apps: ServedApps
    let channel: String
    let category: String
    let badgeClass: String
    let hasCollapseKey: Bool
    let hasHighPriority: Bool
    let isValidateOnly: Bool
    /// Of API v1 and v2.
    let clientSecret: String
    /// Of API v3, instead of a client.
    let serviceAccount: String
    let projectID: String
    private let quickApp: String

    init(_ keys: Keys) {
        clientID = keys.text(
            "client_id", pattern: "^[A-Za-z0-9._-]*$", default: "",
            "the app's OAuth client id in AppGallery Connect; for older apps the app id")
        clientSecret = keys.secret(
            "client_secret", "the client's secret, such as ${file:secrets/hms}")
        serviceAccount = keys.secret(
            "service_account",
            "instead of a client, for HarmonyOS 5 and later: the service account's JSON, such as ${file:secrets/hms.json}"
        )
        projectID = keys.text(
            "project_id", pattern: "^[A-Za-z0-9._-]*$", default: "",
            "with a client: sends by API v2, for all apps of this project; with a service account: another project than its own"
        )
        origin = keys.endpoint(
            "https://push-api.cloud.huawei.com",
            "another origin than Huawei's, such as https://127.0.0.1:8443")
        let tokens = keys.uri("token_url", "another token endpoint than Huawei's")
        tokenURL = tokens.isEmpty ? ServiceAccount.audience : tokens
        connections = keys.connections(2)
        apps = keys.servedApps(
            "apps of the registry that belong to the client or project; empty: all")
        channel = keys.text(
            "channel", bytes: ...128, default: "", "notification channel; empty: the app's default")
        category = keys.text(
            "category", bytes: ...32, pattern: "^[A-Z_]*$", default: "",
            "kind of message that Huawei has approved for the app, such as IM or WORK")
        badgeClass = keys.text(
            "badge_class", bytes: ...255, default: "",
            "the app's launcher activity, such as com.example.app.MainActivity; badges need it")
        hasCollapseKey = keys.flag(
            "collapse_key",
            "while a device is offline Huawei keeps the newest message of each of 100 groups alone; false: all"
        )
        hasHighPriority = keys.flag(
            "high_priority",
            "the app may send data messages with urgency HIGH: Huawei has granted the right")
        quickApp = keys.choice(
            "quick_app", ["no", "production", "development"],
            "the tokens are those of a quick app, in this mode")
        isValidateOnly = keys.flag("validate_only", "let Huawei check messages and deliver none")
    }

    /// `fast_app_target` of a quick app; nil for an ordinary app.
    var quickAppTarget: Int? { ["development": 1, "production": 2][quickApp] }

    /// The service account of API v3; nil for v1 and v2.
    func account(_ host: Host) throws(PluginError) -> ServiceAccount? {
        guard !serviceAccount.isEmpty else {
            guard !clientID.isEmpty, !clientSecret.isEmpty else {
                throw PluginError(
                    .invalid, "config needs client_id and client_secret, or service_account")
            }
            return nil
        }
        for (key, value) in [("client_id", clientID), ("client_secret", clientSecret)]
        where !value.isEmpty {
            throw PluginError(
                .invalid, "config.\(key) and config.service_account exclude each other")
        }
        guard !isValidateOnly, quickAppTarget == nil else {
            throw PluginError(
                .invalid, "config.validate_only and config.quick_app need client_id")
        }
        return try ServiceAccount(host)
    }

    /// Of requests to send.
    func path(_ account: ServiceAccount?) -> String {
        if let account {
            return "/v3/\(projectID.isEmpty ? account.projectID : projectID)/messages:send"
        }
        return projectID.isEmpty
            ? "/v1/\(clientID)/messages:send" : "/v2/\(projectID)/messages:send"
    }
}
