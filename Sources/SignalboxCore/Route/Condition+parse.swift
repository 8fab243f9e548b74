internal import SignalboxPattern

extension Condition {
    static let operators = ["equals", "one_of", "prefix", "regex", "exists", "not"]

    /// Parses a route's `when:`; nil, with diagnostics, if it is invalid.
    ///
    /// A map of fields, each with a scalar (equals), a list (one of) or a map of operators; the names
    /// `all`, `any` and `not` at this level combine further maps.
    public static func parse(
        _ value: ConfigValue, diagnostics: inout [Diagnostic]
    ) -> Condition? {
        guard case .map(let entries) = value.kind else {
            diagnostics.append(
                Diagnostic(
                    "wrong-type", at: value.position,
                    "when must be a map of fields, such as { type: ticket.replied }"))
            return nil
        }
        var parts: [Condition] = []
        var isSound = true
        for entry in entries {
            if let part = parse(entry, diagnostics: &diagnostics) {
                parts.append(part)
            } else {
                isSound = false
            }
        }
        guard isSound else { return nil }
        return parts.count == 1 ? parts[0] : .all(parts)
    }

    private static func parse(
        _ entry: ConfigValue.Entry, diagnostics: inout [Diagnostic]
    ) -> Condition? {
        switch entry.key {
        case "not": return parse(entry.value, diagnostics: &diagnostics).map(Condition.not)
        case "all", "any":
            guard case .list(let items) = entry.value.kind, !items.isEmpty else {
                diagnostics.append(
                    Diagnostic(
                        "wrong-type", at: entry.value.position,
                        "\(entry.key) must be a list of maps with at least one element"))
                return nil
            }
            let parts = items.map { parse($0, diagnostics: &diagnostics) }
            guard !parts.contains(where: { $0 == nil }) else { return nil }
            let sound = parts.compactMap(\.self)
            return entry.key == "all" ? .all(sound) : .any(sound)
        default:
            guard let path = FieldPath(entry.key) else {
                diagnostics.append(
                    Diagnostic(
                        "bad-field", at: entry.keyPosition,
                        "\"\(entry.key)\" is not a field; write a name such as ticket_id"))
                return nil
            }
            guard path.root != .recipient else {
                diagnostics.append(
                    Diagnostic(
                        "bad-field", at: entry.keyPosition,
                        "when applies to the whole event, but \"\(entry.key)\" differs by recipient"
                    )
                )
                return nil
            }
            return test(path, entry.value, diagnostics: &diagnostics)
        }
    }

    private static func test(
        _ path: FieldPath, _ value: ConfigValue, diagnostics: inout [Diagnostic]
    ) -> Condition? {
        switch value.kind {
        case .list: return texts(value, diagnostics: &diagnostics).map { .oneOf(path, $0) }
        case .map(let entries):
            let parts = entries.map { applied($0, to: path, diagnostics: &diagnostics) }
            guard !parts.contains(where: { $0 == nil }) else { return nil }
            let sound = parts.compactMap(\.self)
            return sound.count == 1 ? sound[0] : .all(sound)
        default: return text(value, diagnostics: &diagnostics).map { .oneOf(path, [$0]) }
        }
    }

    private static func applied(
        _ entry: ConfigValue.Entry, to path: FieldPath, diagnostics: inout [Diagnostic]
    ) -> Condition? {
        switch entry.key {
        case "equals":
            return text(entry.value, diagnostics: &diagnostics).map { .oneOf(path, [$0]) }
        case "one_of": return texts(entry.value, diagnostics: &diagnostics).map { .oneOf(path, $0) }
        case "prefix": return text(entry.value, diagnostics: &diagnostics).map { .prefix(path, $0) }
        case "not": return test(path, entry.value, diagnostics: &diagnostics).map(Condition.not)
        case "exists":
            guard case .bool(let isWanted) = entry.value.kind else {
                diagnostics.append(
                    Diagnostic(
                        "wrong-type", at: entry.value.position, "exists must be true or false"))
                return nil
            }
            return .exists(path, isWanted)
        case "regex":
            guard let text = text(entry.value, diagnostics: &diagnostics) else { return nil }
            do throws(Pattern.Fault) {
                return .regex(path, RegexText(pattern: try Pattern(text)))
            } catch {
                // The error must not show a part of a secret.
                let what = entry.value.isSecret ? error.reason : error.message
                diagnostics.append(
                    Diagnostic(
                        "bad-regex", at: entry.value.position,
                        "invalid regular expression: \(what)"))
                return nil
            }
        default:
            diagnostics.append(
                Diagnostic(
                    "unknown-operator", at: entry.keyPosition,
                    "unknown operator \"\(entry.key)\""
                        + Suggestion.hint(for: entry.key, among: operators)
                        + "; known: \(operators.joined(separator: ", "))"))
            return nil
        }
    }

    private static func text(
        _ value: ConfigValue, diagnostics: inout [Diagnostic]
    ) -> String? {
        switch value.kind {
        case .string(let text): return text
        case .integer(let number): return String(number)
        case .bool(let flag): return flag ? "true" : "false"
        default:
            diagnostics.append(
                Diagnostic(
                    "wrong-type", at: value.position,
                    "a text, an integer or true/false is needed here"))
            return nil
        }
    }

    private static func texts(
        _ value: ConfigValue, diagnostics: inout [Diagnostic]
    ) -> [String]? {
        guard case .list(let items) = value.kind else {
            diagnostics.append(
                Diagnostic("wrong-type", at: value.position, "one_of must be a list"))
            return nil
        }
        let texts = items.map { text($0, diagnostics: &diagnostics) }
        return texts.contains { $0 == nil } ? nil : texts.compactMap(\.self)
    }
}
