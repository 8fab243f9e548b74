import SignalboxPluginKit

/// What the app itself gets: a JSON object of texts, which Huawei transports as one text.
enum Data {
    static func write(_ pairs: [(String, String)], to out: inout JSONWriter) {
        out.object { out in
            for (key, value) in pairs {
                out.key(key)
                out.string(value)
            }
        }
    }

    /// The data of a quick app: its engine shows `pushtype` 0, and hands `pushtype` 1 to the app.
    static func writeQuickApp(
        _ pairs: [(String, String)], of content: PushNotification, isShown: Bool,
        to out: inout JSONWriter
    ) {
        out.object { out in
            out.member("pushtype", isShown ? 0 : 1)
            out.key("pushbody")
            out.object { out in
                guard isShown else {
                    var data = JSONWriter()
                    write(pairs, to: &data)
                    out.member("data", data.text)
                    return
                }
                out.member("title", content.title)
                out.member("description", content.body)
                // A page of the quick app; other links are in the parameters.
                if content.link.hasPrefix("/") { out.member("page", content.link) }
                // Without parameters the engine shows nothing.
                out.key("params")
                write(pairs, to: &out)
            }
        }
    }
}
