public import SignalboxCore

/// `gateway.store.postgres`: the store is a database that several gateways use.
public struct PostgresSettings: Sendable, Equatable {
    /// The database's address, with its password.
    ///
    /// Never logged.
    public var address: String
    /// Whether connections go through a pooler that hands each transaction to another connection.
    public var isPooled = false
    /// Its position in the file.
    public var position: SourcePosition

    /// Reads `gateway.store`; nil for SQLite in the data folder.
    static func read(_ value: ConfigValue, _ diagnostics: Diagnostics) -> PostgresSettings? {
        guard
            let map = MapReader(
                value, owner: "gateway.store", known: ["postgres", "pooled"], diagnostics),
            let (text, given) = map.text("postgres", required: true)
        else { return nil }
        let schemes = ["postgres://", "postgresql://"]
        guard schemes.contains(where: { text.hasPrefix($0) }) else {
            map.report(
                "bad-value", at: given,
                "postgres must be an address like postgres://USER@HOST:5432/DATABASE")
            return nil
        }
        var out = PostgresSettings(address: text, position: given.position)
        if let value = map["pooled"] {
            guard case .bool(let isPooled) = value.kind else {
                map.report("wrong-type", at: value, "pooled must be true or false")
                return nil
            }
            out.isPooled = isPooled
        }
        return out
    }

    /// Positions do not count.
    public static func == (a: PostgresSettings, b: PostgresSettings) -> Bool {
        a.address == b.address && a.isPooled == b.isPooled
    }
}
