internal import SignalboxCore
internal import SignalboxThreads
internal import Synchronization

/// A plugin with a config whose code runs in its own process. If the process ends, the calls under way
/// fail and the process is restarted.
///
/// `@unchecked Sendable`: `control` is set before the object is handed out.
public final class IsolatedInstance: HostedInstance, @unchecked Sendable {
    struct State {
        /// The current process, whether it serves or is still starting.
        var child: IsolatedChild?
        /// Whether the process serves.
        var isUp = false
        /// The roles, once known; from then on a process that ends is restarted.
        var facts: RoleFacts?
        var limits = Limits()
        /// A new process is starting; a stop need not wait for it.
        var isMaking = false
        var isStopping = false
        var upSinceNs: UInt64 = 0
        /// When a new process is due, in monotonic nanoseconds; nil if none is.
        var dueNs: UInt64?
        /// When the next delivery may be offered to its transport, in monotonic nanoseconds; nil if nobody waits for that.
        var roomNs: UInt64?
        var backOff: BackOff
        /// Why the last attempt to start a new process failed; nil if no attempt has failed since the last start.
        var lastFault: String?
    }

    struct Listeners {
        var credentialReady: @Sendable () -> Void = {}
        var endpointsChanged: @Sendable () -> Void = {}
        var room: @Sendable () -> Void = {}
        var batch: (@Sendable (BatchMessage, IsolatedChild) throws(WireFault) -> Void)?
        /// The source reports its condition.
        var condition: @Sendable (PluginFault?) -> Void = { _ in }
        /// A process serves in place of one that has ended.
        var again: @Sendable (IsolatedChild) -> Void = { _ in }
    }

    /// Name in gateway.yaml.
    public let name: String
    let library: PluginDescriptor
    let options: IsolationOptions
    let services: any HostServices
    let program: (name: String, version: String)
    let config: String
    let plan: ConfinementPlan
    let secrets: SecretBox
    let state: Gate<State>
    let listeners = Mutex(Listeners())
    /// Deliveries that the plugin's own transport held when the process ended.
    let sending = Mutex(PoisonTracker())
    private(set) var control: ControlThread?
    let made = Mutex<PluginRoles?>(nil)
    /// Owner of these calls, for the watchdog of the worker threads.
    let callOwner: CallOwner

    private init(
        name: String, library: PluginDescriptor, config: CheckedConfig,
        program: (name: String, version: String), confinement: Confinement,
        options: IsolationOptions, services: any HostServices
    ) {
        self.name = name
        callOwner = CallOwner(name)
        self.library = library
        self.options = options
        self.services = services
        self.program = program
        self.config = config.json.text
        var plan = ConfinementPlan()
        plan.confinement = confinement
        plan.library = library.path
        plan.files = config.files.map(\.path)
        plan.omitted = options.omitted
        self.plan = plan
        secrets = SecretBox(config.secrets)
        state = Gate(State(backOff: BackOff(options)))
    }

    deinit {
        // Its process ends with the control thread.
        control?.stop()
    }

    /// Starts a process and creates the instance in it, from a config that fits the plugin's schema.
    ///
    /// Throws a fault of kind `lost` if the process ended meanwhile.
    public static func create(
        name: String, library: PluginDescriptor, config: CheckedConfig,
        program: String = "signalbox", version: String, confinement: Confinement = .process,
        options: IsolationOptions, services: any HostServices
    ) async throws(PluginFault) -> IsolatedInstance {
        guard !options.runner.isEmpty else {
            throw PluginFault(
                .unsupported, "isolated plugins need a runner program, and none is set")
        }
        let instance = IsolatedInstance(
            name: name, library: library, config: config, program: (program, version),
            confinement: confinement, options: options, services: services)
        let control = try ControlThread { [weak instance] in instance?.tick() }
        instance.control = control
        if case .some(.some(let fault)) = await control.value({ instance.open() }) {
            instance.state.update { $0.isStopping = true }
            control.stop()
            throw fault
        }
        return instance
    }

    /// Starts the instance.
    public func start(fetches: Bool) async throws(PluginFault) {
        guard let control else { throw PluginFault(.stopping, "the instance is stopped") }
        guard let begun = await control.value({ [self] in begin() }) else {
            throw PluginFault(.stopping, "the instance is stopped")
        }
        if let fault = begun { throw fault }
    }

    /// Sets a function to call whenever a credential has a new value, and when the process is up again.
    public func whenCredentialReady(_ body: @escaping @Sendable () -> Void) {
        listeners.withLock { $0.credentialReady = body }
    }

    /// Sets a function to call whenever its endpoints must be asked for again: the file of a secret has changed, or the
    /// plugin says so.
    public func whenEndpointsChange(_ body: @escaping @Sendable () -> Void) {
        listeners.withLock { $0.endpointsChanged = body }
    }

    /// Records that a provider refused a credential of this instance.
    public func credentialRefused(_ credential: String) {
        // A process that is restarting gets new credentials anyway.
        let child = state.update { $0.isUp ? $0.child : nil }
        child?.peer.tell(.credentialRefused) { $0.put(credential) }
    }

    /// Fetches the credentials that are missing, also if the last refresh failed.
    public func fetchCredentials() {
        state.update { $0.isUp ? $0.child : nil }?.peer.tell(.fetchCredentials) { _ in }
    }

    /// Whether its process has ended, and when the next one is due.
    public var outage: String? {
        state.update { state in
            guard state.facts != nil, !state.isUp, !state.isStopping else { return nil }
            let now = SystemClock.monotonicNs
            let what =
                state.lastFault.map { "it cannot be started again (\($0))" }
                ?? "its process has ended"
            guard let due = state.dueNs, due > now else {
                return "\(what), and another one is being started"
            }
            let seconds = (due - now + 999_999_999) / 1_000_000_000
            return "\(what), and another one is started in \(seconds) s"
        }
    }

    /// Stops and destroys it. A plugin that does not end in time is ended with its process, so none is ever
    /// abandoned.
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
