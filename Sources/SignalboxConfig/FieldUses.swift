internal import SignalboxCore

/// The fields and values that a route expects of its events; used by one thread.
final class FieldUses {
    /// Fields that conditions and templates read, each with its position.
    var fields: [(path: FieldPath, position: SourcePosition)] = []
    /// Event types in conditions.
    var types: [(name: String, position: SourcePosition)] = []

    /// How many of `fields` the condition reads; these come first.
    var conditionCount = 0
    /// Data fields written in full, `data.typ`, which can mean no other field.
    var spelt: Set<String> = []

    /// Texts that conditions compare with fields, as written.
    var literals: [(path: FieldPath, text: String, position: SourcePosition)] = []

    /// Adds the fields of a `when:`.
    func add(when value: ConfigValue) {
        guard case .map(let entries) = value.kind else { return }
        for entry in entries {
            switch entry.key {
            case "all", "any":
                if case .list(let items) = entry.value.kind {
                    for item in items { add(when: item) }
                }
            case "not":
                // An excluded field or value need not exist.
                break
            default:
                guard let path = FieldPath(entry.key) else { continue }
                add(literals: entry.value, of: path)
                if entry.key.hasPrefix("data.") { spelt.insert(path.text) }
                if path.root == .type { add(types: entry.value) }
                if !Self.asksForAbsence(entry.value) { fields.append((path, entry.keyPosition)) }
            }
        }
    }

    private func add(literals value: ConfigValue, of path: FieldPath) {
        switch value.kind {
        case .string(let text):
            if !value.isSecret { literals.append((path, text, value.position)) }
        case .list(let items): for item in items { add(literals: item, of: path) }
        case .map(let entries):
            for entry in entries where entry.key != "regex" {
                add(literals: entry.value, of: path)
            }
        default: break
        }
    }

    private func add(types value: ConfigValue) {
        switch value.kind {
        case .string(let name): types.append((name, value.position))
        case .list(let items): for item in items { add(types: item) }
        case .map(let entries):
            for entry in entries where ["equals", "one_of"].contains(entry.key) {
                add(types: entry.value)
            }
        default: break
        }
    }

    /// `{ exists: false }`, `{ not: x }`.
    private static func asksForAbsence(_ value: ConfigValue) -> Bool {
        if case .bool(false) = value["exists"]?.kind { return true }
        return value["not"] != nil
    }
}
