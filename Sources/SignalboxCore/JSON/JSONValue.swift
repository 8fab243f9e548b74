/// A JSON value as routing and configuration see it.
///
/// Members keep their order.
public enum JSONValue: Sendable, Hashable {
    /// A member of an object.
    public struct Member: Sendable, Hashable {
        /// The member's name.
        public var key: String
        /// The member's value.
        public var value: JSONValue

        /// Makes a member.
        public init(_ key: String, _ value: JSONValue) {
            self.key = key
            self.value = value
        }
    }

    case null
    case bool(Bool)
    case integer(Int64)
    /// A number with a fraction, an exponent or more than 63 bits, as JSON text.
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([Member])

    /// The first member with this name, or nil.
    public subscript(key: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.key == key }?.value
    }

    /// The element at this index, or nil.
    public subscript(index: Int) -> JSONValue? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }

    /// The text of a string, or nil.
    public var string: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The value of an integer, or nil.
    public var integer: Int64? {
        guard case .integer(let value) = self else { return nil }
        return value
    }

    /// Text for a template: a string unchanged, other scalars as JSON, null as an empty string; nil for
    /// arrays and objects.
    public var scalarText: String? {
        switch self {
        case .null: ""
        case .bool(let value): value ? "true" : "false"
        case .integer(let value): String(value)
        case .number(let text): text
        case .string(let text): text
        case .array, .object: nil
        }
    }

    /// Merges `other` into this value: objects member by member; anything else is replaced.
    ///
    /// A null in `other` removes the member (RFC 7396).
    public func merging(_ other: JSONValue) -> JSONValue {
        guard case .object(let patch) = other else { return other }
        var members: [Member] = []
        if case .object(let own) = self { members = own }
        for member in patch {
            let index = members.firstIndex { $0.key == member.key }
            if member.value == .null {
                if let index { members.remove(at: index) }
            } else if let index {
                members[index].value = members[index].value.merging(member.value)
            } else {
                members.append(Member(member.key, JSONValue.null.merging(member.value)))
            }
        }
        return .object(members)
    }
}
