public import SignalboxCore

/// One ordinary HTTP call: OAuth, a vendor's API, a callback.
public struct RESTCall: Sendable {
    /// `GET`, `POST`, ...
    public var method: String
    /// Absolute, `https` or `http`.
    public var url: String
    /// Header fields.
    public var headers: [Attribute]
    /// Body; empty for none.
    public var body: [UInt8]
    /// PEM file of trusted roots; nil for the system's.
    public var caFile: String?
    /// The Unix socket to connect to, whatever host `url` names; nil for TCP.
    public var socket: String?
    /// Time limit of the whole call, in milliseconds.
    public var timeoutMs: UInt32 = 10_000
    /// Most redirects to follow; never from https to http.
    public var redirectsMax: UInt32 = 0
    /// The status is what counts: a body that is too long or ends early is cut instead of failing the call.
    public var cutsBody = false
    /// Longest body of an answer, in bytes.
    public var answerBytesMax = 1 << 20
    /// Refuse loopback, link-local and private addresses, after DNS. Through a proxy, which does the DNS, only addresses that
    /// the URL itself names.
    public var refusesPrivateAddresses = false
    /// Who calls: a plugin's instance, for example. Each owner has its own limit of concurrent calls.
    public var owner = ""
    /// Which proxy it goes through; nil for the client's rules.
    public var proxies: ProxyRules?
    /// The proxy that the client has chosen.
    var proxy: ProxyAddress?

    /// Makes a call.
    public init(method: String, url: String, headers: [Attribute] = [], body: [UInt8] = []) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }
}

/// An answer to a REST call.
public struct RESTAnswer: Sendable {
    /// 200, 401, ...
    public var status: UInt32
    /// Names in lower case.
    public var headers: [Attribute]
    /// At most `RESTCall.answerBytesMax`.
    public var body: [UInt8]
    /// How many of `headers`, the last ones, came after the body.
    public var trailerCount = 0

    /// The first value of a field, or nil.
    public func header(_ name: String) -> String? { headers.first { $0.key == name }?.value }
}

/// Why a REST call got no answer.
public struct RESTFault: Error, Sendable, CustomStringConvertible {
    /// Kinds of faults; they mirror the contract's statuses.
    public enum Kind: Sendable, Hashable {
        /// The call itself is malformed; nothing was sent.
        case invalid
        /// No connection was made, so nothing was sent.
        case unreachable
        /// The host has only private addresses, which this call refuses; nothing was sent.
        case privateAddress
        /// The time limit was reached; its fate is unknown.
        case timeout
        /// The connection broke; its fate is unknown.
        case lost
        /// The answer is over `RESTCall.answerBytesMax`.
        case tooLarge
        /// Too many calls of its owner, or of its owner to this host, are open; nothing was sent.
        case full
        /// The client is being shut down.
        case stopping
    }
    /// Kind of the fault.
    public let kind: Kind
    /// A message for the log; holds no secret.
    public let message: String

    /// Makes one.
    public init(kind: Kind, message: String) {
        self.kind = kind
        self.message = message
    }

    /// The message.
    public var description: String { message }

    static let privateAddress = RESTFault(
        kind: .privateAddress, message: "the host has a private address, which is refused here")
}
