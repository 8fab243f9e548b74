internal import SignalboxCore

/// A refusal in the Bot API's format.
struct TelegramRefusal {
    var status: Int
    var words: String
    var parameters: JSONValue?

    var answer: ProviderAnswer {
        var members: [JSONValue.Member] = [
            .init("ok", .bool(false)), .init("error_code", .integer(Int64(status))),
            .init("description", .string(words)),
        ]
        if let parameters { members.append(.init("parameters", parameters)) }
        return ProviderAnswer(
            status: status, reason: words,
            headers: [Attribute("content-type", "application/json")],
            body: Array(JSONValue.object(members).text.utf8))
    }
}

/// What Telegram requires of a message. It ignores fields that it does not know; here they are refused.
enum TelegramRules {
    private static let fields: Set = [
        "chat_id", "message_thread_id", "text", "entities", "parse_mode", "link_preview_options",
        "disable_notification", "protect_content", "reply_markup",
    ]

    /// The chat that a message names.
    static func chat(of body: JSONValue) -> String? {
        body["chat_id"]?.integer.map { String($0) } ?? body["chat_id"]?.string
    }

    static func refusal(of body: JSONValue) -> TelegramRefusal? {
        guard case .object(let members) = body else { return invalid("message text is empty") }
        for member in members where !fields.contains(member.key) {
            return invalid("the simulator knows no field \(member.key)")
        }
        guard let chat = chat(of: body), !chat.isEmpty else { return invalid("chat_id is empty") }
        if let thread = body["message_thread_id"], (thread.integer ?? 0) <= 0 {
            return invalid("message thread not found")
        }
        let text = body["text"]?.string ?? ""
        guard text.contains(where: { !$0.isWhitespace }) else {
            return invalid("message text is empty")
        }
        guard text.utf16.count <= 4_096 else { return invalid("message is too long") }
        return entitiesRefusal(body["entities"], text.utf16.count)
            ?? keyboardRefusal(body["reply_markup"])
    }

    private static func entitiesRefusal(_ given: JSONValue?, _ units: Int) -> TelegramRefusal? {
        guard let given else { return nil }
        guard case .array(let entities) = given else { return invalid("can't parse entities") }
        for entity in entities {
            guard entity["type"]?.string != nil, let offset = entity["offset"]?.integer,
                let length = entity["length"]?.integer, offset >= 0, length > 0,
                offset + length <= units
            else { return invalid("can't parse entities") }
        }
        return nil
    }

    private static func keyboardRefusal(_ markup: JSONValue?) -> TelegramRefusal? {
        guard let markup else { return nil }
        guard case .array(let rows) = markup["inline_keyboard"] else {
            return invalid("object expected as reply markup")
        }
        for case .array(let buttons) in rows {
            for button in buttons {
                let url = button["url"]?.string ?? ""
                guard button["text"]?.string?.isEmpty == false else {
                    return invalid("Text buttons are unallowed in the inline keyboard")
                }
                guard ["https://", "http://", "tg://"].contains(where: url.hasPrefix) else {
                    return invalid("inline keyboard button URL '\(url)' is invalid: Wrong HTTP URL")
                }
            }
        }
        return nil
    }

    private static func invalid(_ words: String) -> TelegramRefusal {
        TelegramRefusal(status: 400, words: "Bad Request: \(words)")
    }
}
