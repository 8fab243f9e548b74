import SignalboxPluginKit

/// Messages of API v3, for HarmonyOS 5 and later.
enum Harmony {
    private static let alert = "0"
    private static let background = "6"

    static func message(
        _ content: PushNotification, badge: Int32?, deadlineUnixMs: UInt64, config: Config,
        host: Host
    ) throws(Outcome) -> Message {
        guard let localized = try? LocalizedTexts(content, host) else { throw .malformedData }
        let (title, _) = Shown.texts(content, localized)
        // The system starts no app for data, so it shows data-only notifications, too.
        let isShown =
            !title.isEmpty && !content.isSilent && !content.isDryRun && !content.isWithdrawn
        let pairs = try content.textData(
            withdrawing: content.collapse,
            hasTexts: !isShown && !content.isSilent && !content.isDryRun, localized, host)
        var rest = JSONWriter()
        rest.object { out in
            out.key("payload")
            out.object { out in
                if isShown {
                    out.key("notification")
                    out.object { out in
                        write(
                            content, localized, pairs, badge: badge ?? content.badge,
                            config: config, to: &out)
                    }
                } else {
                    out.key("extraData")
                    var data = JSONWriter()
                    Data.write(pairs, to: &data)
                    out.string(data.text)
                }
            }
            let ttl = Message.ttl(deadlineUnixMs: deadlineUnixMs, host)
            let group = config.hasCollapseKey && !content.collapse.isEmpty
            guard ttl != nil || group else { return }
            out.key("pushOptions")
            out.object { out in
                if let ttl {
                    out.member("ttl", ttl)
                }
                guard group else { return }
                out.member("collapseKey", Message.group(of: content.collapse))
            }
        }
        guard let whole = try? content.overridden(rest, family: "hms", host) else {
            throw .malformedData
        }
        let data = isShown ? "/payload/notification/clickAction/data" : "/payload/extraData"
        guard let bytes = try? Limit.fitted(whole.bytes, of: content, data: data, host) else {
            throw .tooLarge
        }
        // The object without its opening brace follows the token.
        return Message(
            head: Array("{\"target\":{\"token\":[\"".utf8),
            tail: Array("\"]},".utf8) + bytes.dropFirst(),
            pushType: isShown ? alert : background)
    }

    private static func write(
        _ content: PushNotification, _ localized: LocalizedTexts, _ pairs: [(String, String)],
        badge: Int32?, config: Config, to out: inout JSONWriter
    ) {
        let (title, body) = Shown.texts(content, localized)
        // Required; every other category needs Huawei's approval.
        out.member("category", config.category.isEmpty ? "MARKETING" : config.category)
        out.member("title", title)
        out.member("body", body)
        if content.imageURL.hasPrefix("https://") { out.member("image", content.imageURL) }
        out.key("clickAction")
        out.object { out in
            let hasScheme = content.link.contains("://")
            let isPage = !content.category.isEmpty || hasScheme
            out.member("actionType", isPage ? 1 : 0)
            out.member("action", content.category)
            if content.category.isEmpty, hasScheme { out.member("uri", content.link) }
            guard !pairs.isEmpty else { return }
            out.key("data")
            Data.write(pairs, to: &out)
        }
        if !content.collapse.isEmpty {
            // A number instead of a text: equal keys replace each other.
            var print = Fingerprint()
            print.add(content.collapse)
            out.member("notifyId", (UInt64(print.text, radix: 16) ?? 0) % 2_147_483_647)
        }
        if content.sound != "default" { out.member("sound", content.sound) }
        if let badge {
            out.key("badge")
            out.object { out in
                out.member("setNum", min(99, max(0, badge)))
            }
        }
    }
}
