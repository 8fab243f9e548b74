public import SignalboxCore
internal import SignalboxPattern

/// Why a plugin's schema itself cannot be used.
public struct SchemaFault: Error, Sendable, Hashable, CustomStringConvertible {
    /// Names the place in the schema and the fault.
    public let message: String

    /// The message.
    public var description: String { message }
}

/// A secret of an instance, found where its schema says `"format": "secret"`.
public struct PluginSecret: Sendable, Hashable {
    /// The value.
    ///
    /// Never logged.
    public var bytes: [UInt8]
    /// The file it was read from, which is watched; nil if it came from elsewhere.
    public var file: String?

    /// Makes a secret.
    public init(bytes: [UInt8], file: String? = nil) {
        self.bytes = bytes
        self.file = file
    }
}

/// A config that fits its schema: defaults filled in, secrets taken out.
public struct CheckedConfig: Sendable {
    /// A JSON object; each secret is replaced by its name.
    public var json: JSONValue
    /// Secrets by name; the name is the path of the key: `key`, `apps.0.key`.
    public var secrets: [String: PluginSecret]

    /// Makes a config that is already checked.
    public init(json: JSONValue, secrets: [String: PluginSecret] = [:]) {
        self.json = json
        self.secrets = secrets
    }
}

/// The subset of JSON Schema that describes a plugin's config; docs/plugin-config-schema.md lists
/// the keywords. A schema with any other keyword is rejected, so that no rule is overlooked.
public struct ConfigSchema: Sendable {
    /// The types of JSON Schema.
    enum ValueType: String, CaseIterable {
        case object, array, string, integer, number, boolean
    }

    /// One schema object.
    final class Node: Sendable {
        let type: ValueType
        let properties: [(key: String, node: Node)]
        let required: [String]
        let allowsOtherKeys: Bool
        let items: Node?
        let allowed: [JSONValue]
        let isSecret: Bool
        let lengths: ClosedRange<Int>
        let range: ClosedRange<Double>
        let pattern: Pattern?
        let fallback: JSONValue?
        let text: String

        init(
            type: ValueType, properties: [(key: String, node: Node)], required: [String],
            allowsOtherKeys: Bool, items: Node?, allowed: [JSONValue], isSecret: Bool,
            lengths: ClosedRange<Int>, range: ClosedRange<Double>, pattern: Pattern?,
            fallback: JSONValue?, text: String
        ) {
            self.type = type
            self.properties = properties
            self.required = required
            self.allowsOtherKeys = allowsOtherKeys
            self.items = items
            self.allowed = allowed
            self.isSecret = isSecret
            self.lengths = lengths
            self.range = range
            self.pattern = pattern
            self.fallback = fallback
            self.text = text
        }
    }

    let root: Node
    /// Types of the plugin's events that the provider itself pushes to the devices registered with it, if the
    /// config has this key.
    public let providerPushes: [(key: String, types: [String])]

    /// The schema of a plugin that takes no config.
    public static let empty = ConfigSchema(
        root: Node(
            type: .object, properties: [], required: [], allowsOtherKeys: false, items: nil,
            allowed: [], isSecret: false, lengths: 0...Int.max,
            range: -Double.infinity...Double.infinity, pattern: nil, fallback: nil, text: ""),
        providerPushes: [])

    /// Checks a config against the schema, and reports every fault with its position.
    ///
    /// A nil `value` is a missing config, which counts as an empty map at `position`. `owner` names
    /// whose config it is: `plugin "apns"`; `root` is the key that holds it.
    public func check(
        _ value: ConfigValue?, at position: SourcePosition, owner: String, root: String = "config"
    ) -> (config: CheckedConfig, diagnostics: [Diagnostic]) {
        var check = ConfigCheck(owner: owner, rootName: root)
        let given = value ?? ConfigValue(.map([]), at: position)
        let json = check.value(given, self.root, path: [])
        return (CheckedConfig(json: json, secrets: check.secrets), check.diagnostics)
    }
}
