package import SignalboxPluginKit

/// The complete `sendbird` object, as in Sendbird's documentation of push payloads.
struct PushObject {
    let data: JSON
    let text: PushText
    let person: Person
    let settings: PushSettings

    /// The object's JSON, with members in the documented order.
    var json: String {
        var out = JSONWriter()
        out.object { out in
            out.text("category", "messaging:offline_notification")
            out.text("type", string("/type", or: "MESG"))
            out.text("message", text.message)
            out.text("custom_type", string("/payload/custom_type", or: string("/custom_type")))
            out.number("message_id", number("/payload/message_id"))
            out.number("created_at", number("/payload/created_at"))
            out.text("app_id", string("/app_id"))
            if let unread = person.unread { out.number("unread_message_count", unread) }
            out.key("channel")
            out.object { writeChannel(to: &$0) }
            out.text("channel_type", ChatChannel.type(data))
            out.key("sender")
            out.object { writeSender(to: &$0) }
            out.key("recipient")
            out.object { out in
                out.text("id", person.id)
                out.text("name", person.name)
            }
            out.key("files")
            if text.isHidden { out.raw("[]") } else { Files.write(data, to: &out) }
            out.key("translations")
            out.raw(text.isHidden ? "{}" : object("/payload/translations"))
            out.text("push_title", text.title)
            out.text("push_alert", text.body)
            out.text("push_sound", person.sound)
            out.text("audience_type", settings.audienceType)
            out.key("mentioned_users")
            writeMentions(to: &out)
        }
        return out.text
    }

    private func writeChannel(to out: inout JSONWriter) {
        out.text("channel_url", string("/channel/channel_url"))
        out.text("name", string("/channel/name"))
        out.text("custom_type", string("/channel/custom_type"))
        if settings.hasChannelUnread, let count = person.channelUnread {
            out.number("channel_unread_count", count)
        }
    }

    private func writeSender(to out: inout JSONWriter) {
        out.text("id", string("/sender/user_id"))
        out.text("name", string("/sender/nickname"))
        out.text("profile_url", string("/sender/profile_url"))
        out.member(
            "require_auth_for_profile_image",
            data.at("/sender/require_auth_for_profile_image")?.flag ?? false)
        out.key("metadata")
        out.raw(object("/sender/metadata"))
    }

    /// The documentation shows one object under a plural name; lists were observed as well.
    private func writeMentions(to out: inout JSONWriter) {
        let given = data["mentioned_users"]
        let all = given?.kind == .array ? given?.elements ?? [] : given.map { [$0] } ?? []
        let users = all.filter { $0.kind == .object }
        if settings.listsMentions {
            out.array { out in
                for user in users { out.object { Self.writeMention(user, to: &$0) } }
            }
        } else {
            out.object { out in
                if let first = users.first { Self.writeMention(first, to: &out) }
            }
        }
    }

    private static func writeMention(_ user: JSON, to out: inout JSONWriter) {
        for key in ["user_id", "nickname", "profile_url"] {
            out.text(key, user[key]?.string ?? "")
        }
        out.member(
            "require_auth_for_profile_image", user["require_auth_for_profile_image"]?.flag ?? false)
    }

    private func string(_ pointer: String, or other: String = "") -> String {
        data.at(pointer)?.string ?? other
    }

    private func number(_ pointer: String) -> Int64 {
        data.at(pointer)?.number ?? 0
    }

    private func object(_ pointer: String) -> String {
        guard let value = data.at(pointer), value.kind == .object else { return "{}" }
        return value.text
    }
}

extension JSONWriter {
    /// A member with a string, even if empty.
    fileprivate mutating func text(_ name: String, _ value: String) {
        key(name)
        string(value)
    }

    fileprivate mutating func number(_ name: String, _ value: Int64) {
        key(name)
        integer(value)
    }
}

/// The channel in a webhook.
package enum ChatChannel {
    /// The type: `messaging` for a distinct group channel, `group_messaging` for a private one, `chat` for all others.
    package static func type(_ data: JSON) -> String {
        func flag(_ key: String) -> Bool { data["channel"]?[key]?.flag ?? false }
        if flag("is_distinct") { return "messaging" }
        return flag("is_public") || flag("is_super") ? "chat" : "group_messaging"
    }
}
