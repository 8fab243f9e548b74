import SignalboxPluginKit

/// The JSON of `config.body`, with `{{ title }}` and others in its texts.
enum Placeholders {
    /// Finds a placeholder that nothing stands for.
    static func check(_ json: JSON) throws(PluginError) {
        switch json.kind {
        case .object: for member in json.members { try check(member.value) }
        case .array: for element in json.elements { try check(element) }
        case .string:
            for part in parts(of: json.string ?? "") {
                guard case .name(let name) = part else { continue }
                guard Content.names.contains(name) || name == "data" || name.hasPrefix("data.")
                else {
                    throw PluginError(
                        .invalid,
                        "config.body has the placeholder \(name.prefix(40)); known: "
                            + Content.names.joined(separator: ", ") + ", data, data.NAME")
                }
            }
        default: break
        }
    }

    static func write(
        _ template: JSON, _ content: Content, _ data: JSON?, to out: inout JSONWriter
    ) {
        switch template.kind {
        case .object:
            out.object { out in
                for member in template.members {
                    out.key(member.key)
                    write(member.value, content, data, to: &out)
                }
            }
        case .array:
            out.array { out in
                for element in template.elements { write(element, content, data, to: &out) }
            }
        case .string: write(parts(of: template.string ?? ""), content, data, to: &out)
        default: out.value(template)
        }
    }

    private static func write(
        _ parts: [Part], _ content: Content, _ data: JSON?, to out: inout JSONWriter
    ) {
        // Alone, a value of data keeps its kind.
        if parts.count == 1, case .name(let name) = parts[0], name.hasPrefix("data") {
            if let value = value(name, data) { return out.value(value) }
            return out.raw("null")
        }
        out.string(
            parts.map { part in
                switch part {
                case .text(let text): text
                case .name(let name):
                    content.text(name) ?? value(name, data).map { $0.scalarText ?? $0.text } ?? ""
                }
            }.joined())
    }

    /// `data`, or `data.order.id`.
    private static func value(_ name: String, _ data: JSON?) -> JSON? {
        var value = data
        for key in name.split(separator: ".").dropFirst() { value = value?[String(key)] }
        return value
    }

    private enum Part {
        case text(String)
        case name(String)
    }

    private static func parts(of text: String) -> [Part] {
        var out: [Part] = []
        var rest = text[...]
        while let open = rest.firstRange(of: "{{"),
            let close = rest[open.upperBound...].firstRange(of: "}}")
        {
            let before = rest[..<open.lowerBound]
            if !before.isEmpty { out.append(.text(String(before))) }
            let name = rest[open.upperBound..<close.lowerBound]
            out.append(.name(name.split(separator: " ").joined()))
            rest = rest[close.upperBound...]
        }
        if !rest.isEmpty || out.isEmpty { out.append(.text(String(rest))) }
        return out
    }
}
