internal import SignalboxPattern

/// A part of a route's `when:` that an event does not meet, for people.
public struct WhyNot: Sendable, Hashable {
    /// The field as `when:` names it; empty if several fields had a choice.
    public var field: String
    /// What the field should be: `one of "high", "urgent"`.
    public var wanted: String
    /// What it is; nil if the event has no such field.
    public var found: JSONValue?

    /// One line: `priority is "low", wanted one of "high", "urgent"`.
    public var text: String {
        if field.isEmpty { return wanted }
        guard let found else { return "\(field) is missing, wanted \(wanted)" }
        return "\(field) is \(Self.shown(found)), wanted \(wanted)"
    }

    /// The value, cut to a length that a line can hold.
    private static func shown(_ value: JSONValue) -> String {
        let text = value.text
        return text.count <= 80 ? text : "\(text.prefix(80))…"
    }
}

extension Condition {
    /// The first part that an event does not meet, without any value of the event; nil if it meets the condition.
    public func unmet(by fields: EventFields) -> String? {
        if holds(for: fields) { return nil }
        guard case .all(let parts) = self else { return "not true: \(summary)" }
        return parts.lazy.compactMap { $0.unmet(by: fields) }.first ?? ""
    }

    /// The parts that keep an event from meeting the condition; empty if it meets it.
    public func whyNot(_ fields: EventFields) -> [WhyNot] {
        guard !holds(for: fields) else { return [] }
        switch self {
        case .all(let parts): return parts.flatMap { $0.whyNot(fields) }
        case .any(let parts):
            let lines = parts.map { part in
                part.whyNot(fields).map(\.text).joined(separator: " and ")
            }
            return [
                WhyNot(field: "", wanted: "none of these: \(lines.joined(separator: "; "))")
            ]
        case .not(let part): return [part.unwanted(fields)]
        case .oneOf(let path, let texts):
            let names = texts.map { "\"\($0)\"" }.joined(separator: ", ")
            return [Self.miss(path, texts.count == 1 ? names : "one of \(names)", fields)]
        case .prefix(let path, let start):
            return [Self.miss(path, "a text that begins with \"\(start)\"", fields)]
        case .regex(let path, let regex):
            return [Self.miss(path, "a match of \(regex.pattern.text)", fields)]
        case .exists(let path, let isWanted):
            return [Self.miss(path, isWanted ? "any value" : "no value", fields)]
        }
    }

    private static func miss(
        _ path: FieldPath, _ wanted: String, _ fields: EventFields
    ) -> WhyNot {
        WhyNot(field: path.text, wanted: wanted, found: fields.value(path))
    }

    /// Why `not` of this condition fails: the condition holds.
    private func unwanted(_ fields: EventFields) -> WhyNot {
        switch self {
        case .oneOf(let path, let texts):
            let names = texts.map { "\"\($0)\"" }.joined(separator: ", ")
            return Self.miss(path, texts.count == 1 ? "not \(names)" : "none of \(names)", fields)
        case .prefix(let path, let start):
            return Self.miss(path, "a text that does not begin with \"\(start)\"", fields)
        case .regex(let path, let regex):
            return Self.miss(path, "no match of \(regex.pattern.text)", fields)
        case .exists(let path, let isWanted):
            return Self.miss(path, isWanted ? "no value" : "any value", fields)
        case .not(let part):
            return part.whyNot(fields).first ?? WhyNot(field: "", wanted: "never")
        case .all(let parts), .any(let parts):
            let held = parts.filter { $0.holds(for: fields) }.map(\.summary)
            return WhyNot(
                field: "", wanted: "not allowed together: \(held.joined(separator: " and "))")
        }
    }

    /// The condition in a few words.
    private var summary: String {
        switch self {
        case .all(let parts): parts.map(\.summary).joined(separator: " and ")
        case .any(let parts): parts.map(\.summary).joined(separator: " or ")
        case .not(let part): "not (\(part.summary))"
        case .oneOf(let path, let texts):
            "\(path.text) is \(texts.map { "\"\($0)\"" }.joined(separator: " or "))"
        case .prefix(let path, let start): "\(path.text) begins with \"\(start)\""
        case .regex(let path, let regex): "\(path.text) matches \(regex.pattern.text)"
        case .exists(let path, let isWanted):
            isWanted ? "\(path.text) exists" : "\(path.text) is missing"
        }
    }
}
