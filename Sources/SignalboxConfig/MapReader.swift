internal import SignalboxCore

/// Reads a map of the configuration, key by key. Faults are collected, not thrown, so that all are found at once.
struct MapReader {
    let owner: String
    let value: ConfigValue
    private let entries: [ConfigValue.Entry]
    private let diagnostics: Diagnostics

    /// Starts reading a map; reports other types and unknown keys.
    ///
    /// `owner` names the map in messages: `route "support"`.
    init?(
        _ value: ConfigValue, owner: String, _ section: ConfigSection, _ diagnostics: Diagnostics
    ) {
        let known = section.names
        self.owner = owner
        self.value = value
        self.diagnostics = diagnostics
        switch value.kind {
        case .map(let entries): self.entries = entries
        case .null: entries = []
        default:
            diagnostics.report("wrong-type", at: value.position, "\(owner) must be a map")
            return nil
        }
        for entry in entries where !known.contains(entry.key) {
            let hint = Suggestion.hint(for: entry.key, among: known)
            diagnostics.report(
                "unknown-key", at: entry.keyPosition,
                "\(owner): unknown key \"\(entry.key)\"\(hint); known: "
                    + known.joined(separator: ", "))
        }
    }

    subscript(key: String) -> ConfigValue? { entries.first { $0.key == key }?.value }

    func report(_ code: String, at value: ConfigValue?, _ message: String) {
        diagnostics.report(
            code, at: value?.position ?? self.value.position, "\(owner): \(message)")
    }

    /// The text of a key; reports other types, and a missing key if it is required.
    func text(_ key: String, required: Bool = false) -> (text: String, value: ConfigValue)? {
        guard let value = self[key] else {
            if required { report("missing-key", at: nil, "\(key) is required") }
            return nil
        }
        switch value.kind {
        case .string(let text) where !text.isEmpty || !required: return (text, value)
        case .string:
            let file = diagnostics.files.last { $0.position == value.position }
            report(
                "missing-key", at: value,
                file.map { "\(key): the file \($0.written ?? $0.path) is empty" }
                    ?? "\(key) is required")
        case .integer, .number, .bool:
            report("wrong-type", at: value, "\(key) must be text: put quotes around it")
        default: report("wrong-type", at: value, "\(key) must be text")
        }
        return nil
    }

    /// One of the allowed words; reports any other.
    func word(_ key: String, of allowed: [String]) -> String? {
        guard let (text, value) = text(key) else { return nil }
        guard allowed.contains(text) else {
            let hint = value.isSecret ? "" : Suggestion.hint(for: text, among: allowed)
            report(
                "bad-value", at: value,
                "\(key) must be one of \(allowed.joined(separator: ", "))\(hint)")
            return nil
        }
        return text
    }

    /// `true` or `false`; reports anything else.
    func flag(_ key: String) -> Bool? {
        guard let value = self[key] else { return nil }
        guard case .bool(let flag) = value.kind else {
            report("wrong-type", at: value, "\(key) must be true or false")
            return nil
        }
        return flag
    }

    /// A length of time in milliseconds: `500ms`, `30s`, `5m`, `24h`, `7d`.
    func duration(_ key: String, in range: ClosedRange<UInt64>) -> UInt64? {
        guard let value = self[key] else { return nil }
        let units: [(suffix: String, ms: UInt64)] = [
            ("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
        ]
        if case .string(let text) = value.kind {
            for (suffix, ms) in units where text.hasSuffix(suffix) {
                guard let count = UInt64(text.dropLast(suffix.count)), count <= 1_000_000 else {
                    continue
                }
                guard range.contains(count * ms) else {
                    report(
                        "bad-value", at: value,
                        "\(key) must be from \(DurationText.of(ms: range.lowerBound)) to "
                            + DurationText.of(ms: range.upperBound))
                    return nil
                }
                return count * ms
            }
        }
        var hint = ""
        if case .integer(let count) = value.kind, count > 0 {
            hint = "; if you mean seconds, write \(count)s"
        }
        report(
            "bad-value", at: value,
            "\(key) must be a length of time such as 500ms, 30s, 5m, 24h or 7d\(hint)")
        return nil
    }

    /// A whole number.
    func integer(_ key: String, in range: ClosedRange<Int64>) -> Int64? {
        guard let value = self[key] else { return nil }
        guard case .integer(let number) = value.kind, range.contains(number) else {
            report(
                "bad-value", at: value,
                "\(key) must be a whole number from \(range.lowerBound) to \(range.upperBound)")
            return nil
        }
        return number
    }

    /// A number.
    func number(_ key: String, in range: ClosedRange<Double>) -> Double? {
        guard let value = self[key] else { return nil }
        let number: Double? =
            switch value.kind {
            case .integer(let number): Double(number)
            case .number(let number): number
            default: nil
            }
        guard let number, range.contains(number) else {
            report(
                "bad-value", at: value,
                "\(key) must be a number from \(range.lowerBound) to \(range.upperBound)")
            return nil
        }
        return number
    }
}

extension ConfigValue {
    /// A name for a message, with a suggestion of the intended one; never the value of a secret.
    func shown(_ name: String, among candidates: some Sequence<String>) -> String {
        isSecret
            ? "(the value of a variable or file)"
            : "\"\(name)\"\(Suggestion.hint(for: name, among: candidates))"
    }
}
