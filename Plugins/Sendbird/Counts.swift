import SendbirdPush
import SignalboxPluginKit

/// Unread counts of members: webhooks have them, the Platform API's list of members does not.
enum Counts {
    /// Most users per request about a channel: their ids are in its URL.
    static let usersMax = 50

    /// `GET /v3/group_channels/{channel_url}/messages/unread_count`, for these members.
    static func ofChannel(
        _ config: Config, token: String, channelURL: String, users: [String]
    ) -> HTTPCall {
        let ids = users.map { PathSegment.encode($0) }.joined(separator: ",")
        let channel = PathSegment.encode(channelURL)
        return config.get(
            "/v3/group_channels/\(channel)/messages/unread_count?user_ids=\(ids)", token,
            timeoutMs: 1_000)
    }

    /// `GET /v3/users/{user_id}/unread_message_count`, over all channels.
    static func total(_ config: Config, token: String, user: String) -> HTTPCall {
        config.get(
            "/v3/users/\(PathSegment.encode(user))/unread_message_count", token, timeoutMs: 1_000)
    }
}
