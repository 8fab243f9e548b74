import SignalboxPluginKit

/// The parts of a push that differ by platform.
struct PlatformPart {
    let content: PushNotification
    let localized: LocalizedTexts
    let extras: JSON?
    let secondsLeft: UInt64?
    let badge: Int32?
    let androidChannel: String

    /// Whether the device shows something. Airship's SDK shows notifications itself, also data-only ones.
    var isShown: Bool {
        !content.isSilent && !content.isWithdrawn && !alert.isEmpty
    }

    /// Airship needs a text; without one the title is it.
    var alert: String { content.body.isEmpty ? content.title : content.body }

    private var title: String { content.body.isEmpty ? "" : content.title }

    func writeIOS(to out: inout JSONWriter) {
        out.key("ios")
        out.object { out in
            if isShown {
                if !localized.isEmpty {
                    out.key("alert")
                    out.object { localized.writeAlert(of: content, to: &$0) }
                } else {
                    out.member("title", title)
                    out.member("subtitle", content.subtitle)
                }
                out.member("sound", content.sound)
                out.member("thread_id", content.thread)
                out.member("category", content.category)
                if content.isMutable || !content.imageURL.isEmpty {
                    out.member("mutable_content", true)
                }
            } else if badge == nil || content.isSilent || content.isWithdrawn {
                out.member("content_available", true)
            }
            if let badge, !content.isWithdrawn, !content.isSilent {
                out.member("badge", badge)
            }
            out.member("collapse_id", CollapseKey.shortened(content.collapse))
            out.member("priority", isShown && (content.priority ?? .high) == .high ? 10 : 5)
            if let secondsLeft {
                out.member("expiry", secondsLeft)
            }
            writeExtras(asText: false, to: &out)
        }
    }

    func writeAndroid(_ name: String, to out: inout JSONWriter) {
        out.key(name == "amazon" ? "amazon" : "android")
        out.object { out in
            if isShown {
                out.member("title", title)
                out.member("summary", content.subtitle)
            }
            if name != "amazon" {
                out.member("delivery_priority", content.priority == .high ? "high" : "normal")
                if let secondsLeft {
                    out.member("time_to_live", min(secondsLeft, 2_419_200))
                }
                if isShown {
                    out.member("notification_channel", androidChannel)
                    out.member("notification_tag", content.collapse)
                    out.member("sound", content.sound == "default" ? "" : content.sound)
                }
            }
            writeExtras(asText: true, to: &out)
        }
    }

    func writeWeb(to out: inout JSONWriter) {
        out.key("web")
        out.object { out in
            if isShown { out.member("title", title) }
            writeExtras(asText: true, to: &out)
        }
    }

    /// On iOS they become keys beside `aps` and keep their types; elsewhere Airship takes only texts.
    private func writeExtras(asText: Bool, to out: inout JSONWriter) {
        var known: Set<String> = []
        var extra = JSONWriter()
        extra.object { out in
            for (key, value) in extras?.members ?? [] where value.kind != .null {
                known.insert(key)
                out.key(key)
                if asText { out.string(value.string ?? value.text) } else { out.value(value) }
            }
            func add(_ key: String, _ text: String, to out: inout JSONWriter) {
                guard !text.isEmpty, known.insert(key).inserted else { return }
                out.key(key)
                out.string(text)
            }
            if content.isWithdrawn {
                guard !asText else { return add("signalbox_withdraw", content.collapse, to: &out) }
                out.key("signalbox")
                out.object { $0.member("withdraw", CollapseKey.shortened(content.collapse)) }
                return
            }
            add("link", content.link, to: &out)
            add("image", content.imageURL, to: &out)
        }
        guard extra.bytes.count > 2 else { return }
        out.key("extra")
        out.raw(extra.text)
    }
}
