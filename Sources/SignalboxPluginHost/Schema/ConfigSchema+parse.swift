internal import SignalboxCore
internal import SignalboxJSON
internal import SignalboxPattern

extension ConfigSchema {
    private static let keywords = [
        "$schema", "title", "description", "type", "properties", "required",
        "additionalProperties", "items", "minItems", "maxItems", "enum", "format", "minLength",
        "maxLength", "pattern", "minimum", "maximum", "default",
    ]
    /// Keywords of the root that JSON Schema does not have.
    package static let rootKeywords = [
        "providerPushes", "emits", "family", "payloadLimits", "addresses", "sharesTokens",
        "reportsWith", "platforms",
    ]

    /// Reads a schema.
    public static func parse(_ text: String) throws(SchemaFault) -> ConfigSchema {
        let json: JSONValue
        do {
            json = try JSONValue.parse(text)
        } catch {
            throw SchemaFault(message: "the schema is not JSON: \(error)")
        }
        let root = try node(json, at: "")
        guard root.type == .object else {
            throw SchemaFault(message: "the schema's type must be object")
        }
        return ConfigSchema(root: root, facts: try facts(json))
    }

    private static func facts(_ json: JSONValue) throws(SchemaFault) -> PluginFacts {
        var facts = PluginFacts()
        if case .object(let members) = json["providerPushes"] {
            facts.providerPushes = members.map { ($0.key, texts($0.value)) }
        }
        if case .object(let members) = json["emits"] {
            facts.emits = members.map { ($0.key, texts($0.value)) }
        }
        switch json["addresses"] {
        case nil: break
        case .array(let rules):
            for rule in rules { facts.addresses.append(try addressRule(rule)) }
        case let rule?: facts.addresses = [try addressRule(rule)]
        }
        facts.platforms = texts(json["platforms"])
        facts.reportsWith = json["reportsWith"]?.string
        facts.sharesTokens = json["sharesTokens"] == .bool(true)
        facts.family = json["family"]?.string
        facts.payloadLimits = elements(json["payloadLimits"]).compactMap { PayloadBound($0) }
        return facts
    }

    /// A rule that were misread would let users register what is not theirs.
    private static func addressRule(_ json: JSONValue) throws(SchemaFault) -> AddressRule {
        var rule = AddressRule()
        guard case .object(let members) = json else {
            throw SchemaFault(message: "addresses must be an object, or a list of objects")
        }
        for member in members {
            switch (member.key, member.value) {
            case ("config", .object(let entries)):
                rule.config = entries.map { ($0.key, texts($0.value)) }
            case ("attributes", .object(let entries)):
                rule.attributes = entries.map { ($0.key, texts($0.value)) }
            case ("token", .string(let text)): rule.token = try pattern(text, "addresses")
            default:
                throw SchemaFault(
                    message:
                        "\"\(member.key)\" of addresses must be config or attributes, an object "
                        + "of lists, or token, a pattern")
            }
        }
        return rule
    }

    private static func pattern(_ text: String, _ place: String) throws(SchemaFault) -> Pattern {
        do throws(Pattern.Fault) {
            return try Pattern(text)
        } catch {
            throw SchemaFault(
                message: "\(place): pattern is not an expression that can be used: \(error.message)"
            )
        }
    }

    private static func node(_ json: JSONValue, at path: String) throws(SchemaFault) -> Node {
        func fault(_ what: String) -> SchemaFault {
            SchemaFault(message: "schema\(path.isEmpty ? "" : " at \(path)"): \(what)")
        }
        guard case .object(let members) = json else { throw fault("must be an object") }
        let keywords = path.isEmpty ? keywords + rootKeywords : keywords
        for member in members where !keywords.contains(member.key) {
            let hint = Suggestion.hint(for: member.key, among: keywords)
            throw fault("keyword \"\(member.key)\" is not supported\(hint)")
        }
        guard let name = json["type"]?.string, let type = ValueType(rawValue: name) else {
            let known = ValueType.allCases.map(\.rawValue).joined(separator: ", ")
            throw fault("type must be one of \(known)")
        }
        var properties: [(key: String, node: Node)] = []
        if case .object(let entries) = json["properties"] ?? .object([]) {
            for entry in entries {
                properties.append((entry.key, try node(entry.value, at: "\(path)/\(entry.key)")))
            }
        }
        var items: Node?
        if let given = json["items"] { items = try node(given, at: "\(path)/items") }
        guard type != .array || items != nil else { throw fault("an array needs items") }
        var pattern: Pattern?
        if let text = json["pattern"]?.string {
            do throws(Pattern.Fault) {
                pattern = try Pattern(text)
            } catch {
                throw fault("pattern is not an expression that can be used: \(error.message)")
            }
        }
        let format = json["format"]?.string
        guard format.map(["secret", "uri", "path", "selector"].contains) ?? true else {
            throw fault("format must be secret, uri, path or selector")
        }
        guard format != "secret" || type == .string else {
            throw fault("a secret must be of type string")
        }
        let low = (type == .array ? json["minItems"] : json["minLength"])?.integer ?? 0
        let high = (type == .array ? json["maxItems"] : json["maxLength"])?.integer ?? .max
        let minimum = try number(json["minimum"], or: -.infinity, fault)
        let maximum = try number(json["maximum"], or: .infinity, fault)
        guard low >= 0, low <= high, minimum <= maximum else {
            throw fault("the bounds are the wrong way round")
        }
        return Node(
            type: type, properties: properties, required: texts(json["required"]),
            allowsOtherKeys: json["additionalProperties"] == .bool(true), items: items,
            allowed: elements(json["enum"]), isSecret: format == "secret",
            isPath: format == "path", isURI: format == "uri",
            isSelector: format == "selector",
            lengths: Int(low)...Int(high), range: minimum...maximum, pattern: pattern,
            fallback: json["default"], text: json["description"]?.string ?? "")
    }

    private static func number(
        _ json: JSONValue?, or other: Double, _ fault: (String) -> SchemaFault
    ) throws(SchemaFault) -> Double {
        switch json {
        case nil: return other
        case .integer(let value): return Double(value)
        case .number(let text):
            guard let value = Double(text) else { throw fault("a bound is not a number") }
            return value
        default: throw fault("a bound is not a number")
        }
    }

    private static func elements(_ json: JSONValue?) -> [JSONValue] {
        guard case .array(let elements) = json else { return [] }
        return elements
    }

    private static func texts(_ json: JSONValue?) -> [String] {
        elements(json).compactMap(\.string)
    }
}
