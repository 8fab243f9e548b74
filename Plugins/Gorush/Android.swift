import SignalboxPluginKit

/// What gorush sends through Firebase, to Android and to iOS.
struct AndroidContent {
    private let push: JSON
    private let host: Host
    private let nowMs: UInt64

    /// Fields of a message of FCM under the same names.
    private static let blocks = ["webpush", "fcm_options"]
    /// Members of `notification` that every platform has.
    private static let neutral: Set = ["title", "body", "image"]

    init(_ push: JSON, _ host: Host, nowMs: UInt64) {
        self.push = push
        self.host = host
        self.nowMs = nowMs
    }

    func notification() throws(PluginError) -> PushNotification {
        var note = NeutralTexts(push).notification(push["notification"])
        note.isDryRun = push["dry_run"]?.boolean == true
        if let ttl = push["time_to_live"]?.wholeNumber, ttl > 0 {
            note.expiresUnixMs = nowMs + UInt64(clamping: min(ttl, 2_419_200)) * 1000
        }
        if let data = push["data"], data.kind == .object { note.data = data.text }
        let parts = [
            ("android", try laid("android", over: android())),
            ("apns", try laid("apns", over: AppleContent(push).fcmBlock())),
        ]
        let others = Self.blocks.filter { push[$0]?.kind == .object }
        guard parts.contains(where: { $0.1 != nil }) || !others.isEmpty else { return note }
        var out = JSONWriter()
        out.object { out in
            for case (let name, let part?) in parts {
                out.key(name)
                out.raw(part)
            }
            for name in others {
                out.key(name)
                out.raw(push[name]?.text ?? "{}")
            }
        }
        note.overrides.append(("fcm", out.text))
        return note
    }

    /// The caller's own block of a message, merged over what other fields make of it; nil if both are missing.
    private func laid(_ name: String, over made: String?) throws(PluginError) -> String? {
        guard let own = push[name], own.kind == .object else { return made }
        var merged = JSONWriter()
        merged.merged(try host.parse((made ?? "{}").utf8.span), with: own)
        return merged.text
    }

    /// The block `android`: older fields by their present names.
    private func android() -> String? {
        var out = JSONWriter()
        out.object { out in
            out.member("collapse_key", push.words("collapse_key"))
            out.member("restricted_package_name", push.words("restricted_package_name"))
            if push["time_to_live"]?.wholeNumber == 0 { out.member("ttl", "0s") }
            let shown = (push["notification"]?.members ?? []).filter {
                !Self.neutral.contains($0.key) && $0.value.kind != .null
            }
            guard !shown.isEmpty else { return }
            out.key("notification")
            out.object { out in
                for (name, value) in shown {
                    out.key(name)
                    if name.hasSuffix("_loc_args"), let text = value.string {
                        out.raw(arguments(text))
                    } else {
                        out.value(value)
                    }
                }
            }
        }
        return out.bytes.count > 2 ? out.text : nil
    }

    /// Arguments of a text in the app: FCM wants a list, its former API a list as text.
    private func arguments(_ text: String) -> String {
        if let list = try? host.parse(text.utf8.span), list.kind == .array { return list.text }
        var out = JSONWriter()
        out.array { $0.string(text) }
        return out.text
    }
}

/// What gorush sends through Huawei.
struct HuaweiContent {
    private let push: JSON
    private let host: Host

    init(_ push: JSON, _ host: Host) {
        self.push = push
        self.host = host
    }

    func notification() -> PushNotification {
        var note = NeutralTexts(push).notification(push["huawei_notification"])
        let text = push.words("huawei_data")
        var own: String?
        if let data = push["data"], data.kind == .object {
            note.data = data.text
        } else if let data = try? host.parse(text.utf8.span), data.kind == .object {
            note.data = data.text
        } else if !text.isEmpty {
            own = text
        }
        let android = android()
        guard own != nil || android != nil else { return note }
        var out = JSONWriter()
        out.object { out in
            if let own { out.member("data", own) }
            if let android {
                out.key("android")
                out.raw(android)
            }
        }
        note.overrides.append(("hms", out.text))
        return note
    }

    private func android() -> String? {
        var out = JSONWriter()
        out.object { out in
            for (name, field) in [
                ("collapse_key", "huawei_collapse_key"), ("fast_app_target", "fast_app_target"),
            ] {
                guard let number = push[field]?.wholeNumber else { continue }
                out.member(name, number)
            }
            out.member("ttl", push.words("huawei_ttl"))
            out.member("bi_tag", push.words("bi_tag"))
            if let shown = push["huawei_notification"], shown.kind == .object {
                out.key("notification")
                out.value(shown)
            }
        }
        return out.bytes.count > 2 ? out.text : nil
    }
}

/// Texts that Firebase and Huawei share.
private struct NeutralTexts {
    let push: JSON

    init(_ push: JSON) { self.push = push }

    /// A notification with these texts; without any the app gets data alone.
    func notification(_ block: JSON?) -> PushNotification {
        func text(_ own: String, _ other: String) -> String {
            let text = push.words(own)
            return text.isEmpty ? block?.words(other) ?? "" : text
        }
        var note = PushNotification()
        note.title = text("title", "title")
        note.body = text("message", "body")
        note.imageURL = text("image", "image")
        note.sound = push["sound"]?.string ?? push["sound"]?.words("name") ?? ""
        let isShown = (block.map { $0.count > 0 }) ?? false
        note.isDataOnly =
            note.title.isEmpty && note.body.isEmpty && note.imageURL.isEmpty && !isShown
        return note
    }
}
