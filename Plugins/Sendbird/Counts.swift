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
        return call(
            config, token,
            "/v3/group_channels/\(PathSegment.encode(channelURL))/messages/unread_count?user_ids=\(ids)"
        )
    }

    /// `GET /v3/users/{user_id}/unread_message_count`, over all channels.
    static func total(_ config: Config, token: String, user: String) -> HTTPCall {
        call(config, token, "/v3/users/\(PathSegment.encode(user))/unread_message_count")
    }

    private static func call(_ config: Config, _ token: String, _ path: String) -> HTTPCall {
        var call = HTTPCall("GET", config.origin + path)
        call.headers = [("api-token", token)]
        call.caFile = config.caFile
        call.timeoutMs = 1_000
        return call
    }
}
