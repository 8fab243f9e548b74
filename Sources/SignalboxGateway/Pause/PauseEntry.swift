package import SignalboxCore
package import SignalboxDispatch
internal import SignalboxJSON
internal import SignalboxObservability

/// A sender or a route that an operator has paused.
package struct PauseEntry: Sendable, Equatable {
    package enum Kind: String, Sendable, CaseIterable {
        case sender
        case route

        /// Its name in log lines.
        package var field: String {
            switch self {
            case .sender: "plugin.instance"
            case .route: "route.name"
            }
        }
    }

    package let kind: Kind
    package let name: String
    /// Who has paused it, when and why.
    package let note: PauseNote

    package init(kind: Kind, name: String, note: PauseNote) {
        self.kind = kind
        self.name = name
        self.note = note
    }

    /// Its key in the store: `sender/apns`.
    package var key: String { Self.key(kind, name) }

    package static func key(_ kind: Kind, _ name: String) -> String { "\(kind.rawValue)/\(name)" }

    package var json: JSONValue {
        .object([
            .init(kind.rawValue, .string(name)), .init("by", .string(note.by)),
            .init("address", .string(note.address)), .init("reason", .string(note.reason)),
            .init("since_unix_ms", .integer(Int64(clamping: note.sinceUnixMs))),
        ])
    }

    /// `sender apns is paused since 2026-01-02 10:40:12.000 by anna (127.0.0.1): wrong text`.
    package var text: String {
        let since = TimeText.local(Int64(clamping: note.sinceUnixMs))
        return PlainText.line("\(kind.rawValue) \(name) is paused since \(since) \(note.words)")
    }
}

extension PauseEntry {
    /// Parses the admin listener's JSON; nil if it is malformed.
    package init?(_ json: JSONValue) {
        let named = Kind.allCases.compactMap { kind in
            json[kind.rawValue]?.string.map { (kind, $0) }
        }
        guard let (kind, name) = named.first, let since = json["since_unix_ms"]?.integer else {
            return nil
        }
        self.init(
            kind: kind, name: name,
            note: PauseNote(
                by: json["by"]?.string ?? "", address: json["address"]?.string ?? "",
                reason: json["reason"]?.string ?? "", sinceUnixMs: UInt64(clamping: since)))
    }

    /// Reads an entry of the store; nil if another version wrote it or it is damaged.
    package init?(key: String, _ bytes: [UInt8]) {
        let parts = key.split(separator: "/", maxSplits: 1)
        guard parts.count == 2, Kind(rawValue: String(parts[0])) != nil,
            let json = try? JSONValue.parse(bytes),
            json[String(parts[0])] == .string(String(parts[1]))
        else { return nil }
        self.init(json)
    }
}
