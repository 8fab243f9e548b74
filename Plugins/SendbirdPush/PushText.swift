import SignalboxPluginKit

/// The texts of a push: templates with their variables filled in.
struct PushText: Sendable {
    var title: String
    var body: String
    /// The sender's text, included as data; the alternative template hides it there, too.
    var message: String
    var isHidden: Bool

    init(_ data: JSON, locale: String, isHidden: Bool, settings: PushSettings) {
        self.isHidden = isHidden
        let isFile = data["type"]?.string == "FILE"
        let typed = data.at("/payload/message")?.string ?? ""
        let text = Self.translation(data.at("/payload/translations"), locale: locale) ?? typed
        let variables = [
            ("sender_name", data.at("/sender/nickname")?.string ?? ""), ("message", text),
            ("channel_name", data.at("/channel/name")?.string ?? ""),
            ("filename", Files.name(data)), ("file_type_friendly", Files.kind(data)),
        ]
        if isHidden {
            let safe = variables.filter { $0.0 != "message" && $0.0 != "filename" }
            title = Self.fill(settings.alternative.title, safe)
            body = Self.fill(settings.alternative.body, safe)
            message = body
        } else {
            title = Self.fill(settings.title, variables)
            // An admin message has no sender to name.
            let hasSender = data.at("/sender/nickname")?.string?.isEmpty == false
            let template = isFile ? settings.fileBody : settings.body
            body = Self.fill(hasSender ? template : Self.withoutSender(template), variables)
            message = typed
        }
    }

    /// `{sender_name}: {message}` becomes `{message}`.
    private static func withoutSender(_ template: String) -> String {
        let lead = "{sender_name}: "
        return template.hasPrefix(lead) ? String(template.dropFirst(lead.count)) : template
    }

    /// The translation for a locale (`de-AT`), or for its language.
    static func translation(_ translations: JSON?, locale: String) -> String? {
        guard let translations, !locale.isEmpty else { return nil }
        let wanted = locale.lowercased().map { $0 == "_" ? "-" : String($0) }.joined()
        let language = wanted.split(separator: "-").first.map { String($0) } ?? wanted
        var fallback: String?
        for member in translations.members {
            guard let text = member.value.string, !text.isEmpty else { continue }
            let key = member.key.lowercased().map { $0 == "_" ? "-" : String($0) }.joined()
            if key == wanted { return text }
            if key == language { fallback = text }
        }
        return fallback
    }

    /// Fills in `{name}`; unknown names stay unchanged.
    static func fill(_ template: String, _ variables: [(String, String)]) -> String {
        var out = ""
        var rest = template[...]
        while let open = rest.firstIndex(of: "{") {
            out += rest[..<open]
            let behind = rest[rest.index(after: open)...]
            guard let close = behind.firstIndex(of: "}") else {
                return out + rest[open...]
            }
            let name = String(behind[..<close])
            if let value = variables.first(where: { $0.0 == name })?.1 {
                out += value
            } else {
                out += "{\(name)}"
            }
            rest = behind[behind.index(after: close)...]
        }
        return out + rest
    }
}

/// The files of a message.
enum Files {
    static func name(_ data: JSON) -> String {
        data.at("/payload/filename")?.string ?? data.at("/payload/name")?.string
            ?? data.at("/payload/file/name")?.string
            ?? data.at("/payload/files/0/name")?.string ?? ""
    }

    /// `Audio`, `Image` or `Video`, as in the dashboard's templates; `File` for any other.
    static func kind(_ data: JSON) -> String {
        let places = ["/payload/type", "/payload/file/type", "/payload/files/0/type"]
        let type = places.lazy.compactMap { data.at($0)?.string }.first { !$0.isEmpty } ?? ""
        switch type.lowercased().prefix(6) {
        case "audio/": return "Audio"
        case "image/": return "Image"
        case "video/": return "Video"
        default: return "File"
        }
    }

    /// Writes the `files` of a push: the payload's own list, or one entry made from its file fields.
    static func write(_ data: JSON, to out: inout JSONWriter) {
        if let list = data.at("/payload/files"), list.kind == .array {
            out.raw(list.text)
            return
        }
        guard data["type"]?.string == "FILE" else {
            out.raw("[]")
            return
        }
        let payload = data.at("/payload/file") ?? data["payload"]
        out.array { out in
            out.object { out in
                out.member("name", Files.name(data))
                for key in ["url", "type", "size", "thumbnails", "require_auth"] {
                    guard let value = payload?[key], value.kind != .null else { continue }
                    out.key(key)
                    out.value(value)
                }
            }
        }
    }
}
