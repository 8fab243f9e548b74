internal import SignalboxCore
internal import SignalboxJSON

/// Notifications and devices as older gateways wrote them: JSON without empty fields.
enum OldRows {
    /// nil: the row is damaged.
    static func notification(_ text: String) -> PushNotification? {
        guard let json = try? JSONValue.parse(text), case .object = json else { return nil }
        var note = PushNotification()
        note.isSilent = json["silent"] == .bool(true)
        note.isDataOnly = json["data_only"] == .bool(true)
        note.isMutable = json["mutable"] == .bool(true)
        note.isDryRun = json["dry_run"] == .bool(true)
        note.isWithdrawn = json["withdraw"] == .bool(true)
        note.badge = json["badge"]?.integer.map { Int32(clamping: $0) }
        note.priority = json["priority"]?.integer.flatMap {
            Priority(rawValue: UInt32(clamping: $0))
        }
        note.expiresUnixMs = UInt64(clamping: json["expires"]?.integer ?? 0)
        for (key, path) in fields { note[keyPath: path] = json[key]?.string ?? "" }
        if case .array(let items) = json["overrides"] {
            note.overrides = items.map {
                PayloadOverride(family: $0[0]?.string ?? "", json: $0[1]?.string ?? "")
            }
        }
        return note
    }

    /// nil: the row is damaged.
    static func device(_ text: String, app: String) -> Device? {
        guard let json = try? JSONValue.parse(text), case .array = json else { return nil }
        func at(_ index: Int) -> String { json[index]?.string ?? "" }
        return Device(
            app: app, platform: at(0), provider: at(2), token: at(1), sourceToken: at(3),
            user: at(4), locale: at(5),
            registeredUnixMs: UInt64(clamping: json[6]?.integer ?? 0),
            attributes: [Attribute](json[7]))
    }

    private static var fields: [(String, WritableKeyPath<PushNotification, String>)] {
        [
            ("title", \.title), ("subtitle", \.subtitle), ("body", \.body), ("sound", \.sound),
            ("thread", \.thread), ("category", \.category), ("collapse", \.collapse),
            ("image", \.imageURL), ("link", \.link), ("push_type", \.pushType), ("data", \.data),
        ]
    }
}
