public import SignalboxCore

/// The `gateway:` section.
public struct GatewaySettings: Sendable {
    /// The gateway's name in a fleet; nil for the host's name and the port of `listen`.
    public var name: String?
    /// The address for webhooks; nil for none, if the embedding program passes requests itself.
    public var listen: ListenAddress? = ListenAddress(host: "127.0.0.1", port: 8080)
    /// The address for operators; nil for none.
    public var admin: ListenAddress? = ListenAddress(host: "127.0.0.1", port: 8081)
    /// Further hosts that clients of `admin` may name, besides its address and those of this machine.
    public var adminHosts: [String] = []
    /// The bearer token that clients of `admin` must send; nil for none.
    ///
    /// Never logged.
    public var adminToken: String?
    /// The position of `admin`, or else of its section; nil if the section is missing.
    public var adminPosition: SourcePosition?
    /// Sources whose events the embedding program submits.
    public var sources: [String] = []
    /// TLS of `listen`; nil for plain HTTP, with TLS in front.
    public var tls: TLSSettings?
    /// The database that several gateways share; nil for SQLite in the data folder.
    public var store: PostgresSettings?
    /// Folder for durable data.
    public var dataFolder = "./data"
    /// How long a stop waits for work in progress, in milliseconds.
    public var drainMs: UInt64 = 30_000
    /// How long a stop waits before closing anything, so that load balancers notice it, in milliseconds.
    public var shutdownDelayMs: UInt64 = 0
    /// How long the dedupe key of an event is kept if its plugin does not say, in milliseconds; 0 to keep none.
    public var dedupeMs: UInt64 = 600_000
    /// The longest time a dedupe key is kept, in milliseconds.
    public static let dedupeMsMax: UInt64 = 7 * 86_400_000
    /// The audit file, as given; nil for the log.
    public var auditFile: String?
    /// Limits of the listeners.
    public var limits = ListenerLimits()
    /// The device registry's own address, `devices.listen` in the file; nil if it uses `listen`.
    public var devicesListen: ListenAddress?
    /// Whether changed files of the configuration are applied automatically.
    public var watch = false
    /// How much history is kept for traces.
    public var history = HistoryLimits()
    /// Where spans are sent; nil for nowhere.
    public var tracing: TracingSettings?
    /// Which dead letters are kept.
    public var dead = DeadSettings()
    /// One of `LogLevels.all`.
    public var logLevel = "info"
    /// `text` or `json`.
    public var logFormat = "text"
    /// How log lines name users: `plain`, `hashed` or `none`.
    public var logUsers = "hashed"

    /// The defaults.
    public init() {}
}

/// `gateway.limits`.
public struct ListenerLimits: Sendable, Hashable {
    /// Most connections of the public listener; nil for as many as the file descriptors allow, up to 10,000.
    public var connections: Int?
    /// Most requests per second and client address; 0 for no limit.
    public var clientRate = 0
    /// Most requests per second and source, and for the device registry; 0 for no limit.
    public var sourceRate = 0
    /// Most authorization codes per second and client address; 0 for no limit.
    public var codeRate = 10
    /// Most changes per second and user (`devices.users`); 0 for no limit.
    public var userRate = 20
    /// Most devices per event, after its users were looked up.
    public var devicesPerEvent = 100_000

    /// The defaults.
    public init() {}
}

/// `gateway.tls`.
public struct TLSSettings: Sendable {
    /// Certificate chain, PEM.
    public var certificate: [UInt8]
    /// Private key, PEM.
    public var key: [UInt8]
    /// Roots of clients' certificates, PEM; nil if clients need no certificate.
    public var clientRoots: [UInt8]?
    /// Its position in the file.
    public var position: SourcePosition
}

/// Where a plugin's code runs.
public enum Isolation: String, Sendable, CaseIterable {
    /// In the gateway's process.
    case none
    /// In its own process.
    case process
    /// In its own process, confined by a sandbox.
    case sandbox
}

/// One entry of `plugins:`.
public struct PluginSettings: Sendable {
    /// The instance's name.
    public var name: String
    /// The position of the name.
    public var position: SourcePosition
    /// `Zendesk`, or a path.
    public var library: String
    /// Whether the library's value comes from a variable or file, so that messages must not show it.
    public var isLibrarySecret = false
    /// The position of the library.
    public var libraryPosition: SourcePosition
    /// The SHA-256 that the library's file must have, in hexadecimal; nil for any.
    public var sha256: String?
    /// Where its code runs.
    public var isolation: Isolation
    /// Whether its code runs in its own process.
    public var isIsolated: Bool { isolation != .none }
    /// The position of `isolation`.
    public var isolationPosition: SourcePosition
    /// How long dedupe keys of its events are kept, in milliseconds, overriding the plugin; 0 to keep none, nil for the
    /// plugin's own choice.
    public var dedupeMs: UInt64?
    /// The proxy of its connections, which may contain a password; nil for that of the environment.
    public var proxy: String?
    /// The position of `proxy`.
    public var proxyPosition: SourcePosition
    /// The config, not yet checked against the plugin's schema; nil if the file has none.
    public var config: ConfigValue?
}

/// One entry of `routes:`, with the positions of values that only plugins can check.
public struct RouteSettings: Sendable {
    /// The route.
    public var route: Route
    /// Its position in the file.
    public var position: SourcePosition
    /// The position of each source.
    public var sourcePositions: [String: SourcePosition]
    /// Its filters as given, in the order of `route.filters`.
    public var filters: [(position: SourcePosition, options: ConfigValue?)]
    /// The position of the builder.
    public var builderPosition: SourcePosition
    /// The builder's options as given.
    public var builderOptions: ConfigValue?
    /// The position of each sender.
    public var senderPositions: [String: SourcePosition]
    /// The route as given.
    public var given: ConfigValue
    /// Fields that its condition and templates read, each with its position.
    public var fields: [(path: FieldPath, position: SourcePosition)]
    /// Event types in its condition.
    public var types: [(name: String, position: SourcePosition)]
    /// Texts that its condition compares with fields, as written.
    package var literals: [(path: FieldPath, text: String, position: SourcePosition)] = []
    /// How many of `fields` its condition reads; these come first.
    package var conditionFieldCount = 0
    /// Data fields written in full, `data.typ`.
    package var speltFields: Set<String> = []
    /// The entry as JSON, to detect changes.
    public var text: String { given.json.text }
}

/// A configuration, checked as far as the file alone allows.
public struct GatewayConfig: Sendable {
    /// The file's path as given.
    public var file: String
    /// The file's text.
    public var text: [UInt8] = []
    /// The folder that relative paths start from.
    public var folder: String
    /// The folder for durable data, as a path.
    public var dataPath: String { path(gateway.dataFolder) }
    /// The whole file as given; nil if it is not YAML.
    public var given: ConfigValue?
    /// A path in the file, resolved against its folder unless it is absolute.
    public func path(_ given: String) -> String {
        given.hasPrefix("/") ? given : "\(folder)/\(given)"
    }
    /// The path of `gateway.audit`; nil for the log.
    public var auditPath: String? {
        gateway.auditFile.map { $0.hasPrefix("/") ? $0 : "\(folder)/\($0)" }
    }
    /// The position for faults of the whole file.
    public var start: SourcePosition { SourcePosition(file: file, line: 1, column: 1) }
    /// `gateway:`.
    public var gateway = GatewaySettings()
    /// `plugins:`, in the file's order.
    public var plugins: [PluginSettings] = []
    /// `devices.clients`.
    public var deviceClients: [DeviceClient] = []
    /// `devices.users`.
    public var deviceUsers: [DeviceUsers] = []
    /// `devices.report`: the instances that get reports about an app's devices.
    public var deviceListeners = DeviceListeners()
    /// Every mention of an instance in `devices.report`, in file order.
    public var deviceReports: [(instance: String, position: SourcePosition)] = []
    /// `outcomes:`, in the file's order.
    public var outcomeReceivers: [OutcomeReceiver] = []
    /// `texts:` as JSON, to detect changes; empty without texts.
    public var texts = ""
    /// `routes:`, in the file's order.
    public var routes: [RouteSettings] = []
    /// Positions of stand-ins for missing values.
    public var standIns: Set<SourcePosition> = []
    /// Positions of values whose variable or file was empty.
    package var blanks: Set<SourcePosition> = []
    /// Files that values were read from (`${file:path}`), in file order.
    package var files: [FilledFile] = []
    /// `tests:`, in the file's order.
    public var tests: [RouteTest] = []
}
