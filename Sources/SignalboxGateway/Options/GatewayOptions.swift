internal import Glibc
public import Logging
public import SignalboxConfig
public import SignalboxCore
public import SignalboxPluginHost
internal import SignalboxStore
internal import SignalboxThreads

/// How a gateway is run.
public struct GatewayOptions: Sendable {
    /// Path of gateway.yaml.
    public var configPath: String
    /// Variables and files that the configuration may read.
    public var environment: ConfigEnvironment
    /// Where plugins are looked for.
    public var searchPath: PluginSearchPath
    /// Overrides `gateway.listen`.
    public var listen: ListenAddress?
    /// Overrides `gateway.admin`.
    public var admin: ListenAddress?
    /// Listening sockets passed to the process, for the two listeners.
    package private(set) var sockets = HandedSockets.none
    /// The service manager to notify of the gateway's state.
    package private(set) var supervisor: Supervisor?
    /// Where log lines go; nil for standard error, as `gateway.log` says.
    public var logger: Logger?
    /// The program that takes log lines if there is no `logger`.
    var programLog: ProgramLog?
    /// Overrides `gateway.data`.
    public var dataFolder: String?
    /// Largest database file, in bytes; 0 for no limit but the disk.
    public var dataBytesMax = 0
    /// Most lanes (senders and apps) at a time; nil for the default.
    package var lanesMax: Int?
    /// Plugins linked into the program, by the name used in `library:`.
    public private(set) var linked: [String: PluginLibrary] = [:]
    /// The program's name and version, as plugins see them.
    public var program = (name: "signalbox", version: Release.version)
    /// Called for each outcome of a delivery, on a thread of the gateway; must return soon.
    public var onOutcome: (@Sendable (DeliveryOutcome) -> Void)?
    /// Milliseconds since 1970; replace it to use virtual time.
    public var nowUnixMs: @Sendable () -> UInt64 = { SystemClock.unixMs } {
        didSet { hasSystemClock = false }
    }
    /// Whether the clock is the system's.
    package private(set) var hasSystemClock = true
    /// How plugins with `isolation: process` are run.
    public var isolation = IsolationOptions()

    /// Whether this machine has the variables and files that the configuration names. If false, only checks that need
    /// none of them run, which excludes the data folder and certificates.
    public var hasSecrets = true

    /// Free bytes on the disk of a folder.
    package var freeBytes: @Sendable (String) -> UInt64 = { DiskSpace.free($0) }

    /// Whether the configuration is only checked, possibly by another user than the gateway's.
    package var isCheck = false

    /// A store to use instead of the database in the data folder; `StoreConformance` defines its contract.
    public var store: (any GatewayStore)?

    /// Called during startup once the store is open; nothing has been done before.
    public var onStore: @Sendable () -> Void = {}

    /// Makes options for the process's own environment.
    public init(configPath: String) {
        self.configPath = configPath
        environment = .process
        searchPath = .standard(environment: environment.variables)
    }

    /// How often watched files are checked, in milliseconds; a change is applied once two checks agree.
    public var watchIntervalMs: UInt64 = 1_000

    /// Options that the program was started with take precedence over the file.
    package func override(_ settings: inout GatewaySettings) {
        settings.listen = listen ?? settings.listen
        settings.admin = admin ?? settings.admin
        guard let dataFolder else { return }
        let here = getcwd(nil, 0)
        defer { free(here) }
        let isWhole = dataFolder.hasPrefix("/")
        settings.dataFolder =
            isWhole ? dataFolder : (here.map { String(cString: $0) } ?? ".") + "/" + dataFolder
    }

    /// The folder that relative paths of the configuration start from.
    var configFolder: String {
        configPath.lastIndex(of: "/").map { String(configPath[..<$0]) } ?? "."
    }

    /// The configuration as far as it can be read, for commands that need only a few settings: a plugin's fault must
    /// not keep an operator from inspecting the store.
    package func readableConfig() throws(ConfigurationError) -> GatewayConfig {
        let (config, diagnostics) = GatewayConfig.load(configPath, environment: environment)
        // If the file is not YAML, nothing is known, not even which gateway to ask.
        if let first = diagnostics.first,
            first.position == config.start || first.code == "not-yaml" && admin == nil
        {
            throw ConfigurationError(diagnostics: [first])
        }
        return config
    }

    /// Takes the configuration from text; its relative paths start from `folder`.
    public mutating func setConfig(text: String, folder: String) {
        let path = "\(folder.isEmpty ? "." : folder)/gateway.yaml"
        configPath = path
        let bytes = Array(text.utf8)
        let read = environment.readFile
        environment.readFile = { $0 == path ? .success(bytes) : read($0) }
    }

    /// The same options with the configuration from text, if given; its relative paths start from the same folder as
    /// before.
    public func with(text: String?) -> GatewayOptions {
        guard let text else { return self }
        var out = self
        out.setConfig(text: text, folder: configFolder)
        return out
    }

    /// Disables logging.
    public mutating func silence() {
        logger = Logger(label: "signalbox") { _ in SwiftLogNoOpLogHandler() }
    }

    /// Offers a plugin linked into the program as `library: NAME`; `entry` is its `sbx_plugin_entry_v1`. Calls it;
    /// throws if the plugin refuses.
    public mutating func addPlugin(
        _ name: String, entry: UnsafeRawPointer
    ) throws(LoadFault) {
        linked[name] = try PluginLibrary.linked(name, entry: entry)
    }

    /// Searches for plugins in `SIGNALBOX_PLUGINS`, then in this folder and its `signalbox`.
    public mutating func searchBeside(_ folder: String?) {
        searchPath = .standard(environment: environment.variables, beside: folder)
    }

    /// Names a `signalbox` program, with its first arguments: plugins with `isolation: process` run in it.
    public mutating func setRunner(_ command: [String]) { isolation.runner = command }

    /// Searches for plugins in these folders first.
    public mutating func addPluginFolders(_ folders: [String]) {
        searchPath.folders = folders + searchPath.folders
    }

    /// Works with the service manager that started the program, using systemd's protocol. Takes the listening sockets
    /// it passes: the one named `admin` (`FileDescriptorName=`) for the admin listener, the other for webhooks.
    /// Notifies it when the gateway is ready, reloads and stops, and feeds its watchdog.
    ///
    /// Does nothing without a service manager. Call it once per process; throws if a socket cannot be used.
    public mutating func joinSupervisor() throws(ListenError) {
        supervisor = try Supervisor(environment.variables)
        sockets = try HandedSockets(environment.variables)
        listen = sockets.listen.map(HandedSockets.address) ?? listen
        admin = sockets.admin.map(HandedSockets.address) ?? admin
    }

    /// Sets the public listener's address from text; false if the text is not an address.
    public mutating func setListen(_ text: String) -> Bool {
        listen = ListenAddress(text)
        return listen != nil
    }

    /// Sets the admin listener's address from text; false if the text is not an address.
    public mutating func setAdmin(_ text: String) -> Bool {
        admin = ListenAddress(text)
        return admin != nil
    }

    /// Overrides environment variables and files that the configuration names: a path that ends in a key is read from
    /// the key's value.
    public mutating func overlay(variables: [String: String], files: [String: String]) {
        environment.variables.merge(variables) { $1 }
        let read = environment.readFile
        environment.readFile = { path in
            let other = files.first { path.hasSuffix("/\($0.key)") }
            return read(other?.value ?? path)
        }
    }
}
