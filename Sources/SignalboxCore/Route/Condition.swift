internal import SignalboxPattern

/// The `when:` of a route: the condition that an event must meet.
public indirect enum Condition: Sendable, Hashable {
    /// All of them hold; always true if empty.
    case all([Condition])
    /// At least one holds.
    case any([Condition])
    /// It does not hold.
    case not(Condition)
    /// The field's text is one of these; false for a missing field.
    case oneOf(FieldPath, [String])
    /// The field's text begins with this.
    case prefix(FieldPath, String)
    /// The field's text has a match of this expression.
    case regex(FieldPath, RegexText)
    /// The field exists (true) or is missing (false); null counts as missing.
    case exists(FieldPath, Bool)

    /// A valid regular expression.
    public struct RegexText: Sendable, Hashable {
        let pattern: Pattern
    }

    /// Whether an event meets the condition.
    public func holds(for fields: EventFields) -> Bool {
        switch self {
        case .all(let parts): parts.allSatisfy { $0.holds(for: fields) }
        case .any(let parts): parts.contains { $0.holds(for: fields) }
        case .not(let part): !part.holds(for: fields)
        case .oneOf(let path, let texts):
            fields.value(path)?.scalarText.map(texts.contains) ?? false
        case .prefix(let path, let start):
            fields.value(path)?.scalarText?.hasPrefix(start) ?? false
        case .regex(let path, let regex):
            fields.value(path)?.scalarText.map(regex.pattern.matches) ?? false
        case .exists(let path, let isWanted):
            (fields.value(path).map { $0 != .null } ?? false) == isWanted
        }
    }

    /// The event types that can meet the condition; nil if it does not restrict them.
    ///
    /// Lets the router index routes.
    public var types: Set<String>? {
        switch self {
        case .oneOf(let path, let texts) where path.root == .type: return Set(texts)
        case .all(let parts):
            let named = parts.compactMap(\.types)
            guard var common = named.first else { return nil }
            for set in named.dropFirst() { common.formIntersection(set) }
            return common
        case .any(let parts):
            var union: Set<String> = []
            for part in parts {
                guard let types = part.types else { return nil }
                union.formUnion(types)
            }
            return parts.isEmpty ? nil : union
        default: return nil
        }
    }

    /// Whether no event can meet it.
    public var isImpossible: Bool {
        switch self {
        case .all(let parts): parts.contains(where: \.isImpossible) || types?.isEmpty == true
        case .any(let parts): parts.allSatisfy(\.isImpossible)
        case .oneOf(_, let texts): texts.isEmpty
        default: false
        }
    }
}
