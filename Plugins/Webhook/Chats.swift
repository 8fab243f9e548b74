import SignalboxPluginKit

/// Messages as chats take them.
enum Chats {
    /// Slack shows at most 3,000 characters of a section, and counts escapes: a heading, a body and a link.
    private static let slackMax = (heading: 300, body: 2_000, link: 500)
    /// Teams refuses a card over 28 KB.
    private static let teamsMax = 6_000
    private static let teamsMarks = #"\*_~`[]"#

    /// An incoming webhook of Slack.
    static func slack(_ content: Content, to out: inout JSONWriter) {
        let note = content.note
        let heading = [note.title, note.subtitle].filter { !$0.isEmpty }.joined(separator: " · ")
        var lines: [String] = []
        if !heading.isEmpty { lines.append("*\(escaped(heading, slackMax.heading))*") }
        if !note.body.isEmpty { lines.append(escaped(note.body, slackMax.body)) }
        let isLink = note.link.hasPrefix("https://") || note.link.hasPrefix("http://")
        if isLink, note.link.count <= slackMax.link {
            lines.append("<\(escaped(note.link, .max))|Open>")
        }
        let text = lines.joined(separator: "\n")
        out.object { out in
            // What the notification on the phone shows.
            out.member("text", escaped(heading.isEmpty ? note.body : heading, slackMax.heading))
            out.key("blocks")
            out.array { out in
                out.object { out in
                    out.member("type", "section")
                    out.key("text")
                    out.object { out in
                        out.member("type", "mrkdwn")
                        out.member("text", text)
                    }
                }
            }
        }
    }

    /// A workflow of Teams that waits for a webhook: a message with an adaptive card.
    static func teams(_ content: Content, to out: inout JSONWriter) {
        let note = content.note
        out.object { out in
            out.member("type", "message")
            out.key("attachments")
            out.array { out in
                out.object { out in
                    out.member("contentType", "application/vnd.microsoft.card.adaptive")
                    out.key("content")
                    out.object { out in card(note, to: &out) }
                }
            }
        }
    }

    private static func card(_ note: PushNotification, to out: inout JSONWriter) {
        out.member("$schema", "http://adaptivecards.io/schemas/adaptive-card.json")
        out.member("type", "AdaptiveCard")
        out.member("version", "1.4")
        out.key("body")
        out.array { out in
            for (text, isHeading) in [
                (note.title, true), (note.subtitle, false), (note.body, false),
            ]
            where !text.isEmpty {
                out.object { out in
                    out.member("type", "TextBlock")
                    out.member("text", markdown(text, teamsMarks, teamsMax))
                    if isHeading {
                        out.member("weight", "Bolder")
                        out.member("size", "Medium")
                    }
                    out.member("wrap", true)
                }
            }
        }
        guard note.link.hasPrefix("https://") || note.link.hasPrefix("http://") else { return }
        out.key("actions")
        out.array { out in
            out.object { out in
                out.member("type", "Action.OpenUrl")
                out.member("title", "Open")
                out.member("url", note.link)
            }
        }
    }

    /// A text of which nothing is read as markdown: neither `marks`, nor what makes lists and headings at the start of a line. At most
    /// `max` code units, all escapes whole.
    static func markdown(_ text: String, _ marks: String, _ max: Int) -> String {
        var (out, count, isLineStart) = ("", 0, true)
        for character in text {
            let isMark = marks.contains(character) || isLineStart && "-+#>".contains(character)
            let piece = isMark ? "\\\(character)" : String(character)
            count += piece.utf16.count
            guard count < max else { return out + "…" }
            out += piece
            isLineStart = character.isNewline || isLineStart && character.isWhitespace
        }
        return out
    }

    /// Slack reads three characters as its own. No more than `max` are left, all escapes whole.
    private static func escaped(_ text: String, _ max: Int) -> String {
        var out = ""
        var count = 0
        for character in text {
            let piece =
                switch character {
                case "&": "&amp;"
                case "<": "&lt;"
                case ">": "&gt;"
                default: String(character)
                }
            count += piece.count
            guard count < max else { return out + "…" }
            out += piece
        }
        return out
    }
}
