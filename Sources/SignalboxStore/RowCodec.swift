internal import SignalboxCore
internal import SignalboxJSON

/// Notifications and devices as text in a row; fields that are empty are left out.
enum RowCodec {
    static func bytes(_ note: Notification) -> [UInt8] {
        var out: [UInt8] = [UInt8(ascii: "{")]
        out.reserveCapacity(256)
        func key(_ name: StaticString) {
            if out.count > 1 { out.append(UInt8(ascii: ",")) }
            out.append(UInt8(ascii: "\""))
            name.withUTF8Buffer { out.append(contentsOf: $0) }
            out.append(contentsOf: [UInt8(ascii: "\""), UInt8(ascii: ":")])
        }
        func add(_ name: StaticString, _ text: String) {
            guard !text.isEmpty else { return }
            key(name)
            JSONValue.write(string: text, to: &out)
        }
        func add(_ name: StaticString, raw text: String) {
            key(name)
            out.append(contentsOf: text.utf8)
        }
        if note.isSilent { add("silent", raw: "true") }
        if note.isDataOnly { add("data_only", raw: "true") }
        if note.isMutable { add("mutable", raw: "true") }
        if note.isDryRun { add("dry_run", raw: "true") }
        if note.isWithdrawn { add("withdraw", raw: "true") }
        if let badge = note.badge { add("badge", raw: "\(badge)") }
        if let priority = note.priority { add("priority", raw: "\(priority.rawValue)") }
        if note.expiresUnixMs > 0 { add("expires", raw: "\(note.expiresUnixMs)") }
        add("title", note.title)
        add("subtitle", note.subtitle)
        add("body", note.body)
        add("sound", note.sound)
        add("thread", note.thread)
        add("category", note.category)
        add("collapse", note.collapse)
        add("image", note.imageURL)
        add("link", note.link)
        add("push_type", note.pushType)
        add("data", note.data)
        if !note.overrides.isEmpty {
            let pairs = note.overrides.map {
                JSONValue.array([.string($0.family), .string($0.json)])
            }
            add("overrides", raw: JSONValue.array(pairs).text)
        }
        out.append(UInt8(ascii: "}"))
        return out
    }

    /// nil: the row is damaged.
    static func notification(_ text: String) -> Notification? {
        guard let json = try? JSONValue.parse(text), case .object = json else { return nil }
        var note = Notification()
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

    static func bytes(_ device: Device) -> [UInt8] {
        var out: [UInt8] = [UInt8(ascii: "[")]
        out.reserveCapacity(160)
        for text in [
            device.platform, device.token, device.provider, device.sourceToken, device.user,
            device.locale,
        ] {
            JSONValue.write(string: text, to: &out)
            out.append(UInt8(ascii: ","))
        }
        out.append(contentsOf: "\(device.registeredUnixMs)".utf8)
        if !device.attributes.isEmpty {
            out.append(UInt8(ascii: ","))
            out.append(contentsOf: text(device.attributes).utf8)
        }
        out.append(UInt8(ascii: "]"))
        return out
    }

    /// nil: the row is damaged.
    static func device(_ text: String, app: String) -> Device? {
        guard let json = try? JSONValue.parse(text), case .array = json else { return nil }
        func at(_ index: Int) -> String { json[index]?.string ?? "" }
        return Device(
            app: app, platform: at(0), provider: at(2), token: at(1), sourceToken: at(3),
            user: at(4), locale: at(5),
            registeredUnixMs: UInt64(clamping: json[6]?.integer ?? 0),
            attributes: attributes(json[7]))
    }

    /// `[["key","value"],...]`.
    static func text(_ attributes: [Attribute]) -> String {
        JSONValue.array(attributes.map { .array([.string($0.key), .string($0.value)]) }).text
    }

    static func attributes(_ json: JSONValue?) -> [Attribute] {
        guard case .array(let items) = json else { return [] }
        return items.map { Attribute($0[0]?.string ?? "", $0[1]?.string ?? "") }
    }

    static func attributes(_ text: String) -> [Attribute] {
        text.isEmpty ? [] : attributes(try? JSONValue.parse(text))
    }

    private static var fields: [(String, WritableKeyPath<Notification, String>)] {
        [
            ("title", \.title), ("subtitle", \.subtitle), ("body", \.body), ("sound", \.sound),
            ("thread", \.thread), ("category", \.category), ("collapse", \.collapse),
            ("image", \.imageURL), ("link", \.link), ("push_type", \.pushType), ("data", \.data),
        ]
    }
}
