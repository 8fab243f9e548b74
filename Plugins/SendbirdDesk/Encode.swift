import SignalboxPluginKit

/// What the app gets beside the text: the part of the `sendbird` object that the SDK looks for.
enum Payload {
    /// `{"sendbird": {...}, "desk": {"kind", "ticket"}}`.
    static func write(
        _ data: JSON, kind: String, recipient: (id: String, name: String), host: Host
    ) -> String {
        func string(_ pointer: String) -> String { data.at(pointer)?.string ?? "" }
        func number(_ pointer: String) -> Int64 {
            let value = data.at(pointer)
            return value?.integer ?? value?.string.flatMap { Int64($0) } ?? 0
        }
        var out = JSONWriter()
        out.object { out in
            out.key("sendbird")
            out.object { out in
                out.member("category", "messaging:offline_notification")
                out.member("type", string("/type"))
                out.member("message", string("/payload/message"))
                out.member("custom_type", string("/payload/custom_type"))
                out.key("message_id")
                out.integer(number("/payload/message_id"))
                out.key("created_at")
                out.integer(number("/payload/created_at"))
                out.member("app_id", string("/app_id"))
                out.key("channel")
                out.object { out in
                    out.member("channel_url", string("/channel/channel_url"))
                    out.member("name", string("/channel/name"))
                    out.member("custom_type", string("/channel/custom_type"))
                }
                out.member("channel_type", "group_messaging")
                out.key("sender")
                out.object { out in
                    out.member("id", string("/sender/user_id"))
                    out.member("name", string("/sender/nickname"))
                    out.member("profile_url", string("/sender/profile_url"))
                }
                out.key("recipient")
                out.object { out in
                    out.member("id", recipient.id)
                    out.member("name", recipient.name)
                }
            }
            out.key("desk")
            out.object { out in
                out.member("kind", kind)
                if let ticket = Ticket.find(data, host: host) {
                    out.key("ticket")
                    Ticket.write(ticket, host: host, to: &out)
                }
            }
        }
        return out.text
    }
}

extension SendbirdDesk {
    func build(_ input: borrowing BuildInput, _ sink: borrowing BuildSink) throws(PluginError) {
        let data = try input.data()
        let options = try input.options()
        let hasMessage = data.at("/payload/message_id") != nil
        var kind = "event"
        if hasMessage || data["payload"] != nil {
            switch Kind.decide(data, host: host) {
            case .hide(let reason):
                for index in 0..<input.recipientCount { sink.skip(index, reason) }
                return
            case .push(let found): kind = hasMessage ? found.rawValue : "event"
            }
        }
        guard hasMessage || options["events"]?.boolean == true else {
            for index in 0..<input.recipientCount { sink.skip(index, "no_message") }
            return
        }
        let sender = data.at("/sender/user_id")?.string ?? ""
        var order: [Person] = []
        var targets: [Person: [BuildSink.Target]] = [:]
        for index in 0..<input.recipientCount {
            let recipient = input.recipient(index)
            if let reason = skip(recipient, sender: sender) {
                sink.skip(index, reason)
                continue
            }
            let person = Person(recipient)
            if targets[person] == nil { order.append(person) }
            targets[person, default: []].append(.init(index, badge: person.badge))
        }
        for person in order {
            var note = Notification()
            // An event's words are the route's, never a payload's that nobody documented.
            note.title = hasMessage ? data.at("/sender/nickname")?.string ?? "" : ""
            note.body = hasMessage ? data.at("/payload/message")?.string ?? "" : ""
            if hasMessage, note.body.isEmpty, data["type"]?.string == "FILE" {
                note.body =
                    data.at("/payload/filename")?.string ?? data.at("/payload/name")?.string ?? ""
            }
            note.sound = config.sound
            note.priority = .high
            note.thread = data.at("/channel/channel_url")?.string ?? ""
            note.category = "desk_\(kind)"
            note.isDataOnly = options["display"]?.string != "system"
            note.data = Payload.write(
                data, kind: kind, recipient: (person.id, person.name), host: host)
            try sink.emit(note, to: targets[person] ?? [])
        }
    }

    /// Agents and the sender get nothing; of the others each device by the rule of the dashboard.
    private func skip(_ recipient: Recipient, sender: String) -> String? {
        let user = recipient.device.user
        if !user.isEmpty, user == sender { return "sender" }
        if config.agentPrefixes.contains(where: { user.hasPrefix($0) }) { return "agent" }
        func isTrue(_ name: String) -> Bool {
            recipient.attribute(name) == "true"
        }
        switch config.multiDevice {
        case "all_offline":
            return isTrue("user_online") || isTrue("member_online") ? "online" : nil
        case "any_offline": return isTrue("online") ? "online" : nil
        default: return nil
        }
    }

    private struct Person: Hashable {
        var id: String
        var name: String
        var badge: Int32?

        init(_ recipient: Recipient) {
            id = recipient.device.user
            name = recipient.attribute("name") ?? ""
            badge = recipient.attribute("unread").flatMap { Int32($0) }
        }
    }
}
