/// A text in the app's own resources: its name there, and the values of its placeholders.
public struct LocalizedText: Sendable {
    /// Name of the text in the app's resources.
    public var key: String
    /// The values of the text's placeholders, in order.
    public var arguments: [String]
}

/// Texts of a notification that are in the app's own resources, by field.
public struct LocalizedTexts: Sendable {
    /// The title; nil for the content's own text.
    public var title: LocalizedText?
    /// The subtitle.
    public var subtitle: LocalizedText?
    /// The body.
    public var body: LocalizedText?

    /// Reads the part `localized` of a notification.
    public init(_ note: PushNotification, _ host: Host) throws(PluginError) {
        guard let part = note.part("localized") else { return }
        let json = try host.parse(part.utf8.span)
        func text(_ field: String) -> LocalizedText? {
            guard let key = json[field]?["loc_key"]?.string, !key.isEmpty else { return nil }
            let arguments = json[field]?["loc_args"]?.elements.compactMap(\.string) ?? []
            return LocalizedText(key: key, arguments: arguments)
        }
        title = text("title")
        subtitle = text("subtitle")
        body = text("body")
    }

    /// Writes the members of an `alert` of `aps`: each text itself, or its name in the app.
    public func writeAlert(of content: PushNotification, to out: inout JSONWriter) {
        func write(_ own: String, _ text: String, _ localized: LocalizedText?, _ prefix: String) {
            guard let localized else {
                out.member(own, text)
                return
            }
            out.member("\(prefix)loc-key", localized.key)
            out.strings("\(prefix)loc-args", localized.arguments)
        }
        write("title", content.title, title, "title-")
        write("subtitle", content.subtitle, subtitle, "subtitle-")
        write("body", content.body, body, "")
    }

    /// Whether no text is given.
    public var isEmpty: Bool { title == nil && subtitle == nil && body == nil }
}

extension JSONWriter {
    /// Writes a member with a list of texts, unless the list is empty.
    public mutating func strings(_ name: String, _ texts: [String]) {
        guard !texts.isEmpty else { return }
        key(name)
        array { out in
            for text in texts { out.string(text) }
        }
    }
}
