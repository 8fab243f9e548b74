import SignalboxPluginKit

extension Texts {
    /// Members of the event's data with text, either plain or by language:
    /// `"title": "Hello"` or `"title": { "en": "Hello", "de": "Hallo" }`.
    private static let texts = ["title", "subtitle", "body", "link", "image"]

    func build(_ input: borrowing BuildInput, _ sink: borrowing BuildSink) throws(PluginError) {
        let data = try input.data()
        let offered = Self.languages(data)
        var order: [String] = []
        var targets: [String: [BuildSink.Target]] = [:]
        for index in 0..<input.recipientCount {
            let recipient = input.recipient(index)
            // Platforms also write "pt_BR".
            let locale = recipient.device.locale.lowercased()
            let language = Language.best(
                for: String(locale.map { $0 == "_" ? "-" : $0 }), among: offered,
                otherwise: config.language)
            if targets[language] == nil { order.append(language) }
            let badge = recipient.attribute("badge").flatMap { Int32($0) }
            targets[language, default: []].append(.init(index, badge: badge))
        }
        for language in order {
            try sink.emit(notification(data, language), to: targets[language] ?? [])
        }
    }

    private func notification(_ data: JSON, _ language: String) -> PushNotification {
        var note = PushNotification()
        note.title = text("title", in: data, language)
        note.subtitle = text("subtitle", in: data, language)
        note.body = text("body", in: data, language)
        note.link = text("link", in: data, language)
        note.imageURL = text("image", in: data, language)
        note.sound = config.sound
        if let badge = data["badge"]?.integer { note.badge = Int32(clamping: badge) }
        if let own = data["payload"], own.kind == .object { note.data = own.text }
        note.isSilent = data["silent"]?.boolean ?? false
        return note
    }

    /// A plain text; or the one in this language, else in the instance's, else the first.
    private func text(_ key: String, in data: JSON, _ language: String) -> String {
        guard let value = data[key] else { return "" }
        if let plain = value.string { return plain }
        let members = value.members.map { (key: $0.key.lowercased(), text: $0.value.string) }
        let found =
            members.first { $0.key == language } ?? members.first { $0.key == config.language }
        return (found ?? members.first)?.text ?? ""
    }

    private static func languages(_ data: JSON) -> [String] {
        var out: [String] = []
        for text in texts {
            guard let value = data[text], value.kind == .object else { continue }
            for member in value.members where !out.contains(member.key.lowercased()) {
                out.append(member.key.lowercased())
            }
        }
        return out
    }
}

/// Looks up language tags (BCP 47) by RFC 4647: the tag, then ever shorter prefixes.
enum Language {
    static func best(
        for locale: String, among offered: [String], otherwise: String
    ) -> String {
        var tag = locale
        while !tag.isEmpty {
            if offered.contains(tag) { return tag }
            guard let cut = tag.lastIndex(of: "-") else { break }
            tag = String(tag[..<cut])
        }
        return otherwise
    }
}
