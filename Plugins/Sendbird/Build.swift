import SendbirdPush
import SignalboxPluginKit

extension Sendbird {
    func build(_ input: borrowing BuildInput, _ sink: borrowing BuildSink) throws(PluginError) {
        switch input.type {
        case "message.sent":
            let push = MessagePush(
                try input.data(), options: try input.options(), settings: config.push)
            try push.emit(input, sink, skip: config.push.skip)
        case "message.deleted", "desk.message.deleted":
            try MessagePush.emitWithdrawal(try input.data(), input, sink)
        case "message.read": try buildBadge(input, sink)
        case "desk.message.sent":
            // Some of these are for agents only; the Desk plugin decides which.
            for index in 0..<input.recipientCount { sink.skip(index, "desk_message") }
        default:
            throw PluginError(
                .unsupported, "it builds message.sent, message.deleted and message.read")
        }
    }

    /// For `message_read`: updates the number on the icon, and shows nothing.
    private func buildBadge(
        _ input: borrowing BuildInput, _ sink: borrowing BuildSink
    ) throws(PluginError) {
        var targets: [BuildSink.Target] = []
        for index in 0..<input.recipientCount {
            let recipient = input.recipient(index)
            let unread = recipient.attribute("unread").flatMap { Int32($0) }
            guard config.push.hasBadge, let unread else {
                sink.skip(index, "no_badge")
                continue
            }
            guard recipient.device.platform == "ios" else {
                // On Android the number cannot be set remotely.
                sink.skip(index, "no_badge_on_platform")
                continue
            }
            targets.append(.init(index, badge: unread))
        }
        guard !targets.isEmpty else { return }
        var note = PushNotification()
        note.badge = 0
        note.priority = .normal
        try sink.emit(note, to: targets)
    }
}
