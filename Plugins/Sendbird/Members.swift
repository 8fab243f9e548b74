import SendbirdPush
import SignalboxPluginKit

extension ChatMember {
    /// Why the member gets no push for a message; nil if they do. The builder checks presence per device.
    ///
    /// With `asksPreferences`, the member's preference decides later whether they may be disturbed now.
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

    /// The recipient for a message's event.
    func recipient(app: String, isMentioned: Bool) -> Recipient {
        recipient(app: app, [("mentioned", isMentioned ? "true" : "false")])
    }
}

/// A page of `GET /v3/group_channels/{channel_url}/members`.
enum MembersPage {
    static func call(_ config: Config, token: String, channelURL: String, next: String) -> HTTPCall
    {
        let page = next.isEmpty ? "" : "&token=\(PathSegment.encode(next))"
        let channel = PathSegment.encode(channelURL)
        return config.get(
            "/v3/group_channels/\(channel)/members?limit=100&show_member_is_muted=false\(page)",
            token)
    }
}
