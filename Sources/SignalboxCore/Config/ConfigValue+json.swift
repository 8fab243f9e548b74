extension ConfigValue {
    /// The value as JSON, secrets included: for the eyes of whom it is meant for.
    public var json: JSONValue {
        switch kind {
        case .null: .null
        case .bool(let flag): .bool(flag)
        case .integer(let number): .integer(number)
        case .number(let number): .number("\(number)")
        case .string(let text): .string(text)
        case .list(let items): .array(items.map(\.json))
        case .map(let entries):
            .object(entries.map { JSONValue.Member($0.key, $0.value.json) })
        }
    }
}
