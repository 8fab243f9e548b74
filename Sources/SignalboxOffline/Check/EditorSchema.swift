internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxGateway
internal import SignalboxJSON
internal import SignalboxPluginHost

/// The JSON Schema (draft 7) of gateway.yaml for editors: every key with its description in docs/configuration.md, and
/// the configs of plugins.
struct EditorSchema: Sendable {
    /// The schemas of plugins' configs, by the name used in `library:`.
    private var configs: [(library: String, schema: JSONValue)] = []

    /// Adds the config of a plugin, unless its schema is malformed.
    mutating func add(library: String, schema text: String) {
        guard let json = try? JSONValue.parse(text) else { return }
        configs.append((library, Self.plugin(json, isRoot: true)))
    }

    /// The schema.
    var json: JSONValue {
        guard case .object(let members) = value(.section(.file)) else { return .null }
        return .object(
            [
                .init("$schema", .string("http://json-schema.org/draft-07/schema#")),
                .init("title", .string("gateway.yaml of signalbox \(Release.version)")),
            ] + members)
    }

    // MARK: Our own keys

    private func value(_ shape: ConfigShape) -> JSONValue {
        switch shape {
        case .constant(let number): Self.object(["const": .integer(number)])
        case .text, .name: Self.type("string")
        case .word(let words):
            Self.orReference(Self.object(["enum": .array(words.map { .string($0) })]))
        case .flag: Self.type("boolean")
        case .integer(let low, let high): Self.number("integer", low, high)
        case .number(let low, let high): Self.number("number", low, high)
        case .duration: Self.text(#"^[0-9]+(ms|s|m|h|d)$|\$\{"#)
        case .address:
            Self.object([
                "anyOf": [Self.object(["const": .bool(false)]), Self.text(#":[0-9]+$|\$\{"#)]
            ])
        case .scalar:
            Self.object(["type": .array(["string", "number", "boolean"].map { .string($0) })])
        case .anything: .object([])
        case .list(let inner): Self.object(["type": .string("array"), "items": value(inner)])
        case .map(let inner):
            Self.object(["type": .string("object"), "additionalProperties": value(inner)])
        case .either(let shapes): Self.object(["anyOf": .array(shapes.map(value))])
        case .section(let section): map(section)
        }
    }

    private func map(_ section: ConfigSection) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init("type", .string("object")),
            .init(
                "properties",
                .object(
                    section.keys.map { key in
                        .init(key.name, Self.described(value(key.shape), Self.words(key)))
                    })),
            .init("additionalProperties", .bool(false)),
        ]
        let required = section.keys.filter(\.isRequired).map { JSONValue.string($0.name) }
        if !required.isEmpty { members.append(.init("required", .array(required))) }
        if section.heading == "plugins", !configs.isEmpty {
            members.append(.init("allOf", .array(configs.map(Self.choice))))
        }
        return .object(members)
    }

    /// The schema of `config` if `library` has this name.
    private static func choice(_ plugin: (library: String, schema: JSONValue)) -> JSONValue {
        let isNamed = object([
            "properties": object(["library": object(["const": .string(plugin.library)])]),
            "required": ["library"],
        ])
        return object([
            "if": isNamed, "then": object(["properties": object(["config": plugin.schema])]),
        ])
    }

    /// The description and the default, without Markdown links.
    private static func words(_ key: ConfigKey) -> String {
        var text = key.meaning.replacing(#/\[([^\]]*)\]\([^)]*\)/#) { String($0.output.1) }
        let isSaid = ["", "required", "see below"].contains(key.fallback)
        if !isSaid { text += ". Default: \(key.fallback)" }
        return text
    }

    // MARK: Plugins' keys

    /// A plugin's schema in plain JSON Schema: unknown keys are faults, and `${...}` is allowed for any scalar.
    private static func plugin(_ json: JSONValue, isRoot: Bool = false) -> JSONValue {
        guard case .object(let members) = json else { return json }
        let dropped = ["format", "$schema"] + (isRoot ? ConfigSchema.rootKeywords : [])
        var out: [JSONValue.Member] = []
        for member in members where !dropped.contains(member.key) {
            switch (member.key, member.value) {
            case ("properties", .object(let keys)):
                out.append(
                    .init("properties", .object(keys.map { .init($0.key, plugin($0.value)) })))
            case ("items", let item): out.append(.init("items", plugin(item)))
            default: out.append(member)
            }
        }
        switch json["type"]?.string {
        case "object":
            if json["additionalProperties"] == nil {
                out.append(.init("additionalProperties", .bool(false)))
            }
            return .object(out)
        case "array": return .object(out)
        default:
            return described(orReference(.object(out)), json["description"]?.string ?? "")
        }
    }

    // MARK: Parts

    private static func object(_ members: KeyValuePairs<String, JSONValue>) -> JSONValue {
        .object(members.map { .init($0.key, $0.value) })
    }

    private static func type(_ name: String) -> JSONValue { object(["type": .string(name)]) }

    private static func text(_ pattern: String) -> JSONValue {
        object(["type": .string("string"), "pattern": .string(pattern)])
    }

    private static func number(_ name: String, _ low: Int64, _ high: Int64) -> JSONValue {
        object([
            "type": .string(name), "minimum": .integer(low), "maximum": .integer(high),
        ])
    }

    private static func orReference(_ schema: JSONValue) -> JSONValue {
        object(["anyOf": [schema, text(#"\$\{"#)]])
    }

    private static func described(_ schema: JSONValue, _ words: String) -> JSONValue {
        guard case .object(let members) = schema, !words.isEmpty else { return schema }
        return .object([.init("description", .string(words))] + members)
    }
}
