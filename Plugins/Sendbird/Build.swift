import SignalboxPluginKit

/// Which of a user's devices get a push: the table of the documentation.
///
/// | | one device | several |
/// | --- | --- | --- |
/// | `all_offline` | if it is offline | if every one is offline |
/// | `any_offline` | if it is offline | each that is offline |
struct Presence {
    let rule: Config.MultiDevice

    /// Why a device gets none; nil: it does.
    func skip(_ recipient: Recipient) -> String? {
        func isTrue(_ name: String) -> Bool {
            recipient.attribute(name) == "true"
        }
        switch rule {
        case .always: return nil
        // Sendbird knows of connections that the registry was not told of.
        case .allOffline: return isTrue("user_online") || isTrue("member_online") ? "online" : nil
        case .anyOffline: return isTrue("online") ? "online" : nil
        }
    }
}

extension Sendbird {
    func build(_ input: borrowing BuildInput, _ sink: borrowing BuildSink) throws(PluginError) {
        switch input.type {
        case "message.sent": try buildMessage(input, sink)
        case "message.read": try buildBadge(input, sink)
        case "desk.message.sent":
            // What agents alone may see is among these, and the Desk plugin knows which.
            for index in 0..<input.recipientCount { sink.skip(index, "desk_message") }
        default: throw PluginError(.unsupported, "it builds message.sent and message.read")
        }
    }

    private func buildMessage(
        _ input: borrowing BuildInput, _ sink: borrowing BuildSink
    ) throws(PluginError) {
        let data = try input.data()
        let options = try input.options()
        let isHidden = options["template"]?.string == "alternative"
        let presence = Presence(rule: config.multiDevice)
        var order: [PushObject.Person] = []
        var targets: [PushObject.Person: [BuildSink.Target]] = [:]
        for index in 0..<input.recipientCount {
            let recipient = input.recipient(index)
            if let reason = presence.skip(recipient) {
                sink.skip(index, reason)
                continue
            }
            let person = person(recipient)
            if targets[person] == nil { order.append(person) }
            let badge = config.hasBadge ? person.unread.map { Int32(clamping: $0) } : nil
            targets[person, default: []].append(.init(index, badge: badge))
        }
        for person in order {
            let text = PushText(
                data, locale: person.locale, isHidden: isHidden, config: config)
            let object = PushObject(data: data, text: text, person: person, config: config)
            let note = notification(
                object, channel: data.at("/channel/channel_url")?.string ?? "",
                isAlertText: options["alert"]?.string == "string")
            try sink.emit(note, to: targets[person] ?? [])
        }
    }

    private func person(_ recipient: Recipient) -> PushObject.Person {
        func text(_ name: String) -> String {
            recipient.attribute(name) ?? ""
        }
        let sound = text("sound")
        return PushObject.Person(
            id: recipient.device.user, name: text("name"), locale: recipient.device.locale,
            unread: Int64(text("unread")), channelUnread: Int64(text("channel_unread")),
            sound: sound.isEmpty ? config.sound : sound)
    }

    private func notification(
        _ object: PushObject, channel: String, isAlertText: Bool
    ) -> Notification {
        let text = object.text
        var note = Notification()
        note.title = text.title
        note.body = text.body
        note.sound = object.person.sound
        note.thread = channel
        note.priority = .high
        note.isDataOnly = true
        var keys = JSONWriter()
        keys.object { out in
            out.key("sendbird")
            out.raw(object.json)
        }
        note.data = keys.text
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
        // Sendbird's own shape for FCM: {"message": text, "sendbird": JSON text}, and nothing else.
        var patch = JSONWriter()
        patch.object { out in
            out.key("data")
            out.object { out in
                out.key("message")
                out.string(text.message)
                for key in ["title", "body", "sound", "thread"] {
                    out.key(key)
                    out.raw("null")
                }
            }
        }
        note.overrides.append(("fcm", patch.text))
        return note
    }

    /// `message_read` brings the number on the icon up to date, and shows nothing.
    private func buildBadge(
        _ input: borrowing BuildInput, _ sink: borrowing BuildSink
    ) throws(PluginError) {
        var targets: [BuildSink.Target] = []
        for index in 0..<input.recipientCount {
            let recipient = input.recipient(index)
            let unread = recipient.attribute("unread").flatMap { Int32($0) }
            guard config.hasBadge, let unread else {
                sink.skip(index, "no_badge")
                continue
            }
            guard recipient.device.platform == "ios" else {
                // Android has no number to set from afar.
                sink.skip(index, "no_badge_on_platform")
                continue
            }
            targets.append(.init(index, badge: unread))
        }
        guard !targets.isEmpty else { return }
        var note = Notification()
        note.badge = 0
        note.priority = .normal
        try sink.emit(note, to: targets)
    }
}
