import PluginRig
import SignalboxCore
import SignalboxJSON
import SignalboxPluginHost

/// Notifications, devices, outcomes and events, as golden files write them.
enum GoldenValues {
    private static var texts: [(String, WritableKeyPath<PushNotification, String>)] {
        [
            ("title", \.title), ("subtitle", \.subtitle), ("body", \.body), ("sound", \.sound),
            ("thread", \.thread), ("category", \.category), ("collapse", \.collapse),
            ("image", \.imageURL), ("link", \.link), ("push_type", \.pushType),
        ]
    }
    private static var flags: [(String, WritableKeyPath<PushNotification, Bool>)] {
        [
            ("silent", \.isSilent), ("data_only", \.isDataOnly), ("mutable", \.isMutable),
            ("dry_run", \.isDryRun), ("withdrawn", \.isWithdrawn),
        ]
    }
    private static let priorities = [("low", Priority.low), ("normal", .normal), ("high", .high)]

    static func notification(_ value: JSONValue, _ place: String) throws -> PushNotification {
        var fields = try GoldenFields(value, place)
        var note = PushNotification()
        for (key, path) in texts { note[keyPath: path] = try fields.text(key) ?? "" }
        for (key, path) in flags { note[keyPath: path] = fields.take(key) == .bool(true) }
        if let name = try fields.text("priority") {
            note.priority = priorities.first { $0.0 == name }?.1
            if note.priority == nil { throw GoldenFault("\(place): priority \(name)") }
        }
        note.badge = try fields.integer("badge").map { Int32($0) }
        note.expiresUnixMs = UInt64(try fields.integer("expires_ms") ?? 0)
        if let data = fields.take("data") { note.data = data.string ?? data.text }
        if let overrides = fields.take("overrides") {
            note.overrides = try GoldenFields(overrides, "\(place): overrides").left.map {
                PayloadOverride(family: $0.key, json: $0.value.string ?? $0.value.text)
            }
        }
        try fields.end()
        return note
    }

    /// All that is not as in an empty notification.
    static func json(_ note: PushNotification) -> JSONValue {
        var out = texts.map { JSONValue.Member($0.0, .string(note[keyPath: $0.1])) }
            .filter { $0.value != .string("") }
        out += flags.filter { note[keyPath: $0.1] }.map { .init($0.0, .bool(true)) }
        if let priority = note.priority {
            out.append(.init("priority", .string("\(priority)")))
        }
        if let badge = note.badge { out.append(.init("badge", .integer(Int64(badge)))) }
        if note.expiresUnixMs > 0 {
            out.append(.init("expires_ms", .integer(Int64(note.expiresUnixMs))))
        }
        if !note.data.isEmpty { out.append(.init("data", parsed(note.data))) }
        if !note.overrides.isEmpty {
            let all = note.overrides.map { JSONValue.Member($0.family, parsed($0.json)) }
            out.append(.init("overrides", .object(all)))
        }
        return .object(out)
    }

    static func parsed(_ text: String) -> JSONValue {
        (try? JSONValue.parse(text)) ?? .string(text)
    }

    private static var words: [(String, WritableKeyPath<Device, String>)] {
        [
            ("app", \.app), ("user", \.user), ("provider", \.provider), ("locale", \.locale),
            ("source_token", \.sourceToken),
        ]
    }

    /// Someone whom an event is for. The attributes are the event's.
    static func recipient(_ value: JSONValue, _ place: String) throws -> Recipient {
        var device = try device(value, place)
        let attributes = device.attributes
        device.attributes = []
        return Recipient(device: device, attributes: attributes)
    }

    static func change(_ value: JSONValue, _ place: String) throws -> DeviceChange {
        var fields = try GoldenFields(value, place)
        let name = try fields.text("kind") ?? "registered"
        guard let kind = DeviceChange.Kind.allCases.first(where: { "\($0)" == name }) else {
            throw GoldenFault("\(place): kind \(name)")
        }
        let time = UInt64(try fields.integer("time_ms") ?? 0)
        let subject = try fields.text("subject") ?? ""
        let device = try device(.object(fields.left), place)
        return DeviceChange(kind: kind, device: device, timeUnixMs: time, subject: subject)
    }

    static func json(_ attributes: [Attribute]) -> JSONValue {
        .object(attributes.map { .init($0.key.lowercased(), .string($0.value)) })
    }

    static func json(_ device: Device) -> JSONValue {
        let more = [("platform", device.platform), ("token", device.token)]
        return .object(
            (words.map { ($0.0, device[keyPath: $0.1]) } + more).map {
                .init($0.0, .string($0.1))
            })
    }

    static func device(_ value: JSONValue, _ place: String) throws -> Device {
        var fields = try GoldenFields(value, place)
        var device = Device(
            platform: try fields.text("platform") ?? "ios",
            token: try fields.text("token") ?? "0a1b")
        for (key, path) in words { device[keyPath: path] = try fields.text(key) ?? "" }
        device.attributes = try fields.attributes("attributes")
        try fields.end()
        return device
    }

    /// All that is not as in an outcome of this kind alone, but no detail, which is for people.
    static func json(_ outcome: Outcome, status: UInt32) -> JSONValue {
        var out: [JSONValue.Member] = [.init("kind", .string("\(outcome.kind)"))]
        if outcome.scope != .item { out.append(.init("scope", .string("\(outcome.scope)"))) }
        for (key, text) in [
            ("reason", outcome.reason), ("provider_id", outcome.providerID),
            ("new_token", outcome.newToken), ("credential", outcome.credential),
        ] where !text.isEmpty { out.append(.init(key, .string(text))) }
        for (key, isSet) in [
            ("reconnect", outcome.reconnect), ("suspects_token", outcome.suspectsToken),
        ] where isSet { out.append(.init(key, .bool(true))) }
        for (key, ms) in [
            ("retry_after_ms", outcome.retryAfterMs), ("gone_since_ms", outcome.goneSinceUnixMs),
        ] where ms > 0 { out.append(.init(key, .integer(Int64(ms)))) }
        if outcome.providerCode != status {
            out.append(.init("code", .integer(Int64(outcome.providerCode))))
        }
        return .object(out)
    }

    static func json(_ event: Event) -> JSONValue {
        let people = event.recipients.map { recipient in
            json(recipient.device).merging(
                ["attributes": json(recipient.attributes)])
        }
        return [
            "type": .string(event.type), "subject": .string(event.subject),
            "source": .string(event.source), "dedupe": .string(event.dedupe),
            "window_ms": .integer(Int64(event.dedupeWindowMs)),
            "time_ms": .integer(Int64(event.timeUnixMs)), "data": parsed(event.data),
            "recipients": .array(people),
        ]
    }

    /// Where a value is not as expected. With `partly`, it may have further members, and null: none.
    /// Text stands for a map or list as it is written.
    static func differences(
        _ value: JSONValue?, _ expected: JSONValue, partly: Bool = false, at place: String = ""
    ) -> [String] {
        switch (value, expected) {
        case (.object(let members)?, .object(let wanted)):
            var out = wanted.flatMap {
                differences(value?[$0.key], $0.value, partly: partly, at: "\(place)/\($0.key)")
            }
            guard !partly else { return out }
            for member in members where expected[member.key] == nil {
                out.append("\(place)/\(member.key): \(member.value.text) is not expected")
            }
            return out
        case (.array(let items)?, .array(let wanted)) where items.count == wanted.count:
            return zip(items, wanted).enumerated().flatMap { index, pair in
                differences(pair.0, pair.1, partly: partly, at: "\(place)/\(index)")
            }
        case (.object?, .string(let text)), (.array?, .string(let text)):
            if value?.text == text { return [] }
            return ["\(place): is \(value?.text ?? ""), expected \(text)"]
        case (nil, .null) where partly: return []
        default:
            if value == expected { return [] }
            return ["\(place): is \(value?.text ?? "missing"), expected \(expected.text)"]
        }
    }

    /// The value at a JSON pointer.
    static func value(_ root: JSONValue, at pointer: String) -> JSONValue? {
        pointer.split(separator: "/").reduce(JSONValue?.some(root)) { value, key in
            Int(key).flatMap { value?[$0] } ?? value?[String(key)]
        }
    }

    /// The value with another one at a JSON pointer; "<none>": with none.
    static func changed(_ root: JSONValue, at path: ArraySlice<Substring>, _ new: JSONValue)
        -> JSONValue?
    {
        guard let first = path.first else { return new == .string("<none>") ? nil : new }
        let rest = path.dropFirst()
        if case .array(var items) = root {
            let index = Int(first) ?? items.count
            let old = items.indices.contains(index) ? items.remove(at: index) : .null
            if let value = changed(old, at: rest, new) { items.insert(value, at: index) }
            return .array(items)
        }
        guard case .object(var members) = root else {
            return changed(.object([]), at: path, new)
        }
        let index = members.firstIndex { $0.key == first } ?? members.count
        let old = members.indices.contains(index) ? members.remove(at: index).value : .null
        if let value = changed(old, at: rest, new) {
            members.insert(.init(String(first), value), at: index)
        }
        return .object(members)
    }

    /// The text of a value, once for each part of it, with that part as a hole.
    static func holes(_ value: JSONValue) -> [(before: String, after: String)] {
        let items: [(key: String, value: JSONValue)]
        var ends = ("[", "]")
        switch value {
        case .array(let elements): items = elements.map { ("", $0) }
        case .object(let members):
            items = members.map { ("\(JSONValue.string($0.key).text):", $0.value) }
            ends = ("{", "}")
        default: return [("", "")]
        }
        let texts = items.map { $0.key + $0.value.text }
        return [("", "")]
            + items.indices.flatMap { index in
                let before = texts[..<index].map { "\($0)," }.joined()
                let after = texts[(index + 1)...].map { ",\($0)" }.joined()
                return holes(items[index].value).map {
                    (ends.0 + before + items[index].key + $0.before, $0.after + after + ends.1)
                }
            }
    }
}
