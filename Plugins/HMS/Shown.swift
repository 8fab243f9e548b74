import SignalboxPluginKit

/// The parts of a message that the system shows.
enum Shown {
    /// Huawei requires both a title and a text: where one is missing, the other one is shown for it.
    static func texts(
        _ content: PushNotification, _ localized: LocalizedTexts
    ) -> (title: String, body: String) {
        func first(_ texts: String?...) -> String {
            texts.compactMap { $0 }.first { !$0.isEmpty } ?? ""
        }
        let title = first(content.title, localized.title?.key)
        let body = first(content.body, localized.body?.key)
        return (first(title, body), first(body, title))
    }

    static func writeTexts(
        _ content: PushNotification, _ localized: LocalizedTexts, to out: inout JSONWriter
    ) {
        let (title, body) = texts(content, localized)
        out.key("notification")
        out.object { out in
            out.member("title", title)
            out.member("body", body)
            if content.imageURL.hasPrefix("https://") { out.member("image", content.imageURL) }
        }
    }

    static func write(
        _ content: PushNotification, _ localized: LocalizedTexts, badge: Int32?, config: Config,
        to out: inout JSONWriter
    ) {
        out.key("notification")
        out.object { out in
            for (field, text) in [("title", localized.title), ("body", localized.body)] {
                guard let text else { continue }
                out.member("\(field)_loc_key", text.key)
                out.strings("\(field)_loc_args", text.arguments)
            }
            // Required in every notification.
            out.key("click_action")
            out.object { out in writeClick(content, to: &out) }
            writeSound(content.sound, to: &out)
            out.member("tag", content.collapse)
            out.member("group", content.thread)
            out.member("channel_id", config.channel)
            if content.priority == .low { out.member("importance", "LOW") }
            if let badge, !config.badgeClass.isEmpty {
                out.key("badge")
                out.object { out in
                    out.member("class", config.badgeClass)
                    out.member("set_num", min(99, max(0, badge)))
                }
            }
        }
    }

    /// What a tap opens: the activity for an action, a page on the web, a page of the app, or the app.
    private static func writeClick(_ content: PushNotification, to out: inout JSONWriter) {
        out.key("type")
        if !content.category.isEmpty {
            out.integer(1)
            out.member("action", content.category)
        } else if content.link.hasPrefix("https://") {
            out.integer(2)
            out.member("url", content.link)
        } else if let intent = intent(for: content.link) {
            out.integer(1)
            out.member("intent", intent)
        } else {
            out.integer(3)
        }
    }

    /// `app://page/5` in the form of Android's intents; nil without a scheme.
    static func intent(for link: String) -> String? {
        guard let mark = link.firstRange(of: "://") else { return nil }
        let scheme = link[..<mark.lowerBound]
        guard scheme.first?.isLetter == true,
            scheme.utf8.allSatisfy({
                $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".")
                    || (0x30...0x39).contains($0) || (0x41...0x5A).contains($0)
                    || (0x61...0x7A).contains($0)
            })
        else { return nil }
        return "intent://\(link[mark.upperBound...])#Intent;scheme=\(scheme);"
            + "action=android.intent.action.VIEW;launchFlags=0x4000000;end"
    }

    /// A sound is a file in the app's folder `raw`, named without its ending.
    private static func writeSound(_ name: String, to out: inout JSONWriter) {
        guard !name.isEmpty else { return }
        out.member("default_sound", name == "default")
        guard name != "default" else { return }
        guard !name.hasPrefix("/raw/") else { return out.member("sound", name) }
        out.member("sound", "/raw/\(name.prefix { $0 != "." })")
    }
}
