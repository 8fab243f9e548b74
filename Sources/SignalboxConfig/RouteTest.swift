public import SignalboxCore

/// One entry of `tests:`: an input and the expected results.
public struct RouteTest: Sendable {
    /// The input.
    public enum Given: Sendable {
        /// A request for a plugin.
        case webhook(Webhook)
        /// An event of a source, as JSON with the names of the C structs.
        case event(source: String, JSONValue)
    }

    /// A request for a plugin; nil members are taken from the plugin's first path.
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

        /// A request for an instance; empty for the one that serves the path.
        public init(plugin: String) { self.plugin = plugin }
    }

    /// What to expect, among the pushes that match the other keys.
    public struct Expectation: Sendable {
        /// Its position in the file.
        public var position: SourcePosition
        /// Only pushes of this route.
        public var route: String?
        /// Only pushes by this sender.
        public var sender: String?
        /// Only pushes to devices of this platform.
        public var platform: String?
        /// Only pushes to this user.
        public var user: String?
        /// The number of pushes; nil for at least one, unless something else is expected.
        public var pushes: Int?
        /// Members of the body, or of the notification if the sender has its own transport; null for a missing member.
        public var payload: JSONValue?
        /// A file with the whole body, relative to gateway.yaml.
        public var payloadFile: String?
        /// When a filter lets it be sent, in Unix milliseconds; 0 for at once, nil for any time.
        public var notBeforeUnixMs: UInt64?
        /// Header fields that the request must have.
        public var headers: [Attribute] = []
        /// Why a recipient is skipped.
        public var skipped: String?
        /// The status with which the webhook is answered.
        public var status: Int?
    }

    /// The test's name.
    public var name: String
    /// Its position in the file.
    public var position: SourcePosition
    /// The input.
    public var given: Given
    /// The device registry's devices, with the names of the C struct; nil to invent devices for users without any.
    public var devices: [JSONValue]?
    /// The answers to plugins' own calls: `url`, `status`, `headers`, `body`.
    public var answers: [JSONValue] = []
    /// The time, in Unix milliseconds; nil for the default of all tests.
    public var nowUnixMs: UInt64?
    /// The expected results; empty if no push is expected.
    public var expect: [Expectation] = []
}
