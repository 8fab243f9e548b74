extension Template {
    /// Parses a template; `texts` are the localized texts that it may name.
    public static func parse(
        _ text: String, texts: [String: TextByLocale] = [:]
    ) throws(TemplateFault) -> Template {
        var parser = TemplateParser(text, texts: texts)
        return Template(segments: try parser.parse())
    }
}

/// Parses the text of a `Template`.
private struct TemplateParser {
    private let text: String
    private let utf8: [UInt8]
    private let texts: [String: TextByLocale]
    private var offset = 0

    init(_ text: String, texts: [String: TextByLocale]) {
        self.text = text
        self.texts = texts
        utf8 = Array(text.utf8)
    }

    mutating func parse() throws(TemplateFault) -> [Template.Segment] {
        var segments: [Template.Segment] = []
        var plain: [UInt8] = []
        while offset < utf8.count {
            if starts(with: "{{{{") {
                plain.append(contentsOf: "{{".utf8)
                offset += 4
            } else if starts(with: "{{") {
                if !plain.isEmpty { segments.append(.text(String(decoding: plain, as: UTF8.self))) }
                plain = []
                segments.append(try place())
            } else {
                plain.append(utf8[offset])
                offset += 1
            }
        }
        if !plain.isEmpty { segments.append(.text(String(decoding: plain, as: UTF8.self))) }
        return segments
    }

    private func starts(with mark: String) -> Bool {
        utf8[offset...].starts(with: mark.utf8)
    }

    private mutating func place() throws(TemplateFault) -> Template.Segment {
        let open = offset
        offset += 2
        let start = offset
        while offset < utf8.count, !starts(with: "}}") {
            if utf8[offset] == UInt8(ascii: "\"") { try skipQuoted() } else { offset += 1 }
        }
        guard offset < utf8.count else {
            throw TemplateFault(offset: open, message: "\"{{\" is never closed; add \"}}\"")
        }
        let inner = String(decoding: utf8[start..<offset], as: UTF8.self)
        offset += 2
        var parts = Self.splitOutsideQuotes(inner)
        let name = Self.trim(parts.removeFirst())
        guard let path = FieldPath(name) else {
            throw TemplateFault(
                offset: start,
                message: "\"\(name)\" is not a field; write a name such as {{ ticket_id }}")
        }
        if parts.contains(where: { Self.trim($0) == "json" }) {
            guard parts.count == 1, !name.hasPrefix("texts.") else {
                throw TemplateFault(
                    offset: start,
                    message: "json stands alone behind a field: {{ order | json }}")
            }
            return .json(path)
        }
        var filters: [Template.Filter] = []
        for part in parts { filters.append(try filter(Self.trim(part), at: start)) }
        guard name.hasPrefix("texts."), path.names.count == 2 else { return .field(path, filters) }
        guard let text = texts[path.names[1]] else {
            let hint = Suggestion.hint(for: path.names[1], among: texts.keys.sorted())
            throw TemplateFault(
                offset: start,
                message: "there is no \"\(path.names[1])\" in texts\(hint); "
                    + "a field of the event is {{ data.\(name) }}")
        }
        return .localized(text, filters)
    }

    /// The argument of `truncate`. "…" has three bytes.
    private func count(
        _ argument: String, of filter: String, _ unit: String, least: Int, at offset: Int
    ) throws(TemplateFault) -> Int {
        guard let count = Int(argument), count >= least else {
            throw TemplateFault(
                offset: offset,
                message: "\(filter) needs a number of \(unit), at least \(least): "
                    + "{{ body | \(filter): 80 }}")
        }
        return count
    }

    private mutating func skipQuoted() throws(TemplateFault) {
        let open = offset
        offset += 1
        while offset < utf8.count, utf8[offset] != UInt8(ascii: "\"") { offset += 1 }
        guard offset < utf8.count else {
            throw TemplateFault(offset: open, message: "a quoted text is never closed")
        }
        offset += 1
    }

    private func filter(_ text: String, at offset: Int) throws(TemplateFault) -> Template.Filter {
        let parts = text.split(separator: ":", maxSplits: 1).map { Self.trim(String($0)) }
        let argument = parts.count == 2 ? parts[1] : ""
        switch parts.first ?? "" {
        case "default":
            guard argument.count >= 2, argument.hasPrefix("\""), argument.hasSuffix("\"") else {
                throw TemplateFault(
                    offset: offset,
                    message: "default needs a quoted text: {{ name | default: \"someone\" }}")
            }
            return .fallback(String(argument.dropFirst().dropLast()))
        case "truncate":
            return .truncate(
                try count(argument, of: "truncate", "characters", least: 1, at: offset))
        case "truncate_bytes":
            return .truncateBytes(
                try count(argument, of: "truncate_bytes", "bytes", least: 3, at: offset))
        case let name:
            let known = ["default", "truncate", "truncate_bytes", "json"]
            let hint = Suggestion.hint(for: name, among: known)
            throw TemplateFault(
                offset: offset,
                message: "unknown filter \"\(name)\"\(hint); known: "
                    + known.joined(separator: ", "))
        }
    }

    private static func splitOutsideQuotes(_ text: String) -> [String] {
        var parts = [""]
        var isQuoted = false
        for character in text {
            if character == "\"" { isQuoted.toggle() }
            if character == "|", !isQuoted {
                parts.append("")
            } else {
                parts[parts.count - 1].append(character)
            }
        }
        return parts
    }

    private static func trim(_ text: String) -> String {
        let rest = text.drop { $0 == " " || $0 == "\t" }
        guard let last = rest.lastIndex(where: { $0 != " " && $0 != "\t" }) else { return "" }
        return String(rest[...last])
    }
}
