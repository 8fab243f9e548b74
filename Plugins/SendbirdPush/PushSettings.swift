package import SignalboxPluginKit

/// The config keys that Chat and Desk share: the settings under "Push notifications" in Sendbird's dashboard.
package struct PushSettings: Sendable {
    /// When a user with several devices gets a push.
    package enum MultiDevice: String, Sendable {
        case allOffline = "all_offline"
        case anyOffline = "any_offline"
        case always
    }

    /// Members of `properties` in a plugin's config schema; the arguments are the plugin's default templates.
    package static func schema(title: String, body: String, fileBody: String) -> String {
        """
        "multi_device": {
          "type": "string", "enum": ["all_offline", "any_offline", "always"],
          "default": "all_offline",
          "description": "push when all devices are offline, to each that is, or always"
        },
        "unread_badge": { "type": "boolean", "default": true },
        "channel_unread_count": { "type": "boolean", "default": true },
        "mentioned_users": {
          "type": "string", "enum": ["object", "list"], "default": "object",
          "description": "shape of mentioned_users in the push: the documented object, or a list"
        },
        "title": {
          "type": "string", "default": "\(title)", "maxLength": 512,
          "description": "title with {sender_name} {message} {channel_name} {filename} {file_type_friendly}"
        },
        "body": {
          "type": "string", "default": "\(body)", "maxLength": 512,
          "description": "text of the push, with the same variables"
        },
        "file_body": {
          "type": "string", "default": "\(fileBody)", "maxLength": 512,
          "description": "text of the push for a file"
        },
        "alternative_title": { "type": "string", "default": "", "maxLength": 512 },
        "alternative_body": {
          "type": "string", "default": "New message", "maxLength": 512,
          "description": "text that shows nothing of the message"
        },
        "sound": { "type": "string", "default": "default", "maxLength": 128 },
        "audience_type": { "type": "string", "default": "", "maxLength": 64 },
        "mutable_content": {
          "type": "boolean", "default": false,
          "description": "wake the app's notification service extension: delivery receipts need it"
        }
        """
    }

    /// Members of `properties` in the schema of `build.options`.
    package static let optionsSchema = """
        "template": {
          "type": "string", "enum": ["default", "alternative"], "default": "default",
          "description": "alternative hides the text of the message"
        },
        "alert": {
          "type": "string", "enum": ["object", "string"], "default": "object",
          "description": "format of APNs' alert"
        }
        """

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

    package init(_ json: JSON) {
        func text(_ key: String) -> String { json[key]?.string ?? "" }
        multiDevice = MultiDevice(rawValue: text("multi_device")) ?? .allOffline
        hasBadge = json["unread_badge"]?.boolean ?? true
        hasChannelUnread = json["channel_unread_count"]?.boolean ?? true
        listsMentions = text("mentioned_users") == "list"
        title = text("title")
        body = text("body")
        fileBody = text("file_body")
        alternative = (text("alternative_title"), text("alternative_body"))
        sound = text("sound")
        audienceType = text("audience_type")
        isMutable = json["mutable_content"]?.boolean ?? false
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
