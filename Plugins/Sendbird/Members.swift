import SignalboxPluginKit

/// A member of a channel, as the webhook or the Platform API shows him.
struct Member: Sendable {
    let id: String
    let name: String
    let isJoined: Bool
    let isOnline: Bool
    let isBlockingSender: Bool
    let isPushEnabled: Bool
    let isDoNotDisturb: Bool
    let trigger: String
    let unread: Int64?
    let channelUnread: Int64?
    /// A sound of his own; empty: the instance's.
    var sound = ""

    /// nil: it is not one.
    init?(_ json: JSON) {
        guard let id = json["user_id"]?.string, !id.isEmpty else { return nil }
        self.id = id
        func flag(_ key: String, or other: Bool) -> Bool {
            json[key]?.boolean ?? json[key]?.integer.map { $0 != 0 } ?? other
        }
        name = json["nickname"]?.string ?? ""
        isJoined = (json["state"]?.string ?? "joined") == "joined"
        isOnline = flag("is_online", or: false)
        isBlockingSender = flag("is_blocking_sender", or: false)
        isPushEnabled = flag("push_enabled", or: true)
        isDoNotDisturb = flag("do_not_disturb", or: false)
        trigger = json["push_trigger_option"]?.string ?? "default"
        unread =
            json["total_unread_message_count"]?.integer ?? json["unread_message_count"]?.integer
        channelUnread = json["channel_unread_message_count"]?.integer
    }

    /// Why he gets no push of a message; nil: he does. Presence is judged per device, by the builder.
    ///
    /// `asksPreferences`: whether he is not to be disturbed now is then for his preference to say.
    func skip(_ message: Message, asksPreferences: Bool) -> Skip? {
        if id == message.senderID { return .sender }
        if message.isSilent { return .silent }
        if !isJoined { return .notJoined }
        if !isPushEnabled { return .pushDisabled }
        if isDoNotDisturb, !asksPreferences { return .doNotDisturb }
        if isBlockingSender { return .blocking }
        return Self.skip(trigger: trigger, id: id, message)
    }

    static func skip(trigger: String, id: String, _ message: Message) -> Skip? {
        switch trigger {
        case "off": return .triggerOff
        case "mention_only":
            return message.mentionsChannel || message.mentioned.contains(id) ? nil : .notMentioned
        default: return nil
        }
    }

    func recipient(app: String, isMentioned: Bool) -> Recipient {
        var attributes = [
            ("name", name), ("member_online", isOnline ? "true" : "false"),
            ("mentioned", isMentioned ? "true" : "false"),
        ]
        if let unread { attributes.append(("unread", String(unread))) }
        if let channelUnread { attributes.append(("channel_unread", String(channelUnread))) }
        if !sound.isEmpty { attributes.append(("sound", sound)) }
        return Recipient(user: id, app: app, attributes: attributes)
    }
}

/// A page of `GET /v3/group_channels/{channel_url}/members`.
enum MembersPage {
    static func call(_ config: Config, token: String, channelURL: String, next: String) -> HTTPCall
    {
        let page = next.isEmpty ? "" : "&token=\(PathSegment.encode(next))"
        let channel = PathSegment.encode(channelURL)
        var call = HTTPCall(
            "GET",
            "\(config.origin)/v3/group_channels/\(channel)/members?limit=100"
                + "&show_member_is_muted=false\(page)")
        call.headers = [("api-token", token)]
        call.caFile = config.caFile
        call.timeoutMs = 2_000
        return call
    }
}
