import SignalboxPluginKit

/// What the app itself gets: a JSON object of texts, which Huawei transports as one text.
enum Data {
    /// The members: the content's own data, and what a data message needs for the app to show it.
    static func members(
        of content: PushNotification, _ localized: LocalizedTexts, isShown: Bool, _ host: Host
    ) throws(RenderFault) -> [(String, String)] {
        var pairs: [(String, String)] = []
        if content.isWithdrawn { pairs.append(("signalbox_withdraw", content.collapse)) }
        if !content.data.isEmpty {
            guard let json = try? host.parse(content.data.utf8.span), json.kind == .object else {
                throw .malformedData
            }
            for (key, value) in json.members where value.kind != .null {
                pairs.append((key, value.string ?? value.text))
            }
        }
        guard !content.isWithdrawn else { return pairs }
        func add(_ key: String, _ value: String) {
            guard !value.isEmpty, !pairs.contains(where: { $0.0 == key }) else { return }
            pairs.append((key, value))
        }
        func add(_ field: String, _ text: String, _ localized: LocalizedText?) {
            guard let localized else { return add(field, text) }
            add("\(field)_loc_key", localized.key)
            guard !localized.arguments.isEmpty else { return }
            var list = JSONWriter()
            list.array { out in for text in localized.arguments { out.string(text) } }
            add("\(field)_loc_args", list.text)
        }
        if !isShown, !content.isSilent, !content.isDryRun {
            // The app shows the notification itself, from these texts.
            add("title", content.title, localized.title)
            add("body", content.body, localized.body)
            add("image", content.imageURL)
        }
        add("link", content.link)
        return pairs
    }

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
