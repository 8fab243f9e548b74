import SignalboxPluginKit

extension Chats {
    /// Discord refuses an embed with longer texts, and counts escapes.
    private static let discordMax = (title: 256, description: 4_096)
    private static let discordMarks = #"\*_~|`>#[]()<"#

    /// A webhook of a channel: one embed.
    static func discord(_ content: Content, to out: inout JSONWriter) {
        let note = content.note
        let lines = [note.subtitle, note.body].filter { !$0.isEmpty }
        out.object { out in
            // Whatever a text says, nobody is pinged.
            out.key("allowed_mentions")
            out.object { out in
                out.key("parse")
                out.array { _ in }
            }
            out.key("embeds")
            out.array { out in
                out.object { out in
                    out.member("title", markdown(note.title, discordMarks, discordMax.title))
                    out.member(
                        "description",
                        markdown(
                            lines.joined(separator: "\n"), discordMarks, discordMax.description))
                    if isWeb(note.link) { out.member("url", note.link) }
                    if isWeb(note.imageURL) {
                        out.key("image")
                        out.object { $0.member("url", note.imageURL) }
                    }
                }
            }
        }
    }

    private static func isWeb(_ link: String) -> Bool {
        (link.hasPrefix("https://") || link.hasPrefix("http://")) && link.utf8.count <= 2_048
    }
}
