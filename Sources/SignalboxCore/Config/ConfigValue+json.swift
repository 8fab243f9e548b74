extension ConfigValue {
    /// The value as JSON, secrets included; pass it only to the plugin that it is meant for.
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

extension ConfigValue {
    /// Converts JSON to a configuration value; every part gets the same position.
    public init(_ json: JSONValue, at position: SourcePosition) {
        let kind: Kind =
            switch json {
            case .null: .null
            case .bool(let flag): .bool(flag)
            case .integer(let number): .integer(number)
            case .number(let text): .number(Double(text) ?? 0)
            case .string(let text): .string(text)
            case .array(let items): .list(items.map { ConfigValue($0, at: position) })
            case .object(let members):
                .map(
                    members.map {
                        Entry(
                            key: $0.key, keyPosition: position,
                            value: ConfigValue($0.value, at: position))
                    })
            }
        self.init(kind, at: position)
    }
}
