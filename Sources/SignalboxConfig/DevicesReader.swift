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

    static func read(_ value: ConfigValue?, _ diagnostics: Diagnostics) -> [DeviceClient] {
        guard let value,
            let map = MapReader(value, owner: "devices", known: ["clients"], diagnostics)
        else { return [] }
        guard case .list(let items) = map["clients"]?.kind else {
            map.report("missing-key", at: map["clients"], "clients must be a list")
            return []
        }
        return items.compactMap { client($0, diagnostics) }
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
