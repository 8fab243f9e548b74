internal import SignalboxCore
internal import SignalboxThreads
internal import Synchronization

/// A plugin with a config whose code runs in a process of its own. If the process ends, what was under way
/// there has failed, and it is started again.
///
/// `@unchecked Sendable`: `control` is set before the object is handed out.
public final class IsolatedInstance: HostedInstance, @unchecked Sendable {
    struct State {
        /// The current process, whether it serves or is still being made.
        var child: IsolatedChild?
        /// It serves.
        var isUp = false
        /// It served once, so it is started again when it ends.
        var facts: RoleFacts?
        var limits = Limits()
        /// A new one is being made; a stop need not wait for that.
        var isMaking = false
        var isStopping = false
        var upSinceNs: UInt64 = 0
        /// When a new one is due, in monotonic nanoseconds; nil: none is.
        var dueNs: UInt64?
        var backOff: BackOff
    }

    struct Listeners {
        var credentialReady: @Sendable () -> Void = {}
        var secretsChanged: @Sendable () -> Void = {}
        var room: @Sendable () -> Void = {}
    }

    /// Name in gateway.yaml.
    public let name: String
    let library: PluginDescriptor
    let options: IsolationOptions
    let services: any HostServices
    let program: (name: String, version: String)
    let config: String
    let secrets: SecretBox
    let state: Gate<State>
    let listeners = Mutex(Listeners())
    /// Deliveries that a transport of the plugin's own had when the process ended.
    let sending = Mutex(Suspects())
    private(set) var control: ControlThread?
    let made = Mutex<PluginRoles?>(nil)

    private init(
        name: String, library: PluginDescriptor, config: CheckedConfig,
        program: (name: String, version: String), options: IsolationOptions,
        services: any HostServices
    ) {
        self.name = name
        self.library = library
        self.options = options
        self.services = services
        self.program = program
        self.config = config.json.text
        secrets = SecretBox(config.secrets)
        state = Gate(State(backOff: BackOff(options)))
    }

    deinit {
        // Its process ends with the control thread.
        control?.stop()
    }

    /// Starts a process and creates the instance there, from a config that fits the plugin's schema.
    ///
    /// A fault of kind `lost`: the process ended while it did that.
    public static func create(
        name: String, library: PluginDescriptor, config: CheckedConfig,
        program: String = "signalbox", version: String, options: IsolationOptions,
        services: any HostServices
    ) async throws(PluginFault) -> IsolatedInstance {
        guard !options.runner.isEmpty else {
            throw PluginFault(
                .unsupported, "this program has not said which program runs isolated plugins")
        }
        let instance = IsolatedInstance(
            name: name, library: library, config: config, program: (program, version),
            options: options, services: services)
        let control = ControlThread { [weak instance] in instance?.tick() }
        instance.control = control
        if case .some(.some(let fault)) = await control.value({ instance.open() }) {
            instance.state.update { $0.isStopping = true }
            control.stop()
            throw fault
        }
        return instance
    }

    /// Makes it ready to work.
    public func start() async throws(PluginFault) {
        guard let control else { throw PluginFault(.stopping, "the instance is stopped") }
        guard let begun = await control.value({ [self] in begin() }) else {
            throw PluginFault(.stopping, "the instance is stopped")
        }
        if let fault = begun { throw fault }
    }

    /// Calls this whenever a credential has a new value, and when the process is up again.
    public func whenCredentialReady(_ body: @escaping @Sendable () -> Void) {
        listeners.withLock { $0.credentialReady = body }
    }

    /// Calls this whenever the file of a secret has changed.
    public func whenSecretsChange(_ body: @escaping @Sendable () -> Void) {
        listeners.withLock { $0.secretsChanged = body }
    }

    /// A provider refused a credential of this instance.
    public func credentialRefused(_ credential: String) {
        // A process that is being started again gets new credentials anyway.
        let child = state.update { $0.isUp ? $0.child : nil }
        child?.peer.tell(.credentialRefused) { $0.put(credential) }
    }

    /// Stops and destroys it. What does not end in time is ended with its process, so nothing is ever left
    /// behind.
    public func stop(deadlineMs: UInt64) async -> Bool {
        guard let control else { return true }
        let halfMade = state.update { state -> IsolatedChild? in
            state.isStopping = true
            state.dueNs = nil
            return state.isMaking ? state.child : nil
        }
        halfMade?.kill(because: "the gateway stops")
        _ = await control.value { [self] in close(deadlineMs) }
        control.stop()
        return true
    }
}
