public import SignalboxCore

/// A client of the device registry's API.
public struct DeviceClient: Sendable {
    /// A name for people.
    public var name: String
    /// The bearer token it sends.
    ///
    /// Never logged.
    public var token: String
    /// The app whose devices it sees.
    public var app: String
    /// `read`, `write`, `presence`, `badge`, `opens`.
    public var scopes: Set<String>

    /// Makes a client.
    public init(name: String, token: String, app: String, scopes: Set<String>) {
        self.name = name
        self.token = token
        self.app = app
        self.scopes = scopes
    }
}

/// Users who register their own devices, and how they authenticate.
public struct DeviceUsers: Sendable {
    /// Exchanges authorization codes.
    public struct CodeFlow: Sendable {
        /// The brand's token endpoint.
        public var tokenURL: String
        /// The OAuth client id.
        public var clientID: String
        /// The client's secret; empty for PKCE alone.
        ///
        /// Never logged.
        public var clientSecret: String
    }

    /// A name for people.
    public var name: String
    /// The app of their devices.
    public var app: String
    /// The `iss` that a token must have.
    public var issuer: String
    /// The `aud` that a token must have; nil for any, which the file must state explicitly.
    public var audience: String?
    /// Public keys as PEM or JWKS; if empty, they come from `keysURL`.
    public var keys: String
    /// The URL of a JWKS document.
    public var keysURL: String
    /// PEM file of trusted roots for `keysURL` and the token endpoint; empty for the system's.
    public var caFile: String
    /// Clock skew to tolerate, in milliseconds.
    public var leewayMs: UInt64
    /// Nil if only tokens are accepted.
    public var code: CodeFlow?
    /// Whether a registration removes the user's other devices.
    public var hasOneDevice: Bool
    /// Its position in the file.
    public var position: SourcePosition
}

/// The `devices:` section.
enum DevicesReader {
    private static let scopes = ["read", "write", "presence", "badge", "opens"]

    /// Every mention of an instance in `report:`.
    typealias Reports = [(instance: String, position: SourcePosition)]

    static func read(
        _ value: ConfigValue?, plugins: [String], _ diagnostics: Diagnostics
    ) -> (
        clients: [DeviceClient], users: [DeviceUsers], listeners: DeviceListeners, reports: Reports
    ) {
        guard let value,
            let map = MapReader(
                value, owner: "devices", .devices, diagnostics)
        else { return ([], [], DeviceListeners(), []) }
        var clients: [DeviceClient] = []
        if case .list(let items) = map["clients"]?.kind {
            for item in items {
                guard let client = client(item, diagnostics) else { continue }
                if let other = clients.first(where: { $0.token == client.token }) {
                    map.report(
                        "bad-value", at: item,
                        "client \"\(client.name)\" has the token of client \"\(other.name)\"; "
                            + "give each its own token")
                }
                clients.append(client)
            }
        } else if map["clients"] != nil || map["report"] == nil && map["users"] == nil {
            map.report("missing-key", at: map["clients"], "clients must be a list")
        }
        var users: [DeviceUsers] = []
        if case .list(let items) = map["users"]?.kind {
            users = items.compactMap { self.users($0, diagnostics) }
        } else if map["users"] != nil {
            map.report("wrong-type", at: map["users"], "users must be a list")
        }
        let (listeners, reports) = listeners(map["report"], map, plugins)
        return (clients, users, listeners, reports)
    }

    private static func users(_ value: ConfigValue, _ diagnostics: Diagnostics) -> DeviceUsers? {
        let owner = value["name"]?.string.map { "devices users \"\($0)\"" } ?? "devices users"
        guard
            let map = MapReader(value, owner: owner, .users, diagnostics)
        else { return nil }
        let name = map.text("name", required: true)
        let app = map.text("app", required: true)
        let issuer = map.text("issuer", required: true)
        let audience = map.text("audience")?.text ?? ""
        if audience.isEmpty {
            map.report(
                "missing-key", at: nil,
                "audience is required: the aud of tokens that the issuer makes for this app, such as its "
                    + "client id; without it a token for any other client would do (any: accept those, too)"
            )
        }
        let (keys, url) = (map.text("keys"), map.text("jwks_url"))
        if (keys == nil) == (url == nil) {
            map.report(
                "missing-key", at: nil, "give keys (a file with PEM or JWKS) or jwks_url")
        }
        if let url { checkURL(url, "jwks_url", map) }
        var code: DeviceUsers.CodeFlow?
        if let value = map["code"],
            let flow = MapReader(value, owner: "\(owner) code", .code, diagnostics),
            let token = flow.text("token_url", required: true),
            let client = flow.text("client_id", required: true)
        {
            checkURL(token, "token_url", flow)
            code = DeviceUsers.CodeFlow(
                tokenURL: token.text, clientID: client.text,
                clientSecret: flow.text("client_secret")?.text ?? "")
        }
        guard let name, let app, let issuer else { return nil }
        return DeviceUsers(
            name: name.text, app: app.text, issuer: issuer.text,
            audience: audience == "any" ? nil : audience, keys: keys?.text ?? "",
            keysURL: url?.text ?? "", caFile: map.text("ca")?.text ?? "",
            leewayMs: map.duration("leeway", in: 0...600_000) ?? 60_000, code: code,
            hasOneDevice: map.flag("one_device") ?? false,
            position: value.position)
    }

    /// Requires TLS for keys and codes, except to this host.
    private static func checkURL(
        _ given: (text: String, value: ConfigValue), _ key: String, _ map: MapReader
    ) {
        guard !WebURL.isPrivate(given.text) else { return }
        map.report("bad-value", at: given.value, "\(key) must be an https URL")
    }

    /// `report:`, a map from apps to the instances that get reports about their devices.
    private static func listeners(
        _ value: ConfigValue?, _ owner: MapReader, _ plugins: [String]
    ) -> (DeviceListeners, Reports) {
        guard let value else { return (DeviceListeners(), []) }
        guard case .map(let entries) = value.kind else {
            owner.report(
                "wrong-type", at: value,
                "report must be a map of apps, each with a list of plugins; \"*\" is every app")
            return (DeviceListeners(), [])
        }
        var out: [String: [String]] = [:]
        var reports: Reports = []
        for entry in entries {
            guard case .list(let items) = entry.value.kind else {
                owner.report(
                    "wrong-type", at: entry.value, "report.\(entry.key) must be a list of plugins")
                continue
            }
            for item in items {
                let name = item.string ?? ""
                if plugins.contains(name) {
                    out[entry.key, default: []].append(name)
                    reports.append((name, item.position))
                } else {
                    owner.report(
                        "unknown-plugin", at: item,
                        "report.\(entry.key) names an unknown plugin "
                            + item.shown(name, among: plugins))
                }
            }
        }
        return (DeviceListeners(out), reports)
    }

    private static func client(_ value: ConfigValue, _ diagnostics: Diagnostics) -> DeviceClient? {
        let owner = value["name"]?.string.map { "devices client \"\($0)\"" } ?? "devices client"
        guard
            let map = MapReader(value, owner: owner, .client, diagnostics)
        else { return nil }
        let name = map.text("name", required: true)
        let token = map.text("token", required: true)
        let app = map.text("app", required: true)
        if let token, token.text.utf8.count < 16 {
            map.report("bad-value", at: token.value, "token must have at least 16 characters")
        }
        var scopes: Set<String> = []
        if case .list(let items) = map["scopes"]?.kind {
            for item in items {
                let word = item.string ?? ""
                if self.scopes.contains(word) {
                    scopes.insert(word)
                } else {
                    map.report(
                        "bad-value", at: item,
                        "a scope must be one of \(self.scopes.joined(separator: ", "))"
                            + Suggestion.hint(for: word, among: self.scopes))
                }
            }
        } else {
            map.report("missing-key", at: map["scopes"], "scopes must be a list")
        }
        guard let name, let token, let app else { return nil }
        return DeviceClient(name: name.text, token: token.text, app: app.text, scopes: scopes)
    }
}
