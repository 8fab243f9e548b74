/// What a plugin says of itself.
public struct PluginInfo: Sendable {
    /// `com.example.apns`: unique, never changes.
    public var id: String
    /// `1.4.2`.
    public var version: String
    /// One line for `signalbox plugins list`.
    public var summary: String
    /// JSON Schema of the config; nil: takes none.
    public var configSchema: String?
    /// The lowest minor of contract 1 that the plugin runs on; an older host refuses to load it.
    public var needsMinor: UInt32 = 0
    /// Services the plugin cannot run without, besides JSON and the clock: `sbx.sign/1`.
    public var needs: [String] = []
    /// The host never calls two role functions of one instance at the same time.
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

/// A plugin: a type whose objects are instances with a config.
///
/// It has the roles whose protocols it conforms to. Life: `init`, `start`, calls of the roles, `stop`,
/// `deinit`. `init`, `start` and `stop` are called on one thread, one at a time.
public protocol Plugin: AnyObject, Sendable {
    /// What it is.
    static var info: PluginInfo { get }
    /// Makes an instance.
    ///
    /// `config` fits the schema. No network, no threads yet.
    init(host: Host, config: JSON) throws(PluginError)
    /// Ready to work: define credentials here.
    func start() throws(PluginError)
    /// Ends everything; afterwards no thread or callback of the instance runs.
    func stop()
}

extension Plugin {
    /// Nothing to do.
    public func start() throws(PluginError) {}
    /// Nothing to do.
    public func stop() {}
}

/// Bytes in, events and an answer out.
public protocol IngestPlugin: Plugin {
    /// Paths that the instance serves; asked once, after `start`.
    var paths: [IngestPath] { get }
    /// One request.
    ///
    /// Throwing discards what was emitted; status `invalid` is answered 400, `auth` 401, `notFound` 404,
    /// `tooLarge` 413, `again` 503, else 500. Thread: several at once; must not block.
    func handle(_ request: borrowing Request, _ sink: borrowing IngestSink) throws(PluginError)
}

/// An event and its recipients in, neutral notifications out.
public protocol BuildPlugin: Plugin {
    /// JSON Schema of a route's `build.options`; nil: takes none.
    static var optionsSchema: String? { get }
    /// Pure: same input, same output.
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
    /// Most deliveries or responses per call; 0: the host's choice.
    static var maxBatch: Int { get }
    /// Where to connect for an app; empty: the default app.
    ///
    /// Throw `notFound` if there is no such app.
    func endpoint(app: String) throws(PluginError) -> Endpoint
    /// Renders deliveries of one app: each ends up in one request or one outcome.
    ///
    /// Throw `again` before anything was sent if a credential is on its way. Thread: several at once; must
    /// not block.
    func prepare(_ batch: borrowing DeliveryBatch, _ sink: borrowing RequestSink)
        throws(PluginError)
    /// Settles every item of every response, or sends again for it.
    ///
    /// Thread: several at once; must not block.
    func classify(_ batch: borrowing ResponseBatch, _ sink: borrowing RequestSink)
        throws(PluginError)
}

extension SendHTTPPlugin {
    /// The host's choice.
    public static var maxBatch: Int { 0 }
}
