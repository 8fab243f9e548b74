public import SignalboxCore

/// One entry of `tests:`: what comes in, and what should come of it.
public struct RouteTest: Sendable {
    /// What comes in.
    public enum Given: Sendable {
        /// A request for a plugin.
        case webhook(Webhook)
        /// An event of a source, as JSON with the names of the C structs.
        case event(source: String, JSONValue)
    }

    /// A request for a plugin; what is nil is taken from the plugin's first path.
    public struct Webhook: Sendable {
        /// The instance.
        public var plugin: String
        /// `POST`.
        public var method: String?
        /// A path that the instance serves, with its values.
        public var path: String?
        /// The part after the `?`, or empty.
        public var query = ""
        /// Header fields, names in lower case.
        public var headers: [Attribute] = []
        /// The body: text as it is, anything else as JSON.
        public var body: JSONValue?
        /// The body's file, relative to gateway.yaml.
        public var bodyFile: String?

        /// A request for an instance; empty: the one that serves the path.
        public init(plugin: String) { self.plugin = plugin }
    }

    /// What should be, among the pushes that the filters choose.
    public struct Expectation: Sendable {
        /// Where it is in the file.
        public var position: SourcePosition
        /// Only pushes of this route.
        public var route: String?
        /// Only pushes by this sender.
        public var sender: String?
        /// Only pushes to devices of this platform.
        public var platform: String?
        /// Only pushes to this user.
        public var user: String?
        /// How many there are; nil: at least one, unless something else is expected.
        public var pushes: Int?
        /// Members that the body must have, or the notification if its sender has a transport of its own; a null stands for a member that is missing.
        public var payload: JSONValue?
        /// A file with the whole body, relative to gateway.yaml.
        public var payloadFile: String?
        /// When a filter of the route lets it be sent, in Unix milliseconds; 0: at once; nil: it does not matter.
        public var notBeforeUnixMs: UInt64?
        /// Header fields that the request must have.
        public var headers: [Attribute] = []
        /// Why a recipient is left out.
        public var skipped: String?
        /// The status that the webhook is answered.
        public var status: Int?
    }

    /// What it shows.
    public var name: String
    /// Where it is in the file.
    public var position: SourcePosition
    /// What comes in.
    public var given: Given
    /// The device registry's devices, with the names of the C struct; nil: users without a device get invented ones.
    public var devices: [JSONValue]?
    /// What plugins' own calls are answered: `url`, `status`, `headers`, `body`.
    public var answers: [JSONValue] = []
    /// The time, in Unix milliseconds; nil: that of all tests.
    public var nowUnixMs: UInt64?
    /// What should come of it; empty: no push.
    public var expect: [Expectation] = []
}
