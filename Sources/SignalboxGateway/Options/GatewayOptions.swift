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
    /// Instead of `gateway.listen`.
    public var listen: ListenAddress?
    /// Instead of `gateway.admin`.
    public var admin: ListenAddress?
    /// Sockets that the process was started with, for the two listeners.
    package private(set) var sockets = HandedSockets.none
    /// Who wants to hear how the gateway is.
    package private(set) var supervisor: Supervisor?
    /// Where log lines go; nil: standard error, as `gateway.log` says.
    public var logger: Logger?
    /// Where log lines go if there is no `logger`.
    var programLog: ProgramLog?
    /// Instead of `gateway.data`.
    public var dataFolder: String?
    /// Largest database file, in bytes; 0: as large as the disk allows.
    public var dataBytesMax = 0
    /// Most senders and apps at a time; nil for the default.
    package var lanesMax: Int?
    /// Plugins that are linked into the program, by the name that `library:` gives.
    public private(set) var linked: [String: PluginLibrary] = [:]
    /// The program's name and version, as plugins see them.
    public var program = (name: "signalbox", version: Release.version)
    /// Called for each outcome of a delivery, on a thread of the gateway; must return soon.
    public var onOutcome: (@Sendable (DeliveryOutcome) -> Void)?
    /// Milliseconds since 1970; a clock of your own makes time virtual.
    public var nowUnixMs: @Sendable () -> UInt64 = { SystemClock.unixMs } {
        didSet { hasSystemClock = false }
    }
    /// The clock is the system's.
    package private(set) var hasSystemClock = true
    /// How plugins with `isolation: process` are run.
    public var isolation = IsolationOptions()

    /// Variables and files that the configuration names are on this machine; false only checks what needs none of them,
    /// and looks neither at the data folder nor at certificates.
    public var hasSecrets = true

    /// Free bytes on the disk of a folder.
    package var freeBytes: @Sendable (String) -> UInt64 = { DiskSpace.free($0) }

    /// The configuration is only checked, maybe by another user than the gateway's.
    package var isCheck = false

    /// A store of your own instead of the database in the data folder; `StoreConformance` says what it must do.
    public var store: (any GatewayStore)?

    /// Called while a gateway starts, when it has its store; it has done nothing until then.
    public var onStore: @Sendable () -> Void = {}

    /// Makes options for the process's own environment.
    public init(configPath: String) {
        self.configPath = configPath
        environment = .process
        searchPath = .standard(environment: environment.variables)
    }

    /// How often watched files are looked at, in milliseconds; a change is applied when two looks have found the same.
    public var watchIntervalMs: UInt64 = 1_000

    /// Settings that the program was started with stand above those of the file.
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

    /// The configuration as far as it can be read, for commands that use a few settings of it: a plugin's fault must not
    /// keep an operator from looking at the store.
    package func readableConfig() throws(ConfigurationError) -> GatewayConfig {
        let (config, diagnostics) = GatewayConfig.load(configPath, environment: environment)
        // Of a file that is no YAML nothing is known, not even whom to ask.
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

    /// The same options with the configuration from text, if it is given; its relative paths start from where those of
    /// the present one do.
    public func with(text: String?) -> GatewayOptions {
        guard let text else { return self }
        var out = self
        out.setConfig(text: text, folder: configFolder)
        return out
    }

    /// Turns the log off.
    public mutating func silence() {
        logger = Logger(label: "signalbox") { _ in SwiftLogNoOpLogHandler() }
    }

    /// Offers a plugin that is linked into the program as `library: NAME`; `entry` is its
    /// `sbx_plugin_entry_v1`. Runs it; throws if the plugin refuses.
    public mutating func addPlugin(
        _ name: String, entry: UnsafeRawPointer
    ) throws(LoadFault) {
        linked[name] = try PluginLibrary.linked(name, entry: entry)
    }

    /// Looks for plugins in `SIGNALBOX_PLUGINS`, then in this folder and its `signalbox`.
    public mutating func searchBeside(_ folder: String?) {
        searchPath = .standard(environment: environment.variables, beside: folder)
    }

    /// Names a `signalbox` program, with its first arguments: plugins with `isolation: process` run in it.
    public mutating func setRunner(_ command: [String]) { isolation.runner = command }

    /// Looks for plugins in these folders first.
    public mutating func addPluginFolders(_ folders: [String]) {
        searchPath.folders = folders + searchPath.folders
    }

    /// Works with the service manager that has started the program, in systemd's way. Takes the listening sockets
    /// that it hands over: the one named `admin` (`FileDescriptorName=`) for the admin listener, the other for
    /// webhooks. Tells it when the gateway is ready, reloads and stops, and feeds its watchdog.
    ///
    /// Does nothing if there is none. Call it once per process; throws if a socket cannot be used.
    public mutating func joinSupervisor() throws(ListenError) {
        supervisor = try Supervisor(environment.variables)
        sockets = try HandedSockets(environment.variables)
        listen = sockets.listen.map(HandedSockets.address) ?? listen
        admin = sockets.admin.map(HandedSockets.address) ?? admin
    }

    /// Sets the public listener's address from text; false: the text is not an address.
    public mutating func setListen(_ text: String) -> Bool {
        listen = ListenAddress(text)
        return listen != nil
    }

    /// Sets the admin listener's address from text; false: the text is not an address.
    public mutating func setAdmin(_ text: String) -> Bool {
        admin = ListenAddress(text)
        return admin != nil
    }

    /// Overrides variables of the environment and files that the configuration names: a path that ends in a key is
    /// read from the key's value.
    public mutating func overlay(variables: [String: String], files: [String: String]) {
        environment.variables.merge(variables) { $1 }
        let read = environment.readFile
        environment.readFile = { path in
            let other = files.first { path.hasSuffix("/\($0.key)") }
            return read(other?.value ?? path)
        }
    }
}
