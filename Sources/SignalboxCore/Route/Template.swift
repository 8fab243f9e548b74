/// Why a template is invalid.
public struct TemplateFault: Error, Sendable, Hashable, CustomStringConvertible {
    /// Byte offset of the error in the template's text.
    public let offset: Int
    /// What is wrong and what to write instead.
    public let message: String

    /// The message.
    public var description: String { message }
}

/// Text with `{{ field }}` placeholders, parsed once and rendered per event.
///
/// A placeholder may have filters: `{{ name | default: "someone" }}`, `{{ body | truncate: 80 }}`. A field
/// that is missing, null, or not a scalar counts as empty. `{{ texts.NAME }}` is a text in the recipient's
/// language. `{{ order | json }}` is the field's value as JSON. `{{{{` stands for a literal `{{`.
public struct Template: Sendable, Hashable {
    enum Filter: Sendable, Hashable {
        case fallback(String)
        /// To this many visible characters.
        case truncate(Int)
        /// To this many bytes of UTF-8.
        case truncateBytes(Int)
    }
    enum Segment: Sendable, Hashable {
        case text(String)
        case field(FieldPath, [Filter])
        case localized(TextByLocale, [Filter])
        /// The value as JSON; null if it is missing.
        case json(FieldPath)
    }

    let segments: [Segment]

    /// Whether it reads a field of the recipient, so that its text may differ between recipients.
    public var readsRecipient: Bool {
        segments.contains { segment in
            switch segment {
            case .text: false
            case .field(let path, _), .json(let path): path.root == .recipient
            // It depends on the recipient's language.
            case .localized: true
            }
        }
    }

    /// The text of a template without placeholders, or nil.
    public var constant: String? {
        switch segments.count {
        case 0: return ""
        case 1:
            if case .text(let text) = segments[0] { return text }
            return nil
        default: return nil
        }
    }

    /// The field whose value it stands for, with its type: it is `{{ field | json }}` and nothing else.
    var wholeValue: FieldPath? {
        guard segments.count == 1, case .json(let path) = segments[0] else { return nil }
        return path
    }

    /// Longest text that is kept, in bytes. More than any payload takes, but there may be one per recipient.
    private static let bytesMax = 16 * 1024

    /// The text, truncated to `bytesMax`.
    static func bounded(_ text: String) -> String {
        text.utf8.count <= bytesMax ? text : Filter.truncateBytes(bytesMax).apply(to: text)
    }

    /// Renders the template.
    public func render(_ fields: EventFields, recipient: Recipient? = nil) -> String {
        var out = ""
        for segment in segments {
            switch segment {
            case .text(let text): out += text
            case .field(let path, let filters):
                let text = fields.value(path, recipient: recipient)?.scalarText ?? ""
                out += filters.reduce(text) { $1.apply(to: $0) }
            case .localized(let texts, let filters):
                let text = texts.template(for: recipient?.device.locale ?? "")
                    .render(fields, recipient: recipient)
                out += filters.reduce(text) { $1.apply(to: $0) }
            case .json(let path):
                out += (fields.value(path, recipient: recipient) ?? .null).text
            }
        }
        return Self.bounded(out)
    }
}

extension Template.Filter {
    func apply(to text: String) -> String {
        switch self {
        case .fallback(let other): return text.isEmpty ? other : text
        case .truncate(let count):
            // Runs for each recipient, so it reads no further than necessary.
            guard
                let end = text.index(
                    text.startIndex, offsetBy: count - 1, limitedBy: text.endIndex),
                end < text.endIndex, text.index(after: end) < text.endIndex
            else { return text }
            return text[..<end] + "…"
        case .truncateBytes(let count):
            guard text.utf8.count > count else { return text }
            var bytes = "…".utf8.count
            let kept = text.prefix { character in
                bytes += character.utf8.count
                return bytes <= count
            }
            return kept + "…"
        }
    }
}
