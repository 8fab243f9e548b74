public import SignalboxCore

/// `gateway.store.postgres`: the database that several gateways share.
public struct PostgresSettings: Sendable, Equatable {
    /// The database's address, with its password.
    ///
    /// Never logged.
    public var address: String
    /// Whether connections go through a pooler that may run each transaction on a different connection.
    public var isPooled = false
    /// How long the leases of a gateway that died stay valid, in milliseconds.
    public var leaseMs: UInt64 = 20_000
    /// A gateway extends its leases four times within this, and a loaded database occasionally takes a second to
    /// commit. Beyond the upper limit, deliveries of a dead gateway would be too late for most uses.
    static let leaseMsRange: ClosedRange<UInt64> = 5_000...600_000
    /// Its position in the file.
    public var position: SourcePosition

    /// Whether the address contains a password: `password=...`, or `scheme://user:password@...`.
    var hasPassword: Bool {
        if address.contains("password=") { return true }
        guard let start = address.firstRange(of: "://")?.upperBound,
            let end = address[start...].firstIndex(where: { "@/?".contains($0) }),
            address[end] == "@"
        else { return false }
        return address[start..<end].contains(":")
    }

    /// Reads `gateway.store`; nil for SQLite in the data folder.
    static func read(_ value: ConfigValue, _ diagnostics: Diagnostics) -> PostgresSettings? {
        guard
            let map = MapReader(value, owner: "gateway.store", .store, diagnostics),
            let (text, given) = map.text("postgres", required: true)
        else { return nil }
        var out = PostgresSettings(address: text, position: given.position)
        if map["pooled"] != nil {
            guard let isPooled = map.flag("pooled") else { return nil }
            out.isPooled = isPooled
        }
        if let ms = map.duration("lease", in: leaseMsRange) { out.leaseMs = ms }
        return out
    }

    /// Compares everything except positions.
    public static func == (a: PostgresSettings, b: PostgresSettings) -> Bool {
        a.address == b.address && a.isPooled == b.isPooled && a.leaseMs == b.leaseMs
    }
}
