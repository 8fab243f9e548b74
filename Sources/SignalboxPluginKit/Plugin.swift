/// What a plugin says about itself.
public struct PluginInfo: Sendable {
    /// `com.example.apns`: unique, never changes.
    public var id: String
    /// `1.4.2`.
    public var version: String
    /// One line for `signalbox plugins list`.
    public var summary: String
    /// JSON Schema of the config; nil if it takes none.
    public var configSchema: String?
    /// The lowest minor of contract 1 that the plugin runs on; an older host refuses to load it.
    public var needsMinor: UInt32 = 0
    /// Services the plugin cannot run without, besides JSON and the clock: `sbx.sign/1`.
    public var needs: [String] = []
    /// Whether the host must never call two role functions of one instance at the same time.
    public var isSerial = false

    /// Makes the info.
    public init(
        id: String, version: String, summary: String, configSchema: String? = nil,
        needsMinor: UInt32 = 0, needs: [String] = [], isSerial: Bool = false
    ) {
        self.id = id
        self.version = version
        self.summary = summary
        self.configSchema = configSchema
        self.needsMinor = needsMinor
        self.needs = needs
        self.isSerial = isSerial
    }
}

/// A plugin: a type whose objects are configured instances.
///
/// It has the roles whose protocols it conforms to. Its lifecycle is `init`, `start`, role calls, `stop`,
/// `deinit`. `init`, `start` and `stop` are called on one thread, one at a time.
public protocol Plugin: AnyObject, Sendable {
    /// What the plugin says about itself.
    static var info: PluginInfo { get }
    /// Makes an instance.
    ///
    /// `config` fits the schema. Do not use the network or start threads yet.
    init(host: Host, config: JSON) throws(PluginError)
    /// Starts the instance; define credentials here.
    func start() throws(PluginError)
    /// Stops the instance; afterwards none of its threads or callbacks may run.
    func stop()
}

extension Plugin {
    /// Does nothing.
    public func start() throws(PluginError) {}
    /// Does nothing.
    public func stop() {}
}

/// Bytes in, events and an answer out.
public protocol IngestPlugin: Plugin {
    /// Paths that the instance serves; asked for once, after `start`.
    var paths: [IngestPath] { get }
    /// Handles one request.
    ///
    /// Throwing discards what was emitted; status `invalid` is answered 400, `auth` 401, `notFound` 404,
    /// `tooLarge` 413, `again` 503, any other 500. Thread: several at once; must not block.
    func handle(_ request: borrowing Request, _ sink: borrowing IngestSink) throws(PluginError)
}

/// An event and its recipients in, neutral notifications out.
public protocol BuildPlugin: Plugin {
    /// JSON Schema of a route's `build.options`; nil if it takes none.
    static var optionsSchema: String? { get }
    /// Builds notifications. It must be pure: the same input gives the same output.
    ///
    /// Thread: several at once; must not block.
    func build(_ input: borrowing BuildInput, _ sink: borrowing BuildSink) throws(PluginError)
}

extension BuildPlugin {
    /// Takes no options.
    public static var optionsSchema: String? { nil }
}

/// Deliveries in, HTTP/2 requests out; responses in, outcomes out.
public protocol SendHTTPPlugin: Plugin {
    /// Most deliveries or responses per call; 0 if the host chooses.
    static var maxBatch: Int { get }
    /// Where to connect for an app; an empty name is the default app.
    ///
    /// Throw `notFound` if the app is unknown.
    func endpoint(app: String) throws(PluginError) -> Endpoint
    /// Renders deliveries of one app: each ends up in one request or one outcome.
    ///
    /// Throw `again` before anything was sent if a credential is not available yet. Thread: several at once;
    /// must not block.
    func prepare(_ batch: borrowing DeliveryBatch, _ sink: borrowing RequestSink)
        throws(PluginError)
    /// Settles every item of every response, or sends another request for it.
    ///
    /// Thread: several at once; must not block.
    func classify(_ batch: borrowing ResponseBatch, _ sink: borrowing RequestSink)
        throws(PluginError)
}

extension SendHTTPPlugin {
    /// The host chooses.
    public static var maxBatch: Int { 0 }
}
