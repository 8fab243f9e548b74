/// What a condition says about the types of events, for checks of a configuration.
extension Condition {
    /// Whether an event of this type can meet it, whatever its other fields are.
    public func canHold(type: String) -> Bool {
        switch self {
        case .all(let parts): parts.allSatisfy { $0.canHold(type: type) }
        case .any(let parts): parts.contains { $0.canHold(type: type) }
        case .not(let part): !part.mustHold(type: type)
        default: holds(type: type) ?? true
        }
    }

    /// Whether every event of this type meets it.
    private func mustHold(type: String) -> Bool {
        switch self {
        case .all(let parts): parts.allSatisfy { $0.mustHold(type: type) }
        case .any(let parts): parts.contains { $0.mustHold(type: type) }
        case .not(let part): !part.canHold(type: type)
        default: holds(type: type) ?? false
        }
    }

    /// nil: it is about another field.
    private func holds(type: String) -> Bool? {
        let path: FieldPath
        switch self {
        case .oneOf(let given, _), .prefix(let given, _), .regex(let given, _),
            .exists(let given, _):
            path = given
        case .all, .any, .not: return nil
        }
        guard path.root == .type else { return nil }
        return holds(for: EventFields(event: Event(type: type), data: JSONValue.null))
    }
}

extension Template {
    /// The fields that it reads, in order; with localized texts, those of every language.
    public var fields: [FieldPath] {
        segments.flatMap { segment -> [FieldPath] in
            switch segment {
            case .text: []
            case .field(let path, _), .json(let path): [path]
            case .localized(let text, _): text.fields
            }
        }
    }
}
