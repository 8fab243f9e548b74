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
    /// Files that the plugin reads itself, found where its schema says `"format": "path"`.
    public var files: [NamedFile] = []
    /// Plain words where the schema says `"format": "selector"`: probably meant to name a member of an event.
    package var words: [(key: String, value: ConfigValue)] = []

    /// Makes a config that is already checked.
    public init(json: JSONValue, secrets: [String: PluginSecret] = [:]) {
        self.json = json
        self.secrets = secrets
    }
}

/// A file that a plugin reads itself.
public struct NamedFile: Sendable {
    /// The path of its key: `config.ca`.
    public var key: String
    /// A path that can be opened as it is.
    public var path: String
    /// The value in gateway.yaml.
    public var value: ConfigValue

    package init(key: String, path: String, value: ConfigValue) {
        self.key = key
        self.path = path
        self.value = value
    }
}

/// What a plugin's schema says about its events and its payloads, beside its config.
public struct PluginFacts: Sendable {
    /// Types of events that the provider itself pushes to the devices registered with it, if the config has this key.
    public internal(set) var providerPushes: [(key: String, types: [String])] = []
    /// The types of the plugin's events, each with the fields of its data; nil if it may emit anything.
    ///
    /// A field covers everything below it. `*` stands for every field whose first name is not listed.
    public internal(set) var emits: [(type: String, fields: [String])]?
    /// The family of `overrides` that is merged into its payloads; nil if the schema does not say.
    public internal(set) var family: String?
    /// Platforms that devices of its provider usually have; others are possible.
    public internal(set) var platforms: [String] = []
    /// Which of its tokens name people, chats, rooms or audiences, and no installed app.
    public internal(set) var addresses: [AddressRule] = []
    /// The config key required to report dead tokens of its events; nil if the schema names no such key.
    public internal(set) var reportsWith: String?
    /// Whether a device that it registers also stays with its other users.
    public internal(set) var sharesTokens = false
    /// How large the provider lets requests be, for tools that show requests; the first that applies counts.
    public internal(set) var payloadLimits: [PayloadBound] = []

    /// Whether data with these fields may have a value under the path.
    public static func isKnown(_ path: [String], among fields: [String]) -> Bool {
        var isListed = false
        for field in fields {
            let names = field.split(separator: ".").map(String.init)
            guard names.first == path.first else { continue }
            isListed = true
            // The field itself, a part of it, or a map that it is in.
            if zip(names, path).allSatisfy(==) { return true }
        }
        return !isListed && fields.contains("*")
    }
}

/// Tokens that are no device's secret: an address, a chat, a topic. All conditions that are given must hold.
public struct AddressRule: Sendable {
    /// The config has one of the values under each key.
    var config: [(key: String, values: [String])] = []
    /// The device has one of the values as each attribute.
    var attributes: [(key: String, values: [String])] = []
    /// A part of the token matches; nil for any token.
    var token: Pattern?

    /// Whether the rule applies to a device's token.
    public func covers(_ device: Device, config: JSONValue) -> Bool {
        self.config.allSatisfy { key, values in
            config[key]?.string.map(values.contains) ?? false
        }
            && attributes.allSatisfy { key, values in
                device.attributes.contains { $0.key == key && values.contains($0.value) }
            } && token?.matches(device.token) ?? true
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
        let isPath: Bool
        let isURI: Bool
        let isSelector: Bool
        let lengths: ClosedRange<Int>
        let range: ClosedRange<Double>
        let pattern: Pattern?
        let fallback: JSONValue?
        let text: String

        init(
            type: ValueType, properties: [(key: String, node: Node)], required: [String],
            allowsOtherKeys: Bool, items: Node?, allowed: [JSONValue], isSecret: Bool,
            isPath: Bool = false, isURI: Bool = false, isSelector: Bool = false,
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
            self.isPath = isPath
            self.isURI = isURI
            self.isSelector = isSelector
            self.lengths = lengths
            self.range = range
            self.pattern = pattern
            self.fallback = fallback
            self.text = text
        }
    }

    let root: Node
    /// What the schema says in addition to the config.
    public let facts: PluginFacts

    /// The schema of a plugin that takes no config.
    public static let empty = ConfigSchema(
        root: Node(
            type: .object, properties: [], required: [], allowsOtherKeys: false, items: nil,
            allowed: [], isSecret: false, lengths: 0...Int.max,
            range: -Double.infinity...Double.infinity, pattern: nil, fallback: nil, text: ""),
        facts: PluginFacts())

    /// Why a new value of a secret is invalid, phrased to follow its name: "must be at least 16 bytes long". Nil if it
    /// is valid. `name` is the path of its key: `apps.0.key`.
    func fault(ofSecret name: String, _ bytes: [UInt8]) -> String? {
        var node = root
        for part in name.split(separator: ".") {
            let child = node.items ?? node.properties.first { $0.key == part }?.node
            guard let child else { return nil }
            node = child
        }
        return node.fault(of: bytes)
    }

    /// Checks a config against the schema, and reports every fault with its position.
    ///
    /// A nil `value` is a missing config, which counts as an empty map at `position`. `owner` names
    /// whose config it is: `plugin "apns"`; `root` is the key that holds it. Relative paths start from `folder`.
    public func check(
        _ value: ConfigValue?, at position: SourcePosition, owner: String, root: String = "config",
        folder: String = "."
    ) -> (config: CheckedConfig, diagnostics: [Diagnostic]) {
        var check = ConfigCheck(owner: owner, rootName: root, folder: folder)
        let given = value ?? ConfigValue(.map([]), at: position)
        let json = check.value(given, self.root, path: [])
        var config = CheckedConfig(json: json, secrets: check.secrets)
        config.files = check.files
        config.words = check.words
        return (config, check.diagnostics)
    }
}
