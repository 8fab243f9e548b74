internal import SignalboxCore
internal import SignalboxJSON

/// A sender or a route that an operator has paused.
struct PauseEntry: Sendable, Equatable {
    enum Kind: String, Sendable, CaseIterable {
        case sender
        case route

        /// Its name in the log.
        var field: String {
            switch self {
            case .sender: "plugin.instance"
            case .route: "route.name"
            }
        }
    }

    let kind: Kind
    let name: String
    /// Who has paused it, as the caller said.
    let by: String
    /// Why, as the caller said; may be empty.
    let reason: String
    let sinceUnixMs: UInt64

    /// Its key in the store: `sender/apns`.
    var key: String { Self.key(kind, name) }

    static func key(_ kind: Kind, _ name: String) -> String { "\(kind.rawValue)/\(name)" }

    var json: JSONValue {
        .object([
            .init(kind.rawValue, .string(name)), .init("by", .string(by)),
            .init("reason", .string(reason)),
            .init("since_unix_ms", .integer(Int64(clamping: sinceUnixMs))),
        ])
    }
}

extension PauseEntry {
    /// From the store; nil: another version wrote it, or it is damaged.
    init?(key: String, _ bytes: [UInt8]) {
        let parts = key.split(separator: "/", maxSplits: 1)
        guard parts.count == 2, let kind = Kind(rawValue: String(parts[0])),
            let json = try? JSONValue.parse(bytes), let since = json["since_unix_ms"]?.integer
        else { return nil }
        self.init(
            kind: kind, name: String(parts[1]), by: json["by"]?.string ?? "",
            reason: json["reason"]?.string ?? "", sinceUnixMs: UInt64(clamping: since))
    }
}
