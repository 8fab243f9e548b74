internal import SignalboxCore

/// Who may use the device registry's API.
public struct DeviceClient: Sendable {
    /// For people.
    public var name: String
    /// What it sends as bearer token.
    ///
    /// Never logged.
    public var token: String
    /// The app whose devices it sees.
    public var app: String
    /// `read`, `write`, `presence`.
    public var scopes: Set<String>

    /// Makes a client.
    public init(name: String, token: String, app: String, scopes: Set<String>) {
        self.name = name
        self.token = token
        self.app = app
        self.scopes = scopes
    }
}

/// The `devices:` section.
enum DevicesReader {
    private static let scopes = ["read", "write", "presence"]

    static func read(
        _ value: ConfigValue?, plugins: [String], _ diagnostics: Diagnostics
    ) -> (clients: [DeviceClient], listeners: DeviceListeners) {
        guard let value,
            let map = MapReader(value, owner: "devices", known: ["clients", "report"], diagnostics)
        else { return ([], DeviceListeners()) }
        var clients: [DeviceClient] = []
        if case .list(let items) = map["clients"]?.kind {
            clients = items.compactMap { client($0, diagnostics) }
        } else if map["clients"] != nil || map["report"] == nil {
            map.report("missing-key", at: map["clients"], "clients must be a list")
        }
        return (clients, listeners(map["report"], map, plugins))
    }

    /// `report:`, a map of apps with the instances that are told of their devices.
    private static func listeners(
        _ value: ConfigValue?, _ owner: MapReader, _ plugins: [String]
    ) -> DeviceListeners {
        guard let value else { return DeviceListeners() }
        guard case .map(let entries) = value.kind else {
            owner.report(
                "wrong-type", at: value,
                "report must be a map of apps, each with a list of plugins; \"*\" is every app")
            return DeviceListeners()
        }
        var out: [String: [String]] = [:]
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
                } else {
                    owner.report(
                        "unknown-plugin", at: item,
                        "report.\(entry.key) names an unknown plugin "
                            + item.shown(name, among: plugins))
                }
            }
        }
        return DeviceListeners(out)
    }

    private static func client(_ value: ConfigValue, _ diagnostics: Diagnostics) -> DeviceClient? {
        let owner = value["name"]?.string.map { "devices client \"\($0)\"" } ?? "devices client"
        guard
            let map = MapReader(
                value, owner: owner, known: ["name", "token", "app", "scopes"], diagnostics)
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
