package import SignalboxCore
internal import SignalboxPattern

extension ConfigSchema {
    /// A sample config made from the schema: required keys, with their default, the first allowed value,
    /// or text that fits the pattern and the key's name. The plugin may still reject it.
    package func sample() -> JSONValue { Self.sample(root, key: "") }

    /// A value for one place of the schema.
    static func sample(_ node: Node, key: String) -> JSONValue {
        if let fallback = node.fallback { return fallback }
        if let first = node.allowed.first { return first }
        switch node.type {
        case .object:
            let members = node.properties.filter { node.required.contains($0.key) }
            return .object(members.map { .init($0.key, sample($0.node, key: $0.key)) })
        case .array:
            let item = node.items.map { sample($0, key: key) } ?? .null
            return .array([JSONValue](repeating: item, count: node.lengths.lowerBound))
        case .string: return .string(text(node, key: key))
        case .integer: return .integer(Int64(nearest: number(node.range).rounded(.up)))
        case .number: return .number("\(number(node.range))")
        case .boolean: return .bool(false)
        }
    }

    /// Typical values of keys whose names contain these parts.
    private static let hints = [
        ("url", "https://sample.example"), ("uri", "https://sample.example"),
        ("endpoint", "https://sample.example"), ("origin", "https://sample.example"),
        ("path", "/sample"), ("mail", "sample@example.org"), ("host", "sample.example"),
    ]

    /// Texts that patterns often accept.
    private static let words = [
        "sample", "/sample", "https://sample.example", "com.example.sample", "SAMPLE1234", "1",
        "sample@example.org", "sample.example:443", "Sample", "SAMPLE", "00", "2030-01-01",
    ]

    /// A text that fits one place of the schema.
    static func text(_ node: Node, key: String, first: [String] = []) -> String {
        let key = key.lowercased()
        let hinted = hints.filter { key.contains($0.0) }.map(\.1)
        let candidates =
            (node.isSecret ? ["a-made-up-secret-for-checks"] : []) + hinted + first + words
        let fitting = candidates.lazy.map { candidate in
            let filled = candidate.utf8.count..<max(candidate.utf8.count, node.lengths.lowerBound)
            let long = candidate + filled.prefix(4096).map { _ in "a" }.joined()
            return String(long.prefix(node.lengths.upperBound))
        }
        return fitting.first { node.pattern?.matches($0) ?? true } ?? words[0]
    }

    private static func number(_ range: ClosedRange<Double>) -> Double {
        min(max(1, range.lowerBound), range.upperBound)
    }
}
