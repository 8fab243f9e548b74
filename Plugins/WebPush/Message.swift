import SignalboxPluginKit

/// The JSON that the page's service worker gets.
enum Message {
    /// The message, with shortened texts if necessary; nil if it does not fit.
    static func bytes(
        _ note: PushNotification, badge: Int32?, id: String, _ host: Host
    ) throws(PluginError) -> [UInt8]? {
        var data: JSON?
        if !note.data.isEmpty { data = try host.parse(note.data.utf8.span) }
        var writer = JSONWriter()
        writer.object { out in
            out.member("id", id)
            if note.isWithdrawn {
                out.member("withdraw", note.collapse)
                return
            }
            out.member("title", title(note))
            out.member("body", note.body)
            out.member("image", note.imageURL)
            out.member("link", note.link)
            out.member("tag", note.collapse.isEmpty ? note.thread : note.collapse)
            if let badge = badge ?? note.badge {
                out.member("badge", badge)
            }
            if note.isSilent || note.title.isEmpty && note.subtitle.isEmpty && note.body.isEmpty {
                out.member("silent", true)
            }
            if let data {
                out.key("data")
                out.value(data)
            }
        }
        let whole = try note.overridden(writer, family: "webpush", host).bytes
        var limit = PayloadLimit(bytesMax: Encryption.plainBytesMax)
        if whole.count <= limit.bytesMax { return whole }
        limit.data = "/data"
        limit.places = [(.body, "/body"), (.title, "/title")]
        return try? host.fitted(whole, of: note, to: limit)
    }

    /// Browsers have no second line.
    private static func title(_ note: PushNotification) -> String {
        [note.title, note.subtitle].filter { !$0.isEmpty }.joined(separator: " · ")
    }
}
