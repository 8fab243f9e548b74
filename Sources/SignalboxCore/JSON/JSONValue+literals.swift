extension JSONValue: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral,
    ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral
{
    /// An object, in the order of the literal.
    public init(dictionaryLiteral members: (String, JSONValue)...) {
        self = .object(members.map { Member($0, $1) })
    }

    /// An array.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

    /// A string.
    public init(stringLiteral text: String) { self = .string(text) }

    /// An integer.
    public init(integerLiteral value: Int64) { self = .integer(value) }

    /// A boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
}
