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
    /// The part after the `?`, or empty.
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

/// The result of a request.
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
        /// From the plugin's fixed list of reasons.
        public var reason: String
        /// For people; no token or body.
        public var detail: String
    }

    /// Events; empty after a failure.
    public var events: [Event] = []
    /// Device changes; empty after a failure.
    public var changes: [DeviceChange] = []
    /// Items that were left out.
    public var rejects: [Reject] = []
    /// The plugin's own answer, if it gave one.
    public var answer: Answer?
    /// Why the request failed; nil if it did not.
    public var fault: PluginFault?

    /// An empty result.
    public init() {}
}
