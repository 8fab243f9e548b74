import SignalboxPluginKit

extension ZendeskMessaging {
    /// The agent's name as title, the text, and what the app needs to open the conversation.
    func build(_ input: borrowing BuildInput, _ sink: borrowing BuildSink) throws(PluginError) {
        let data = try input.data()
        let options = try input.options()
        func text(_ pointer: String) -> String { data.at(pointer)?.scalarText ?? "" }
        var note = PushNotification()
        note.title = text("/message/author/displayName")
        note.body = text("/text")
        note.sound = config.sound
        note.priority = .high
        note.thread = text("/conversation/id")
        note.isDataOnly = options["display"]?.string == "app"
        var keys = JSONWriter()
        keys.object { out in
            out.member("conversation_id", text("/conversation/id"))
            out.member("app_id", text("/app_id"))
            out.member("message_id", text("/message/id"))
        }
        note.data = keys.text
        try sink.emit(note, to: (0..<input.recipientCount).map { BuildSink.Target($0) })
    }

    static var optionsSchema: String? { Config.optionsSchema }
}
