import SendbirdPush
import SignalboxPluginKit

extension SendbirdDesk {
    func build(_ input: borrowing BuildInput, _ sink: borrowing BuildSink) throws(PluginError) {
        let data = try input.data()
        // Withdraws from everybody, regardless of presence. For a ticket, the route sets the collapse key.
        if ["desk.message.deleted", "ticket.closed"].contains(input.type) {
            try MessagePush.emitWithdrawal(data, input, sink)
            return
        }
        let options = try input.options()
        let hasMessage = data.at("/payload/message_id") != nil
        var kind = "event"
        if hasMessage || data["payload"] != nil {
            switch decide(data) {
            case .hide(let reason):
                for index in 0..<input.recipientCount { sink.skip(index, reason) }
                return
            case .push(let found): kind = hasMessage ? found.rawValue : "event"
            }
        }
        guard hasMessage else {
            try buildEvent(data, options, input, sink)
            return
        }
        let push = MessagePush(data, options: options, settings: config.push)
        let sender = data.at("/sender/user_id")?.string ?? ""
        try push.emit(
            input, sink, skip: { self.skip($0, sender: sender) },
            more: { self.writeDesk(data, kind: kind, to: &$0) },
            adjust: { note in
                note.category = "desk_\(kind)"
                note.isDataOnly = options["display"]?.string != "system"
            })
    }

    /// Desk's own webhooks: the route sets the text, because their bodies are undocumented.
    private func buildEvent(
        _ data: JSON, _ options: JSON, _ input: borrowing BuildInput, _ sink: borrowing BuildSink
    ) throws(PluginError) {
        guard options["events"]?.boolean == true else {
            for index in 0..<input.recipientCount { sink.skip(index, "no_message") }
            return
        }
        let sender = data.at("/sender/user_id")?.string ?? ""
        var targets: [BuildSink.Target] = []
        for index in 0..<input.recipientCount {
            if let reason = skip(input.recipient(index), sender: sender) {
                sink.skip(index, reason)
            } else {
                targets.append(.init(index))
            }
        }
        guard !targets.isEmpty else { return }
        var note = PushNotification()
        note.sound = config.push.sound
        note.priority = .high
        note.thread = data.at("/channel/channel_url")?.string ?? ""
        note.category = "desk_event"
        note.isDataOnly = options["display"]?.string != "system"
        var members = JSONWriter()
        members.object { writeDesk(data, kind: "event", to: &$0) }
        note.data = members.text
        note.overrides = [("shorten", MessagePush.shorten)]
        try sink.emit(note, to: targets)
    }

    private func writeDesk(_ data: JSON, kind: String, to out: inout JSONWriter) {
        Ticket.writeDesk(
            data, kind: kind, ticket: Ticket.find(data, host: host), hasTicket: true, host: host,
            to: &out)
    }

    /// Agents and the sender get nothing; for others the dashboard's rule applies to each device.
    private func skip(_ recipient: Recipient, sender: String) -> String? {
        let user = recipient.device.user
        if !user.isEmpty, user == sender { return "sender" }
        if config.isAgent(user) { return "agent" }
        return config.push.skip(recipient)
    }
}
