/// Why a template cannot be read.
public struct TemplateFault: Error, Sendable, Hashable {
    /// Byte offset of the fault in the template's text.
    public let offset: Int
    /// What is wrong and what to write instead.
    public let message: String
}

/// Text with `{{ field }}` places, parsed once and filled per event.
///
/// A place may have filters: `{{ name | default: "someone" }}`, `{{ body | truncate: 80 }}`. A field
/// that is missing, null, or not a scalar counts as empty. `{{{{` stands for a literal `{{`.
public struct Template: Sendable, Hashable {
    enum Filter: Sendable, Hashable {
        case fallback(String)
        case truncate(Int)
    }
    enum Segment: Sendable, Hashable {
        case text(String)
        case field(FieldPath, [Filter])
    }

    let segments: [Segment]

    /// It reads a field of the recipient, so its text may differ from one to the next.
    public var readsRecipient: Bool { reads(.recipient) }

    /// It reads a field of this kind.
    func reads(_ root: FieldPath.Root) -> Bool {
        segments.contains { segment in
            if case .field(let path, _) = segment { path.root == root } else { false }
        }
    }

    /// The text of a template without places, or nil.
    public var constant: String? {
        switch segments.count {
        case 0: return ""
        case 1:
            if case .text(let text) = segments[0] { return text }
            return nil
        default: return nil
        }
    }

    /// Fills the places.
    public func render(_ fields: EventFields, recipient: Recipient? = nil) -> String {
        var out = ""
        for segment in segments {
            switch segment {
            case .text(let text): out += text
            case .field(let path, let filters):
                var text = fields.value(path, recipient: recipient)?.scalarText ?? ""
                for filter in filters { text = filter.apply(to: text) }
                out += text
            }
        }
        return out
    }

    /// Reads a template.
    public static func parse(_ text: String) throws(TemplateFault) -> Template {
        var parser = TemplateParser(text)
        return Template(segments: try parser.parse())
    }
}

extension Template.Filter {
    func apply(to text: String) -> String {
        switch self {
        case .fallback(let other): return text.isEmpty ? other : text
        case .truncate(let count):
            guard text.count > count else { return text }
            return text.prefix(max(0, count - 1)) + "…"
        }
    }
}
