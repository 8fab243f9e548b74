import SignalboxPluginKit

/// The JSON that deliveries of one content share: what follows the chat.
struct Message: Sendable {
    /// Telegram counts UTF-16 code units.
    private static let unitsMax = (whole: 4_096, heading: 512)

    let tail: [UInt8]

    init(_ note: PushNotification, config: Config, host: Host) throws(Outcome) {
        let title = Self.cut(note.title, Self.unitsMax.heading, host)
        let subtitle = Self.cut(note.subtitle, Self.unitsMax.heading, host)
        let heading = [title, subtitle].filter { !$0.isEmpty }
        let left = Self.unitsMax.whole - heading.reduce(0) { $0 + $1.utf16.count + 1 }
        let text = (heading + [Self.cut(note.body, left, host)].filter { !$0.isEmpty })
            .joined(separator: "\n")
        guard !note.isSilent, text.contains(where: { !$0.isWhitespace }) else {
            throw Outcome(.rejected, "nothing_to_show")
        }
        var out = JSONWriter()
        out.object { out in
            out.member("text", text)
            if !title.isEmpty {
                // Entities, so that nothing in a text is read as markup.
                out.key("entities")
                out.array { out in
                    out.object { out in
                        out.member("type", "bold")
                        out.member("offset", 0)
                        out.member("length", title.utf16.count)
                    }
                }
            }
            out.key("link_preview_options")
            out.object { out in Self.preview(note.imageURL, to: &out) }
            if note.priority == .low {
                out.member("disable_notification", true)
            }
            if config.isProtected {
                out.member("protect_content", true)
            }
            if Self.isLink(note.link) { Self.button(config.button, note.link, to: &out) }
        }
        guard let whole = try? note.overridden(out, family: "telegram", host),
            let json = try? host.parse(whole.bytes.span), json["chat_id"] == nil
        else { throw .malformedData }
        guard json["text"]?.string?.isEmpty == false else {
            throw Outcome(.rejected, "nothing_to_show")
        }
        tail = Array(whole.bytes.dropFirst())
    }

    /// A picture comes as a preview: unlike with sendPhoto, one that cannot be fetched costs nobody the message.
    private static func preview(_ image: String, to out: inout JSONWriter) {
        guard isLink(image) else {
            out.member("is_disabled", true)
            return
        }
        out.member("url", image)
        for key in ["prefer_large_media", "show_above_text"] {
            out.member(key, true)
        }
    }

    private static func button(_ words: String, _ link: String, to out: inout JSONWriter) {
        out.key("reply_markup")
        out.object { out in
            out.key("inline_keyboard")
            out.array { out in
                out.array { out in
                    out.object { out in
                        out.member("text", words)
                        out.member("url", link)
                    }
                }
            }
        }
    }

    /// Telegram refuses a whole message for a link of an app.
    private static func isLink(_ text: String) -> Bool {
        ["https://", "http://", "tg://"].contains { text.hasPrefix($0) }
    }

    /// At most so many code units, whole characters.
    private static func cut(_ text: String, _ units: Int, _ host: Host) -> String {
        guard text.utf16.count > units else { return text }
        return (try? host.fitted(text, to: units, isUTF16: true)) ?? ""
    }
}
