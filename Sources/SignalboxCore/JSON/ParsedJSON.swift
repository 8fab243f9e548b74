/// JSON that was parsed once and is read by many, on any thread.
public protocol ParsedJSON: Sendable {
    /// A copy of the value at these names, one below the other; nil: there is none.
    ///
    /// A number picks an array's element; no names: the whole value.
    func value(at names: [String]) -> JSONValue?
}

extension JSONValue: ParsedJSON {
    /// The value at these names, one below the other.
    public func value(at names: [String]) -> JSONValue? {
        var value = self
        for name in names {
            guard let next = value[name] ?? Int(name).flatMap({ value[$0] }) else { return nil }
            value = next
        }
        return value
    }
}

/// JSON text with its parse beside it.
public struct JSONText: Sendable, ExpressibleByStringLiteral {
    /// The text.
    public let text: String
    /// The same, parsed; nil: nobody has done that yet.
    public let parsed: (any ParsedJSON)?

    /// Puts a text and its parse together.
    public init(_ text: String, parsed: (any ParsedJSON)? = nil) {
        self.text = text
        self.parsed = parsed
    }

    /// Text that nobody has parsed.
    public init(stringLiteral text: String) { self.init(text) }
}
