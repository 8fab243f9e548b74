import SignalboxPluginKit

/// The `config:` of an instance.
struct Config: Sendable {
    static let schema = Keys.schema(
        """
        "family": "apns", "emits": {},
        "platforms": ["ios", "ipados", "macos", "tvos", "visionos", "watchos"],
        "addresses": { "token": "^channel:|[^A-Za-z0-9_-]" },
        "payloadLimits": [
          { "bytes": 5120, "header": "apns-push-type", "value": "voip" }, { "bytes": 4096 }
        ]
        """
    ) { try Config($0, host: nil) }

    /// In the file's order; the first is the default.
    let accounts: [Account]
    let channels: Channels?
    let connections: Connections
    let takesAnyToken: Bool

    init(_ keys: Keys, host: Host?) throws(PluginError) {
        let own = AppKeys(keys)
        let apps = try keys.list(
            "apps", count: ...1000, "apps with credentials and connections of their own",
            AppKeys.init)
        channels = try keys.object(
            "channels", "lets your backend make and delete broadcast channels", Channels.init)
        let port = keys.number("port", oneOf: [443, 2197])
        let endpoint = keys.endpoint(
            "", "another origin than Apple's, such as https://127.0.0.1:2197")
        connections = keys.connections(2)
        let check = keys.choice(
            "token_check", ["hex", "lenient"],
            "lenient takes tokens that are not hexadecimal, for simulators")
        takesAnyToken = check == "lenient"
        guard let host else { throw PluginError(.internal, "there is no host") }
        var accounts: [Account] = []
        if !own.key.isEmpty || !own.certificate.isEmpty || apps.isEmpty {
            accounts.append(
                try Account(own, place: "", endpoint: endpoint, port: port, host: host))
        }
        for (index, app) in apps.enumerated() {
            accounts.append(
                try Account(app, place: "apps.\(index)", endpoint: endpoint, port: port, host: host)
            )
        }
        var seen: Set<String> = []
        for account in accounts {
            for topic in account.topics where !seen.insert(topic).inserted {
                throw PluginError(.invalid, "the topic \(topic) is named twice")
            }
        }
        self.accounts = accounts
    }

    /// The account for an app's pushes; an empty app means the default account.
    func account(for app: String) -> Account? {
        app.isEmpty ? accounts.first : accounts.first { $0.topics.contains(app) }
    }
}

/// Keys of one app with its credentials: at the top level for one app, under `apps` for several.
struct AppKeys: Sendable {
    let teamID: String
    let keyID: String
    /// Names of secrets, or empty.
    let key: String
    let certificate: String
    let certificateKey: String
    let certificatePassword: String
    let topic: String
    let topics: [String]
    /// Whether Apple keeps the newest message of a channel for devices that are away.
    let channelsStore: Bool
    let isProduction: Bool

    init(_ keys: Keys) {
        let id = "^[A-Za-z0-9]{1,32}$"
        teamID = keys.text(
            "team_id", pattern: id, default: "", "Apple's team id, 10 letters and digits")
        keyID = keys.text(
            "key_id", pattern: id, default: "", "id of the .p8 key, 10 letters and digits")
        key = keys.secret("key", "the .p8 key, such as ${file:secrets/apns.p8}")
        certificate = keys.secret(
            "certificate", "client certificate instead of a key: a .p12 file, or a PEM chain")
        certificateKey = keys.secret(
            "certificate_key",
            "private key of a PEM certificate, unless it stands in the same file")
        certificatePassword = keys.secret(
            "certificate_password", "password of the .p12 file or of the key")
        topic = keys.text(
            "topic", pattern: "^[A-Za-z0-9.-]{0,255}$", default: "",
            "bundle id of the app; a certificate names its own")
        topics = keys.texts(
            "topics", count: ...400, pattern: "^[A-Za-z0-9.-]{1,255}$",
            "further bundle ids that the same key serves")
        let storage = keys.choice(
            "channel_storage", ["none", "most_recent"],
            "message storage policy of the app's broadcast channels")
        channelsStore = storage == "most_recent"
        let environment = keys.choice(
            "environment", ["production", "sandbox", "development"],
            "sandbox and development are the same")
        isProduction = environment == "production"
    }
}
