public import SignalboxCore

/// A plugin with a config, wherever its code runs.
///
/// Thread: any, unless a function says otherwise.
public protocol HostedInstance: AnyObject, Sendable {
    /// Name in gateway.yaml.
    var name: String { get }
    /// Starts the instance; role functions are called only after this.
    ///
    /// If `fetches` is false, credentials are fetched only after `fetchCredentials`. Until then its thread is free for
    /// questions such as where requests go; an unresponsive token endpoint would block it for seconds. A plugin in a
    /// process of its own fetches at once.
    func start(fetches: Bool) async throws(PluginFault)
    /// Its roles; asked for once, after `start`.
    func roles(limits: Limits) async throws(PluginFault) -> PluginRoles
    /// Sets a function to call whenever a credential has a new value.
    func whenCredentialReady(_ body: @escaping @Sendable () -> Void)
    /// Sets a function to call whenever its endpoints must be asked for again: the file of a secret has changed, or the
    /// plugin says so.
    func whenEndpointsChange(_ body: @escaping @Sendable () -> Void)
    /// Records that a provider refused a credential of this instance.
    func credentialRefused(_ credential: String)
    /// Fetches missing credentials, even if the last refresh failed: the cause may have been fixed.
    func fetchCredentials()
    /// Why no call reaches it at the moment; nil if it serves, or has not begun.
    var outage: String? { get }
    /// Stops and destroys it; running calls have until the deadline. False if it did not end and was abandoned.
    func stop(deadlineMs: UInt64) async -> Bool
}

extension HostedInstance {
    /// An instance in the gateway's process lives as long as the gateway.
    public var outage: String? { nil }

    /// Starts the instance, and fetches credentials.
    public func start() async throws(PluginFault) { try await start(fetches: true) }
}

/// The roles of an instance; nil for those its plugin does not have.
public struct PluginRoles: Sendable {
    /// Bytes in, events out.
    public var ingest: (any Ingesting)?
    /// Between a route and its builder.
    public var filter: (any Filtering)?
    /// Events in, notifications out.
    public var build: (any Building)?
    /// Deliveries in, HTTP requests out.
    public var sendHTTP: (any Translating)?
    /// Deliveries in, over the plugin's own transport.
    public var send: (any Sending)?
    /// Device changes in, HTTP requests out.
    public var register: (any Reporting)?
    /// Outcomes in.
    public var observe: (any Observing)?
    /// Events out, whenever it has some.
    public var source: (any Sourcing)?

    /// No roles.
    public init() {}
}

/// The ingest role of an instance.
public protocol Ingesting: AnyObject, Sendable {
    /// The instance's name.
    var instanceName: String { get }
    /// The paths it serves.
    var paths: [IngestPath] { get }
    /// Hands a request to the plugin; `done` is called once, on this thread or later on another.
    ///
    /// Thread: worker.
    func handle(_ request: IngestRequest, done: @escaping @Sendable (IngestResult) -> Void)
}

/// The filter role of an instance.
public protocol Filtering: AnyObject, Sendable {
    /// Filters an event on a route.
    ///
    /// Thread: worker.
    func filter(
        _ event: Event, recipients: [Recipient], route: String, options: JSONText,
        nowUnixMs: UInt64
    ) -> Result<Filtered, PluginFault>
}

/// The build role of an instance.
public protocol Building: AnyObject, Sendable {
    /// Builds notifications.
    ///
    /// Thread: worker.
    func build(
        _ event: Event, recipients: [Recipient], route: String, options: JSONText
    ) -> Result<BuildResult, PluginFault>
}

/// A role that renders requests and reads answers: send-http and register.
public protocol Translating: Sendable {
    /// Most items per call; nil if the host chooses.
    var maxBatch: Int? { get }
    /// Where requests of an app go; an empty name is the default app.
    func endpoint(app: String) async throws(PluginFault) -> SendEndpoint
    /// Renders deliveries of one app.
    ///
    /// Thread: worker.
    func prepare(app: String, deliveries: [Delivery]) -> PrepareResult
    /// Turns responses into outcomes, and sometimes into further requests.
    ///
    /// Thread: worker.
    func classify(
        app: String, responses: [HTTPResponse]
    ) -> (settled: [Outcome], requests: RequestBatch)
}

/// The register role of an instance.
public protocol Reporting: Translating {
    /// Whether it wants changes of that kind.
    func wants(_ kind: DeviceChange.Kind) -> Bool
}

/// The send role of an instance: a transport of the plugin's own.
public protocol Sending: Sendable {
    /// Most deliveries per call; nil if the host chooses.
    var maxBatch: Int? { get }
    /// Offers deliveries. Returns how many the plugin took, counted from the first.
    ///
    /// `onOutcomes` gets exactly one outcome for each of those, on any thread, possibly before this
    /// returns. Thread: worker.
    func submit(
        app: String, deliveries: [Delivery],
        onOutcomes: @escaping @Sendable ([Outcome]) -> Void
    ) -> Result<Int, PluginFault>
    /// Sets a function to call when the plugin has room again after it took less than was offered.
    func whenRoom(_ body: @escaping @Sendable () -> Void)
}

/// The source role of an instance.
public protocol Sourcing: AnyObject, Sendable {
    /// The instance's name.
    var instanceName: String { get }
    /// The same for all roles of one instance.
    var instanceID: ObjectIdentifier { get }
    /// Lets it emit, with at most so many undecided batches. `take` gets each batch, on any thread, must not block, and
    /// returns false if there is no room. `onCondition` gets the reason if no events come in, and nil if they do.
    func resume(
        batchesMax: Int, take: @escaping @Sendable (SourceBatch) -> Bool,
        onCondition: @escaping @Sendable (PluginFault?) -> Void
    ) async throws(PluginFault)
    /// Lets it emit nothing more; what it has emitted is still to be decided.
    func pause() async throws(PluginFault)
}

/// The observe role of an instance.
public protocol Observing: Sendable {
    /// Most observations per call; nil if the host chooses.
    var maxBatch: Int? { get }
    /// Hands over a batch; `done` is called once, on this thread or later on another. No other batch may be handed
    /// over before.
    ///
    /// Thread: worker.
    func observe(_ batch: [Observation], done: @escaping @Sendable (ObserveVerdict) -> Void)
}

extension PluginInstance: HostedInstance {
    /// Its roles; asked for once, after `start`.
    public func roles(limits: Limits) async throws(PluginFault) -> PluginRoles {
        var roles = PluginRoles()
        roles.ingest = try await IngestRole(self, limits: limits)
        roles.filter = FilterRole(self)
        roles.build = BuildRole(self)
        roles.sendHTTP = SendHTTPRole(self)
        roles.send = SendRole(self)
        roles.register = RegisterRole(self)
        roles.source = SourceRole(self, limits: limits)
        roles.observe = ObserveRole(self)
        return roles
    }
}

extension IngestRole: Ingesting {
    /// The instance's name.
    public var instanceName: String { instance.name }
}
extension FilterRole: Filtering {}
extension BuildRole: Building {}
extension SendHTTPRole: Translating {}
extension RegisterRole: Reporting {}
extension SourceRole: Sourcing {}
extension ObserveRole: Observing {}
