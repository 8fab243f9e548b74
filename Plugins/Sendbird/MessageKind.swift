import SendbirdPush
import SignalboxPluginKit

/// Kinds of messages, for conditions of routes.
///
/// Sendbird does not document how webhooks mark announcements and notification channels: these are the names that
/// its SDKs read. Custom types set by the application are the reliable way.
enum MessageKind: String {
    case message, reply, announcement, notification

    init(_ json: JSON, isReply: Bool) {
        func isGiven(_ value: JSON?) -> Bool {
            guard let value else { return false }
            return value.kind != .null && value.flag != false
        }
        let announcement = ["announcement", "announcement_id", "is_announcement"]
        let channel = json["channel"]
        if ["is_chat_notification", "is_feed", "is_notification"].contains(where: {
            isGiven(channel?[$0])
        }) || channel?["custom_type"]?.string?.hasPrefix("SENDBIRD_NOTIFICATION_CHANNEL") == true
            || channel?["channel_type"]?.string?.contains("notification") == true
        {
            self = .notification
        } else if announcement.contains(where: {
            isGiven(json[$0]) || isGiven(json["payload"]?[$0])
        }) {
            self = .announcement
        } else {
            self = isReply ? .reply : .message
        }
    }
}
