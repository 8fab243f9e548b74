internal import CSignalbox
public import SignalboxCore

/// A path that an instance serves.
public struct IngestPath: Sendable, Hashable {
    /// `/in/zendesk/s3cret`, `/orgs/{org}/devices`.
    public var pattern: String
    /// `POST`, ...
    public var methods: [String]

    /// Makes a path.
    public init(pattern: String, methods: [String]) {
        self.pattern = pattern
        self.methods = methods
    }
}

/// An inbound request for a plugin.
public struct IngestRequest: Sendable {
    /// `POST`.
    public var method: String
    /// Without query.
    public var path: String
    /// Behind the `?`, or empty.
    public var query = ""
    /// The peer's address.
    public var remote = ""
    /// The pattern that matched.
    public var pattern: String
    /// Raw bytes.
    public var body: [UInt8]
    /// Values of the pattern's `{name}` segments.
    public var params: [Attribute] = []
    /// Names in lower case.
    public var headers: [Attribute] = []
    /// Subject of the client's certificate under mutual TLS, or empty.
    public var clientCertificate = ""
    /// When it came in.
    public var receivedUnixMs: UInt64

    /// Makes a request.
    public init(
        method: String, path: String, pattern: String, body: [UInt8], receivedUnixMs: UInt64
    ) {
        self.method = method
        self.path = path
        self.pattern = pattern
        self.body = body
        self.receivedUnixMs = receivedUnixMs
    }
}

/// What a plugin made of a request.
public struct IngestResult: Sendable {
    /// An answer that the plugin wrote itself.
    public struct Answer: Sendable {
        /// 200, 202, ...
        public var status: UInt32
        /// Header fields.
        public var headers: [Attribute]
        /// Body.
        public var body: [UInt8]
    }
    /// An item that was left out.
    public struct Reject: Sendable {
        /// From a closed list of the plugin.
        public var reason: String
        /// For people; no token or body.
        public var detail: String
    }

    /// What happened; empty after a failure.
    public var events: [Event] = []
    /// Devices that came or went.
    public var changes: [DeviceChange] = []
    /// What was left out.
    public var rejects: [Reject] = []
    /// The plugin's own answer, if it gave one.
    public var answer: Answer?
    /// Why the request failed; nil: it did not.
    public var fault: PluginFault?

    /// Nothing yet.
    public init() {}
}

/// The ingest role of an instance.
public final class IngestRole: Sendable {
    /// The paths that it serves.
    public let paths: [IngestPath]
    /// The instance.
    public let instance: PluginInstance
    private let table: sbx_ingest
    private let limits: Limits

    /// The role, or nil: the plugin does not have it; asks for its paths, so after `start`.
    public init?(_ instance: PluginInstance, limits: Limits) async throws(PluginFault) {
        guard let given = instance.role(SBX_ROLE_INGEST, sbx_ingest.self) else { return nil }
        self.instance = instance
        self.limits = limits
        let table = Tables.ingest(given)
        self.table = table
        let (context, structs) = (instance.context, instance.context.structs)
        let asked = await instance.controlled { raw, _ -> Result<[IngestPath], PluginFault> in
            var start: UnsafePointer<sbx_ingest_path>?
            var count = 0
            var stride = 0
            let status = table.paths(raw.instance, &start, &count, &stride)
            guard status == SBX_OK else {
                return .failure(PluginFault(status: status, error: .fresh))
            }
            guard let start, count > 0 else { return .success([]) }
            do throws(StructFault) {
                return .success(try structs.paths(start, count, stride: stride))
            } catch {
                let words = error.words(in: "paths()")
                context.misbehaved(words)
                return .failure(PluginFault(.invalid, words))
            }
        }
        paths = try (asked ?? .failure(PluginFault(.stopping, "the instance is stopped"))).get()
    }

    /// Hands a request to the plugin; `done` is called once, on this thread or a later one.
    ///
    /// Thread: worker.
    public func handle(
        _ request: IngestRequest, done: @escaping @Sendable (IngestResult) -> Void
    ) {
        _ = begin(request, done: done)
    }

    /// The same; how long the request may still stay open, in milliseconds, if the plugin has deferred it.
    func begin(
        _ request: IngestRequest, done: @escaping @Sendable (IngestResult) -> Void
    ) -> UInt32? {
        let sink = IngestSink(
            context: instance.context, limits: limits, receivedUnixMs: request.receivedUnixMs,
            done: done)
        let result = instance.work { raw, arena -> (sbx_status, sbx_error) in
            let given = arena.make(sbx_request.self)
            given.pointee.struct_size = UInt32(MemoryLayout<sbx_request>.size)
            given.pointee.method = arena.text(request.method)
            given.pointee.path = arena.text(request.path)
            given.pointee.query = arena.text(request.query)
            given.pointee.remote = arena.text(request.remote)
            given.pointee.pattern = arena.text(request.pattern)
            given.pointee.body = arena.bytes(request.body)
            given.pointee.client_certificate = arena.text(request.clientCertificate)
            given.pointee.params = arena.pairs(request.params)
            given.pointee.param_count = request.params.count
            given.pointee.headers = arena.pairs(request.headers)
            given.pointee.header_count = request.headers.count
            given.pointee.received_unix_ms = request.receivedUnixMs
            var error = sbx_error.fresh
            let status = table.handle(raw, given, sink.table, &error)
            return (status, error)
        }
        guard let (status, error) = result else {
            sink.end(fault: PluginFault(.stopping, "the gateway is stopping"))
            return nil
        }
        return sink.returned(status == SBX_OK ? nil : PluginFault(status: status, error: error))
    }
}
