package import SignalboxPluginKit

/// The config keys that Chat and Desk share: the settings under "Push notifications" in Sendbird's dashboard.
package struct PushSettings: Sendable {
    /// When a user with several devices gets a push.
    package enum MultiDevice: String, CaseIterable, Sendable {
        case allOffline = "all_offline"
        case anyOffline = "any_offline"
        case always
    }

    /// Asks for a route's options that Chat and Desk share; `MessagePush` reads them.
    package static func options(_ keys: Keys) {
        _ = keys.choice(
            "template", ["default", "alternative"], "alternative hides the text of the message")
        _ = keys.choice("alert", ["object", "string"], "format of APNs' alert")
    }

    let multiDevice: MultiDevice
    package let hasBadge: Bool
    let hasChannelUnread: Bool
    let listsMentions: Bool
    let title: String
    let body: String
    let fileBody: String
    let alternative: (title: String, body: String)
    package let sound: String
    let audienceType: String
    package let isMutable: Bool

    /// The arguments are the plugin's default templates.
    package init(
        _ keys: Keys, title: String, body: String, fileBody: String
    ) {
        func template(_ key: String, _ standard: String, _ words: String = "") -> String {
            keys.text(key, bytes: ...512, default: standard, words)
        }
        multiDevice = keys.choice(
            "multi_device", MultiDevice.self,
            "push when all devices are offline, to each that is, or always")
        hasBadge = keys.flag("unread_badge", default: true)
        hasChannelUnread = keys.flag("channel_unread_count", default: true)
        let mentions = keys.choice(
            "mentioned_users", ["object", "list"],
            "shape of mentioned_users in the push: the documented object, or a list")
        listsMentions = mentions == "list"
        self.title = template(
            "title", title,
            "title with {sender_name} {message} {channel_name} {filename} {file_type_friendly}")
        self.body = template("body", body, "text of the push, with the same variables")
        self.fileBody = template("file_body", fileBody, "text of the push for a file")
        alternative = (
            template("alternative_title", ""),
            template(
                "alternative_body", "New message", "text that shows nothing of the message")
        )
        sound = keys.text("sound", bytes: ...128, default: "default")
        audienceType = keys.text("audience_type", bytes: ...64, default: "")
        isMutable = keys.flag(
            "mutable_content",
            "wake the app's notification service extension: delivery receipts need it")
    }
}

extension PushSettings {
    /// Why a device gets no push; nil if it does. The documented rules:
    ///
    /// | | one device | several |
    /// | --- | --- | --- |
    /// | `all_offline` | if it is offline | if every one is offline |
    /// | `any_offline` | if it is offline | each that is offline |
    package func skip(_ recipient: Recipient) -> String? {
        func isTrue(_ name: String) -> Bool {
            recipient.attribute(name) == "true"
        }
        switch multiDevice {
        case .always: return nil
        // Sendbird knows connections that were not reported to the registry.
        case .allOffline: return isTrue("user_online") || isTrue("member_online") ? "online" : nil
        case .anyOffline: return isTrue("online") ? "online" : nil
        }
    }
}
