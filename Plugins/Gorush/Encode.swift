import SignalboxPluginKit

extension Gorush {
    func build(_ input: borrowing BuildInput, _ sink: borrowing BuildSink) throws(PluginError) {
        let push = try input.data()
        var groups: [String: [BuildSink.Target]] = [:]
        for index in 0..<input.recipientCount {
            let platform = input.recipient(index).device.platform
            let group = platform == "ios" || platform == "huawei" ? platform : "android"
            groups[group, default: []].append(.init(index))
        }
        for (group, targets) in groups.sorted(by: { $0.key < $1.key }) {
            var note: PushNotification
            switch group {
            case "ios": note = AppleContent(push).notification()
            case "huawei": note = HuaweiContent(push, host).notification()
            default: note = try AndroidContent(push, host, nowMs: input.timeUnixMs).notification()
            }
            switch push.words("priority") {
            case "high": note.priority = .high
            case "normal": note.priority = .normal
            // The defaults of Apple and Google where gorush says nothing; a data-only push is left to the route.
            default: note.priority = note.isDataOnly ? nil : .high
            }
            try sink.emit(note, to: targets)
        }
    }
}

/// What gorush sends to Apple.
struct AppleContent {
    private let push: JSON
    private let alert: JSON?

    /// Members of `alert` with a neutral counterpart.
    private static let neutral: Set = [
        "title", "subtitle", "body", "loc-key", "loc-args", "title-loc-key", "title-loc-args",
    ]
    private static let alertMembers: Set = [
        "action", "action-loc-key", "launch-image", "summary-arg", "summary-arg-count",
    ]
    /// The end of the year 9999.
    private static let lastSecond: Int64 = 253_402_300_799

    init(_ push: JSON) {
        self.push = push
        alert = push["alert"]
    }

    func notification() -> PushNotification {
        var note = PushNotification()
        note.title = text("title", else: "title")
        note.subtitle = alert?.words("subtitle") ?? ""
        note.body = text("body", else: "message")
        note.sound = push["sound"]?.string ?? ""
        note.isMutable = push["mutable_content"]?.boolean == true
        if let badge = push["badge"]?.wholeNumber, badge >= 0 {
            note.badge = Int32(clamping: badge)
        }
        let thread = push.words("thread-id")
        note.thread = thread.isEmpty ? push.words("thread_id") : thread
        note.category = push.words("category")
        note.collapse = push.words("collapse_id")
        note.pushType = push.words("push_type")
        if let seconds = push["expiration"]?.wholeNumber, seconds > 0 {
            note.expiresUnixMs = UInt64(min(seconds, Self.lastSecond)) * 1000
        }
        note.data = data()
        let localized = localized()
        if let localized { note.overrides.append(("localized", localized)) }
        let isWoken = push["content_available"]?.boolean == true
        let hasAlert = localized != nil || alert.map { $0.count > 0 } == true
        let isEmpty = note.title.isEmpty && note.body.isEmpty && !hasAlert
        note.isSilent =
            isWoken && isEmpty && note.sound.isEmpty && note.badge == nil && note.pushType.isEmpty
        // A notification without a text is silent, unless the caller asks for a sound.
        let bareSound = isEmpty ? note.sound : ""
        if isEmpty { note.sound = "" }
        if let patch = patch(wakes: isWoken && !note.isSilent, sound: bareSound) {
            note.overrides.append(("apns", patch))
        }
        return note
    }

    private func text(_ own: String, else other: String) -> String {
        let text = alert?.words(own) ?? ""
        return text.isEmpty ? push.words(other) : text
    }

    /// `data` without `aps`, which is made of the other fields.
    private func data() -> String {
        guard let given = push["data"], given.kind == .object else { return "" }
        var out = JSONWriter()
        out.object { out in
            for member in given.members where member.key != "aps" {
                out.key(member.key)
                out.value(member.value)
            }
        }
        return out.text
    }

    /// Texts that are in the app itself.
    private func localized() -> String? {
        guard let alert else { return nil }
        let fields = [("title", "title-loc"), ("body", "loc")].filter {
            !alert.words("\($0.1)-key").isEmpty
        }
        guard !fields.isEmpty else { return nil }
        var out = JSONWriter()
        out.object { out in
            for (field, prefix) in fields {
                out.key(field)
                out.object { out in
                    out.member("loc_key", alert.words("\(prefix)-key"))
                    let list = alert["\(prefix)-args"]?.elements ?? []
                    out.strings("loc_args", list.compactMap(\.scalarText))
                }
            }
        }
        return out.text
    }

    /// Fields that only Apple knows.
    private func patch(wakes: Bool, sound: String) -> String? {
        var aps: [(name: String, json: String)] = []
        if wakes { aps.append(("content-available", "1")) }
        if push["mutable_content"]?.boolean == true { aps.append(("mutable-content", "1")) }
        if let sound = criticalSound() ?? (sound.isEmpty ? nil : Self.quoted(sound)) {
            aps.append(("sound", sound))
        }
        let level = push.words("interruption_level")
        if !level.isEmpty { aps.append(("interruption-level", Self.quoted(level))) }
        let list = push["url-args"]?.elements ?? []
        if !list.isEmpty { aps.append(("url-args", push["url-args"]?.text ?? "[]")) }
        for name in LiveActivity.fields {
            if let value = push[name], value.kind != .null { aps.append((name, value.text)) }
        }
        let extras = (alert?.members ?? []).filter { Self.alertMembers.contains($0.key) }
        guard !aps.isEmpty || !extras.isEmpty else { return nil }
        var out = JSONWriter()
        out.object { out in
            out.key("aps")
            out.object { out in
                for (name, json) in aps {
                    out.key(name)
                    out.raw(json)
                }
                guard !extras.isEmpty else { return }
                out.key("alert")
                out.object { out in
                    for (name, value) in extras {
                        out.key(name)
                        out.value(value)
                    }
                }
            }
        }
        return out.text
    }

    /// `sound` as an object, or `name` and `volume`, which make an alert critical.
    private func criticalSound() -> String? {
        let name = push.words("name")
        let volume = push["volume"].flatMap { $0.kind == .null ? nil : $0.text }
        if name.isEmpty, volume == nil {
            return push["sound"].flatMap { $0.kind == .object ? $0.text : nil }
        }
        var out = JSONWriter()
        out.object { out in
            out.member("critical", 1)
            out.member("name", name.isEmpty ? "default" : name)
            out.key("volume")
            out.raw(volume ?? "1.0")
        }
        return out.text
    }

    /// The block `apns` of an FCM message, for iPhones that FCM serves; nil if the push sets no Apple field.
    func fcmBlock() -> String? {
        let note = notification()
        var aps: [(name: String, json: String)] = []
        func add(_ name: String, _ text: String) {
            if !text.isEmpty { aps.append((name, Self.quoted(text))) }
        }
        let wakes = push["content_available"]?.boolean == true
        if wakes { aps.append(("content-available", "1")) }
        if push["mutable_content"]?.boolean == true { aps.append(("mutable-content", "1")) }
        if let alert, alert.count > 0 { aps.append(("alert", alert.text)) }
        if let badge = note.badge { aps.append(("badge", String(badge))) }
        if let sound = criticalSound() {
            aps.append(("sound", sound))
        } else {
            add("sound", push["sound"]?.string ?? "")
        }
        add("category", note.category)
        add("thread-id", note.thread)
        add("interruption-level", push.words("interruption_level"))
        if let list = push["url-args"], list.count > 0 { aps.append(("url-args", list.text)) }
        var headers: [(name: String, value: String)] = []
        if note.isSilent { headers += [("apns-push-type", "background"), ("apns-priority", "5")] }
        if !note.pushType.isEmpty { headers.append(("apns-push-type", note.pushType)) }
        if !note.collapse.isEmpty {
            headers.append(("apns-collapse-id", CollapseKey.shortened(note.collapse)))
        }
        if note.expiresUnixMs > 0 {
            headers.append(("apns-expiration", String(note.expiresUnixMs / 1000)))
        }
        guard !aps.isEmpty || !headers.isEmpty else { return nil }
        var out = JSONWriter()
        out.object { out in
            if !headers.isEmpty {
                out.key("headers")
                out.object { out in for (name, value) in headers { out.member(name, value) } }
            }
            guard !aps.isEmpty else { return }
            out.key("payload")
            out.object { out in
                out.key("aps")
                out.object { out in
                    for (name, json) in aps {
                        out.key(name)
                        out.raw(json)
                    }
                }
            }
        }
        return out.text
    }

    private static func quoted(_ text: String) -> String {
        var out = JSONWriter()
        out.string(text)
        return out.text
    }
}
