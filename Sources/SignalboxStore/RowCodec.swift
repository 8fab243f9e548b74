internal import SignalboxCore
internal import SignalboxJSON

/// Notifications and devices as text in a row; fields that are empty are left out.
enum RowCodec {
    static func text(_ note: Notification) -> String {
        var members: [JSONValue.Member] = []
        func add(_ key: String, _ text: String) {
            if !text.isEmpty { members.append(.init(key, .string(text))) }
        }
        func add(_ key: String, _ flag: Bool) {
            if flag { members.append(.init(key, .bool(true))) }
        }
        add("silent", note.isSilent)
        add("data_only", note.isDataOnly)
        add("mutable", note.isMutable)
        if let badge = note.badge { members.append(.init("badge", .integer(Int64(badge)))) }
        if let priority = note.priority {
            members.append(.init("priority", .integer(Int64(priority.rawValue))))
        }
        if note.expiresUnixMs > 0 {
            members.append(.init("expires", .integer(Int64(clamping: note.expiresUnixMs))))
        }
        for (key, path) in fields { add(key, note[keyPath: path]) }
        if !note.overrides.isEmpty {
            members.append(
                .init(
                    "overrides",
                    .array(note.overrides.map { .array([.string($0.family), .string($0.json)]) })))
        }
        return JSONValue.object(members).text
    }

    static func notification(_ text: String) -> Notification {
        var note = Notification()
        guard let json = try? JSONValue.parse(text) else { return note }
        note.isSilent = json["silent"] == .bool(true)
        note.isDataOnly = json["data_only"] == .bool(true)
        note.isMutable = json["mutable"] == .bool(true)
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

    static func text(_ device: Device) -> String {
        let texts = [
            device.platform, device.token, device.provider, device.sourceToken, device.user,
            device.locale,
        ]
        var elements = texts.map(JSONValue.string)
        elements.append(.integer(Int64(clamping: device.registeredUnixMs)))
        return JSONValue.array(elements).text
    }

    static func device(_ text: String, app: String) -> Device {
        guard let json = try? JSONValue.parse(text) else { return Device(app: app) }
        func at(_ index: Int) -> String { json[index]?.string ?? "" }
        return Device(
            app: app, platform: at(0), provider: at(2), token: at(1), sourceToken: at(3),
            user: at(4), locale: at(5),
            registeredUnixMs: UInt64(clamping: json[6]?.integer ?? 0))
    }

    private static var fields: [(String, WritableKeyPath<Notification, String>)] {
        [
            ("title", \.title), ("subtitle", \.subtitle), ("body", \.body), ("sound", \.sound),
            ("thread", \.thread), ("category", \.category), ("collapse", \.collapse),
            ("image", \.imageURL), ("link", \.link), ("push_type", \.pushType), ("data", \.data),
        ]
    }
}
