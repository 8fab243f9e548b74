package import SignalboxPluginKit

/// A member of a channel, from a webhook or the Platform API.
package struct ChatMember: Sendable {
    package let id: String
    package let name: String
    package let isJoined: Bool
    package let isOnline: Bool
    package let isBlockingSender: Bool
    package let isPushEnabled: Bool
    package let isDoNotDisturb: Bool
    package let trigger: String
    /// nil if unknown.
    package var unread: Int64?
    package var channelUnread: Int64?
    /// The member's own sound; empty for the instance's.
    package var sound = ""
    /// The member has chosen the template that hides the text.
    package var hidesText = false

    /// nil if the JSON is not a member.
    package init?(_ json: JSON) {
        guard let id = json["user_id"]?.string, !id.isEmpty else { return nil }
        self.id = id
        func flag(_ key: String, or other: Bool) -> Bool {
            json[key]?.flag ?? other
        }
        name = json["nickname"]?.string ?? ""
        isJoined = (json["state"]?.string ?? "joined") == "joined"
        isOnline = flag("is_online", or: false)
        isBlockingSender = flag("is_blocking_sender", or: false)
        isPushEnabled = flag("push_enabled", or: true)
        isDoNotDisturb = flag("do_not_disturb", or: false)
        trigger = json["push_trigger_option"]?.string ?? "default"
        unread =
            json["total_unread_message_count"]?.number ?? json["unread_message_count"]?.number
        channelUnread = json["channel_unread_message_count"]?.number
    }

    /// The recipient for an event, with the attributes that `Person` reads and those of the caller.
    package func recipient(app: String, _ more: [(String, String)] = []) -> Recipient {
        var attributes = [("name", name), ("member_online", isOnline ? "true" : "false")] + more
        if let unread { attributes.append(("unread", String(unread))) }
        if let channelUnread { attributes.append(("channel_unread", String(channelUnread))) }
        if !sound.isEmpty { attributes.append(("sound", sound)) }
        if hidesText { attributes.append(("template", "alternative")) }
        return Recipient(user: id, app: app, attributes: attributes)
    }
}

extension JSON {
    /// An integer, also one written as text.
    package var number: Int64? { integer ?? string.flatMap { Int64($0) } }

    /// A boolean, also one written as a number or as text; nil if it is something else.
    package var flag: Bool? {
        if let known = boolean { return known }
        if let number { return number != 0 }
        switch string?.lowercased() {
        case "true": return true
        case "false", "": return false
        default: return nil
        }
    }
}
