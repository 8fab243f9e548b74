import SignalboxPluginKit

extension Matrix {
    func build(_ input: borrowing BuildInput, _ sink: borrowing BuildSink) throws(PluginError) {
        let content = Content(try input.data(), config: config, host: host)
        var apple: [BuildSink.Target] = []
        var others: [BuildSink.Target] = []
        for index in 0..<input.recipientCount {
            if input.recipient(index).device.platform == "ios" {
                apple.append(.init(index))
            } else {
                others.append(.init(index))
            }
        }
        if !apple.isEmpty { try sink.emit(try content.apple(), to: apple) }
        if !others.isEmpty { try sink.emit(content.android(), to: others) }
    }
}

/// An event as sygnal sends it.
struct Content {
    private let event: JSON
    private let config: Config
    private let host: Host
    private let hasEvent: Bool
    /// The app fetches the event itself.
    private let isIDOnly: Bool
    private let payload: JSON?

    init(_ event: JSON, config: Config, host: Host) {
        self.event = event
        self.config = config
        self.host = host
        hasEvent = event["event_id"]?.string?.isEmpty == false
        let format = event.at("/device/data/format")?.string
        isIDOnly = hasEvent && (format == "event_id_only" || event["type"]?.string == nil)
        payload = event.at("/device/data/default_payload").flatMap {
            $0.kind == .object ? $0 : nil
        }
    }

    private func count(_ name: String) -> Int64? {
        config.hasBadge ? event["counts"]?[name]?.integer : nil
    }

    private var isUrgent: Bool { event["prio"]?.string != "low" }

    // MARK: iOS

    func apple() throws(PluginError) -> PushNotification {
        var note = PushNotification()
        note.priority = isUrgent ? .high : .normal
        if !isIDOnly, count("unread") != nil || count("missed_calls") != nil {
            let (unread, missed) = (count("unread") ?? 0, count("missed_calls") ?? 0)
            note.badge = Int32(clamping: unread.addingReportingOverflow(missed).partialValue)
        }
        guard hasEvent else { return note }
        note.data = appleData()
        note.sound = event.at("/device/tweaks/sound")?.string ?? ""
        let alert = isIDOnly ? nil : Alert(event)
        if let alert {
            if config.showsNames {
                note.overrides = [("localized", alert.localized)]
            } else {
                note.title = alert.title
                note.body = alert.body
            }
        }
        let given = payload?["aps"].flatMap { $0.kind == .object ? $0 : nil }
        note.isSilent = alert == nil && note.badge == nil && given?["alert"] == nil
        if let given, given.count > 0 {
            note.overrides.append(("apns", try patch(given, alert, note)))
        }
        return note
    }

    /// The pusher's `aps` below ours.
    private func patch(
        _ given: JSON, _ alert: Alert?, _ note: PushNotification
    ) throws(PluginError) -> String {
        var own = JSONWriter()
        own.object { out in
            if let alert {
                out.key("alert")
                out.raw(alert.json(showsName: config.showsNames))
            }
            out.member("sound", note.sound)
            // The number is in the notification, where a route can replace it.
            if note.badge != nil {
                out.key("badge")
                out.raw("null")
            }
        }
        var merged = JSONWriter()
        merged.merged(given, with: try host.parse(own.bytes.span))
        return "{\"aps\":\(merged.text)}"
    }

    private func appleData() -> String {
        var own: [(name: String, json: String)] = []
        for name in ["room_id", "event_id"] {
            if let value = event[name], value.kind == .string { own.append((name, value.text)) }
        }
        if isIDOnly {
            for (name, key) in [("unread", "unread_count"), ("missed_calls", "missed_calls")] {
                if let count = count(name) { own.append((key, String(count))) }
            }
        }
        return object(own, without: "aps")
    }

    /// The pusher's payload, with our members in the place of its own.
    private func object(_ own: [(name: String, json: String)], without left: String) -> String {
        let names = Set(own.map(\.name)).union([left])
        var out = JSONWriter()
        out.object { out in
            for member in payload?.members ?? [] where !names.contains(member.key) {
                out.key(member.key)
                out.value(member.value)
            }
            for (name, json) in own {
                out.key(name)
                out.raw(json)
            }
        }
        return out.text
    }

    // MARK: Android

    private static let attributes = [
        "event_id", "type", "sender", "room_name", "room_alias", "membership",
        "sender_display_name", "room_id",
    ]

    /// Data alone: the app shows what it makes of it.
    func android() -> PushNotification {
        var note = PushNotification()
        note.priority = isUrgent ? .high : .normal
        note.isDataOnly = true
        var own: [(name: String, json: String)] = []
        for name in Self.attributes {
            if let value = event[name], value.kind == .string { own.append((name, value.text)) }
        }
        var texts = ["/room_name", "/room_alias", "/sender_display_name"]
        for member in event["content"]?.members ?? [] where member.value.kind == .string {
            own.append(("content_\(member.key)", member.value.text))
            let escaped = member.key.replacing("~", with: "~0").replacing("/", with: "~1")
            texts.append("/content_\(escaped)")
        }
        own.append(("prio", isUrgent ? "\"high\"" : "\"normal\""))
        for name in ["unread", "missed_calls"] {
            if let count = count(name) { own.append((name, "\"\(count)\"")) }
        }
        note.data = object(own, without: "")
        note.overrides = [("shorten", Self.shorten(texts))]
        return note
    }

    private static func shorten(_ places: [String]) -> String {
        var out = JSONWriter()
        out.object { $0.strings("places", places) }
        return out.text
    }
}
