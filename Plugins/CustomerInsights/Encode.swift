import SignalboxPluginKit

/// The message of a journey.
enum Message {
    /// Field names in the request, and in the event's data.
    static let fields = [
        ("Title", "title"), ("Body", "body"), ("ImageUrl", "imageUrl"), ("Link", "link"),
        ("OriginalLink", "originalLink"), ("TrackingId", "trackingId"),
    ]
    private static let keys = ["link", "originalLink", "trackingId", "imageUrl"]
    private static let shorten = """
        {"places":["/title","/body"],\
        "omit":["/imageUrl","/data/imageUrl","/originalLink","/data/originalLink"]}
        """

    /// The payload that Customer Insights sends: on iOS an alert with a `data` object, on Android data
    /// alone.
    static func notification(_ data: JSON) -> PushNotification {
        func text(_ key: String) -> String { data[key]?.string ?? "" }
        var note = PushNotification()
        note.title = text("title")
        note.body = text("body")
        note.sound = "default"
        note.priority = .high
        note.isDataOnly = true
        // The app's extension fetches the image.
        note.isMutable = !text("imageUrl").isEmpty
        var own = JSONWriter()
        own.object { out in
            out.key("data")
            out.object { out in
                for key in keys {
                    out.key(key)
                    out.string(text(key))
                }
            }
        }
        note.data = own.text
        var patch = JSONWriter()
        patch.object { out in
            out.key("data")
            out.object { out in
                out.key("data")
                out.raw("null")
                for key in ["title", "body"] + keys {
                    out.key(key)
                    out.string(text(key))
                }
            }
        }
        // On Android the texts are in the data. Links and ids are never shortened; the picture, and where the link led before it was
        // tracked, may be left out.
        note.overrides = [
            ("fcm", patch.text), ("shorten", shorten),
        ]
        return note
    }
}

extension CustomerInsights {
    func build(_ input: borrowing BuildInput, _ sink: borrowing BuildSink) throws(PluginError) {
        let all = (0..<input.recipientCount).map { BuildSink.Target($0) }
        guard input.type == "registration.requested" else {
            try sink.emit(Message.notification(try input.data()), to: all)
            return
        }
        var note = PushNotification()
        note.isDryRun = true
        note.isSilent = true
        note.priority = .normal
        try sink.emit(note, to: all)
    }
}
