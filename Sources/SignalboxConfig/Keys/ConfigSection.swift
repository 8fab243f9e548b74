/// A map of gateway.yaml with its keys: the single list used by the readers, by `signalbox schema` and by
/// docs/configuration.md, which a test compares with it.
public struct ConfigSection: Sendable {
    /// The heading in docs/configuration.md, such as `gateway.log`.
    public let heading: String
    /// The keys, in the order of messages.
    public let keys: [ConfigKey]

    init(_ heading: String, _ keys: [ConfigKey]) {
        self.heading = heading
        self.keys = keys
    }

    var names: [String] { keys.map(\.name) }

    /// All sections, each once, starting with the whole file.
    public static var all: [ConfigSection] {
        var found: [ConfigSection] = []
        func visit(_ shape: ConfigShape) {
            switch shape {
            case .section(let section):
                guard !found.contains(where: { $0.heading == section.heading }) else { return }
                found.append(section)
                for key in section.keys { visit(key.shape) }
            case .list(let inner), .map(let inner): visit(inner)
            case .either(let shapes): for one in shapes { visit(one) }
            default: break
            }
        }
        visit(.section(.file))
        return found
    }
}

/// A key of gateway.yaml.
public struct ConfigKey: Sendable {
    /// Its name.
    public let name: String
    /// Its description in docs/configuration.md.
    public let meaning: String
    /// Its default in docs/configuration.md; `required` if it has none.
    public let fallback: String
    /// The shape of its value.
    public let shape: ConfigShape

    init(_ name: String, _ meaning: String, _ fallback: String, _ shape: ConfigShape) {
        self.name = name
        self.meaning = meaning
        self.fallback = fallback
        self.shape = shape
    }

    /// Whether it is a fault to omit it.
    public var isRequired: Bool { fallback == "required" || meaning.hasSuffix("; required") }
}

/// The shape of a key's value.
public indirect enum ConfigShape: Sendable {
    case constant(Int64)
    case text
    /// The name of a plugin, route or policy.
    case name
    case word([String])
    case flag
    case integer(Int64, Int64)
    case number(Int64, Int64)
    /// `30s`.
    case duration
    /// `host:port`, or false.
    case address
    /// A text, number or flag used as a template.
    case scalar
    case anything
    case section(ConfigSection)
    case list(ConfigShape)
    case map(ConfigShape)
    case either([ConfigShape])
}
