/// Parsed JSON; may be read by several threads at once.
public protocol ParsedJSON: Sendable {
    /// A copy of the value at a path of names; nil if it is missing.
    ///
    /// A number picks an array's element. An empty path means the whole value.
    func value(at names: [String]) -> JSONValue?
}

extension JSONValue: ParsedJSON {
    /// The value at a path of names.
    public func value(at names: [String]) -> JSONValue? {
        var value = self
        for name in names {
            guard let next = value[name] ?? Int(name).flatMap({ value[$0] }) else { return nil }
            value = next
        }
        return value
    }
}

/// JSON text, with its parsed form if there is one.
public struct JSONText: Sendable, ExpressibleByStringLiteral {
    /// The text.
    public let text: String
    /// The parsed text; nil if it was not parsed yet.
    public let parsed: (any ParsedJSON)?

    /// Combines a text with its parsed form.
    public init(_ text: String, parsed: (any ParsedJSON)? = nil) {
        self.text = text
        self.parsed = parsed
    }

    /// Text that is not parsed yet.
    public init(stringLiteral text: String) { self.init(text) }
}
