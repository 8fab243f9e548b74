package import SignalboxPluginKit

/// A message as the push that Sendbird itself would send; shared by Chat and Desk.
package struct MessagePush {
    /// Texts that repeat the message, which a sender may shorten to meet its provider's limit, and what it may leave out, so that
    /// the alert arrives whatever else a message has.
    package static let shorten = """
        {"places":["/sendbird/push_alert","/sendbird/message","/sendbird/translations",\
        "/sendbird/push_title","/sendbird/channel/name","/sendbird/sender/name","/message"],\
        "omit":["/sendbird/files/*/thumbnails","/sendbird/files/*","/desk/ticket/custom_fields/*",\
        "/desk/ticket/related_channels/*","/sendbird/sender/metadata/*",\
        "/sendbird/mentioned_users/*/profile_url","/sendbird/mentioned_users/profile_url",\
        "/sendbird/sender/profile_url"]}
        """

    let data: JSON
    let settings: PushSettings
    let isHidden: Bool
    let isAlertText: Bool

    /// `data` is the event's data, `options` the route's options.
    package init(_ data: JSON, options: JSON, settings: PushSettings) {
        self.data = data
        self.settings = settings
        isHidden = options["template"]?.string == "alternative"
        isAlertText = options["alert"]?.string == "string"
    }

    /// Emits one notification per person among the recipients, with all of their devices.
    ///
    /// `skip` returns why a recipient gets none, `more` writes members of the data besides `sendbird`, and `adjust`
    /// makes the caller's changes.
    package func emit(
        _ input: borrowing BuildInput, _ sink: borrowing BuildSink,
        skip: (Recipient) -> String?, more: (inout JSONWriter) -> Void = { _ in },
        adjust: (inout PushNotification) -> Void = { _ in }
    ) throws(PluginError) {
        // The text would be stored twice, so the format for Huawei is added only where it is needed.
        var isForHuawei = false
        var order: [Person] = []
        var targets: [Person: [BuildSink.Target]] = [:]
        for index in 0..<input.recipientCount {
            let recipient = input.recipient(index)
            isForHuawei = isForHuawei || recipient.device.platform == "huawei"
            if let reason = skip(recipient) {
                sink.skip(index, reason)
                continue
            }
            let person = Person(recipient, sound: settings.sound)
            if targets[person] == nil { order.append(person) }
            let badge = settings.hasBadge ? person.unread.map { Int32(clamping: $0) } : nil
            targets[person, default: []].append(.init(index, badge: badge))
        }
        for person in order {
            var note = notification(person, isForHuawei: isForHuawei, more: more)
            adjust(&note)
            try sink.emit(note, to: targets[person] ?? [])
        }
    }

    /// Withdraws a deleted message from everybody who may see it, regardless of their presence.
    package static func emitWithdrawal(
        _ data: JSON, _ input: borrowing BuildInput, _ sink: borrowing BuildSink
    ) throws(PluginError) {
        var note = PushNotification()
        note.isWithdrawn = true
        note.collapse = key(data)
        note.priority = .normal
        var patch = JSONWriter()
        patch.object { writeNoCollapseKey(to: &$0) }
        for family in ["fcm", "hms"] { note.overrides.append((family, patch.text)) }
        try sink.emit(note, to: (0..<input.recipientCount).map { .init($0) })
    }

    /// A message's collapse key is its id, so that its deletion can name it.
    private static func key(_ data: JSON) -> String {
        data.at("/payload/message_id")?.number.map { String($0) } ?? ""
    }

    /// FCM stores pushes for four collapse keys per device, Huawei for a hundred groups; with one key per message the
    /// others would be lost.
    private static func writeNoCollapseKey(to out: inout JSONWriter) {
        out.key("android")
        out.object { out in
            out.key("collapse_key")
            out.raw("null")
        }
    }

    private func notification(
        _ person: Person, isForHuawei: Bool, more: (inout JSONWriter) -> Void
    ) -> PushNotification {
        let text = PushText(
            data, locale: person.locale, isHidden: isHidden || person.hidesText, settings: settings)
        let object = PushObject(data: data, text: text, person: person, settings: settings)
        var note = PushNotification()
        note.title = text.title
        note.body = text.body
        note.sound = person.sound
        note.thread = data.at("/channel/channel_url")?.string ?? ""
        note.priority = .high
        note.isDataOnly = true
        note.isMutable = settings.isMutable
        note.collapse = Self.key(data)
        var members = JSONWriter()
        members.object { out in
            out.key("sendbird")
            out.raw(object.json)
            more(&out)
        }
        note.data = members.text
        if isAlertText {
            var patch = JSONWriter()
            patch.object { out in
                out.key("aps")
                out.object { out in
                    out.key("alert")
                    out.string(text.body)
                }
            }
            note.overrides.append(("apns", patch.text))
        }
        // Sendbird's own format for FCM and Huawei: {"message": text, "sendbird": JSON text}; the app reads the title
        // and the text from the object.
        var patch = JSONWriter()
        patch.object { out in
            out.key("data")
            out.object { out in
                out.key("message")
                out.string(text.message)
                for key in ["title", "body"] {
                    out.key(key)
                    out.raw("null")
                }
            }
            Self.writeNoCollapseKey(to: &out)
        }
        note.overrides.append(("fcm", patch.text))
        if isForHuawei { note.overrides.append(("hms", patch.text)) }
        note.overrides.append(("shorten", Self.shorten))
        return note
    }
}

/// The person a push is for, with their own values.
struct Person: Hashable {
    let id: String
    let name: String
    let locale: String
    /// nil if unknown.
    let unread: Int64?
    let channelUnread: Int64?
    let sound: String
    /// Chose the template that hides the text.
    let hidesText: Bool

    init(_ recipient: Recipient, sound: String) {
        func text(_ name: String) -> String { recipient.attribute(name) ?? "" }
        id = recipient.device.user
        name = text("name")
        locale = recipient.device.locale
        unread = Int64(text("unread"))
        channelUnread = Int64(text("channel_unread"))
        self.sound = text("sound").isEmpty ? sound : text("sound")
        hidesText = text("template") == "alternative"
    }
}
