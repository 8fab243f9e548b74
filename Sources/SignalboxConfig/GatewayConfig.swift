public import SignalboxCore

/// The `gateway:` section.
public struct GatewaySettings: Sendable {
    /// Where webhooks come in; nil: nowhere, requests are handed in by the embedding program.
    public var listen: ListenAddress? = ListenAddress(host: "127.0.0.1", port: 8080)
    /// Where operators look; nil: nowhere.
    public var admin: ListenAddress? = ListenAddress(host: "127.0.0.1", port: 8081)
    /// Hosts that clients of `admin` may name, beside its address and those of this machine.
    public var adminHosts: [String] = []
    /// What clients of `admin` send as bearer token; nil: nothing.
    ///
    /// Never logged.
    public var adminToken: String?
    /// Where `admin` stands, or else the section; nil: nowhere.
    public var adminPosition: SourcePosition?
    /// Sources whose events the embedding program submits.
    public var sources: [String] = []
    /// TLS of `listen`; nil: plain HTTP, with TLS in front.
    public var tls: TLSSettings?
    /// Folder for durable data.
    public var dataFolder = "./data"
    /// How long a stop waits for what is under way, in milliseconds.
    public var drainMs: UInt64 = 30_000
    /// How long the dedupe key of an event is remembered whose plugin does not say it, in milliseconds;
    /// 0: not at all.
    public var dedupeMs: UInt64 = 600_000
    /// The longest that a key is remembered, in milliseconds.
    public static let dedupeMsMax: UInt64 = 7 * 86_400_000
    /// `trace`, `debug`, `info`, `warning`, `error`.
    public var logLevel = "info"
    /// `text` or `json`.
    public var logFormat = "text"
    /// How log lines name users: `plain`, `hashed` or `none`.
    public var logUsers = "hashed"

    /// The defaults.
    public init() {}
}

/// `gateway.tls`.
public struct TLSSettings: Sendable {
    /// Certificate chain, PEM.
    public var certificate: [UInt8]
    /// Private key, PEM.
    public var key: [UInt8]
    /// Roots of clients' certificates, PEM; nil: none is asked for.
    public var clientRoots: [UInt8]?
    /// Where it stands.
    public var position: SourcePosition
}

/// One entry of `plugins:`.
public struct PluginSettings: Sendable {
    /// The instance's name.
    public var name: String
    /// Where the name stands.
    public var position: SourcePosition
    /// `Zendesk`, or a path.
    public var library: String
    /// Where the library stands.
    public var libraryPosition: SourcePosition
    /// Its code runs in a process of its own.
    public var isIsolated: Bool
    /// Where that stands.
    public var isolationPosition: SourcePosition
    /// How long the keys of its events are remembered, in milliseconds, whatever the plugin says; 0: not at
    /// all; nil: as the plugin says.
    public var dedupeMs: UInt64?
    /// What the plugin's schema is for; nil: nothing given.
    public var config: ConfigValue?
}

/// One entry of `routes:`, with the places of what only the plugins can judge.
public struct RouteSettings: Sendable {
    /// The route.
    public var route: Route
    /// Where it stands.
    public var position: SourcePosition
    /// Where each source stands.
    public var sourcePositions: [String: SourcePosition]
    /// Where the builder stands.
    public var builderPosition: SourcePosition
    /// The builder's options as they were given.
    public var builderOptions: ConfigValue?
    /// Where each sender stands.
    public var senderPositions: [String: SourcePosition]
}

/// A configuration that is sound as far as the file alone can say.
public struct GatewayConfig: Sendable {
    /// The file's path as it was given.
    public var file: String
    /// The folder that relative paths begin in.
    public var folder: String
    /// The folder for durable data, as a path.
    public var dataPath: String {
        let given = gateway.dataFolder
        return given.hasPrefix("/") ? given : "\(folder)/\(given)"
    }
    /// Where faults of the file as a whole are reported.
    public var start: SourcePosition { SourcePosition(file: file, line: 1, column: 1) }
    /// `gateway:`.
    public var gateway = GatewaySettings()
    /// `plugins:`, in the file's order.
    public var plugins: [PluginSettings] = []
    /// `devices.clients`.
    public var deviceClients: [DeviceClient] = []
    /// `devices.users`.
    public var deviceUsers: [DeviceUsers] = []
    /// `devices.report`: who gets reports about an app's devices.
    public var deviceListeners = DeviceListeners()
    /// `outcomes:`, in the file's order.
    public var outcomeReceivers: [OutcomeReceiver] = []
    /// `routes:`, in the file's order.
    public var routes: [RouteSettings] = []
}
