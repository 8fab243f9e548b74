public import SignalboxCore
internal import SignalboxThreads

/// A complete request.
public struct HTTPServerRequest: Sendable {
    /// `POST`.
    public var method: String
    /// Without the query, as received.
    public var path: String
    /// The part after `?`, or empty.
    public var query: String
    /// Names in lower case.
    public var headers: [Attribute]
    /// At most `HTTPServerOptions.bodyBytesMax`.
    public var body: [UInt8]
    /// The peer's IP address.
    public var remote: String
    /// The client's certificate under mutual TLS, DER; empty if it sent none.
    public var clientCertificate: [UInt8]

    /// Makes a request.
    public init(
        method: String, path: String, query: String = "", headers: [Attribute] = [],
        body: [UInt8] = [], remote: String = "", clientCertificate: [UInt8] = []
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers
        self.body = body
        self.remote = remote
        self.clientCertificate = clientCertificate
    }

    /// The first value of a field, or nil.
    public func header(_ name: String) -> String? { headers.first { $0.key == name }?.value }
}

/// An answer.
public struct HTTPServerAnswer: Sendable {
    /// 200, 404, ...
    public var status: Int
    /// Header fields; the server adds `content-length`.
    public var headers: [Attribute]
    /// Body; may be empty.
    public var body: [UInt8]
    /// What follows the body until the connection closes; nil if nothing follows.
    public var stream: AnswerStream?

    /// Makes an answer.
    public init(status: Int, headers: [Attribute] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// A JSON answer that ends with a line break.
    public static func json(_ value: JSONValue, status: Int = 200) -> HTTPServerAnswer {
        HTTPServerAnswer(
            status: status, headers: [Attribute("content-type", "application/json")],
            body: Array((value.text + "\n").utf8))
    }
}

/// Handles requests.
public protocol HTTPServerHandler: Sendable {
    /// The answer that refuses a request before its body is read; nil to accept it.
    ///
    /// Thread: the server's.
    func refusal(method: String, path: String) -> HTTPServerAnswer?
    /// The server itself has refused a request, for example because of its size; for metrics.
    ///
    /// Thread: the server's.
    func wasRefused(method: String, path: String, status: Int)
    /// Answers a request.
    ///
    /// Thread: the server's; must return quickly. `done` is called once, on any thread.
    func answer(_ request: HTTPServerRequest, done: @escaping @Sendable (HTTPServerAnswer) -> Void)
}

extension HTTPServerHandler {
    /// Nothing, for a handler that counts nothing.
    public func wasRefused(method: String, path: String, status: Int) {}
}

/// Answers requests in tasks, where speed does not matter.
public protocol AsyncHTTPServerHandler: HTTPServerHandler {
    /// Answers a request.
    func answer(_ request: HTTPServerRequest) async -> HTTPServerAnswer
}

extension AsyncHTTPServerHandler {
    /// Answers a request in its own task.
    public func answer(
        _ request: HTTPServerRequest, done: @escaping @Sendable (HTTPServerAnswer) -> Void
    ) {
        Task { done(await answer(request)) }
    }
}

/// Options of an `HTTPServer`.
public struct HTTPServerOptions: Sendable {
    /// Address to listen on: an absolute path is that of a Unix socket.
    public var host: String
    /// Port; 0 for any free one.
    public var port: Int
    /// A socket that listens already, instead of `host` and `port`.
    public var socket: ListeningSocket?
    /// The path of a Unix socket.
    var path: String? { socket == nil && host.hasPrefix("/") ? host : nil }
    /// Longer bodies are answered 413.
    public var bodyBytesMax = Limits().requestBodyBytesMax
    /// Most bytes of unanswered bodies, over all connections; more is answered 503.
    public var bodiesBytesMax = 128 << 20
    /// Most connections; one more closes the connection that was idle longest.
    public var connectionsMax = 10_000
    /// Most requests per second of one client address, on average; 0 for no limit. Read for each request.
    public var clientRate: @Sendable () -> Int = { 0 }
    /// A limit was reached. Called on the server's thread.
    public var onLimit: @Sendable (ListenerLimit) -> Void = { _ in }
    /// Gets the current number of connections. Called on the server's thread.
    public var onConnections: @Sendable (Int) -> Void = { _ in }
    /// A connection without a request is closed after this time.
    public var idleSeconds = 60
    /// A request must be complete within this time; a client that does not read its answers is also
    /// disconnected after it.
    public var requestSeconds = 30
    /// On shutdown, a new connection has this time for its only request; 0 to close it at once.
    public var lastRequestSeconds = 1
    /// TLS, or plain HTTP.
    public var tls = ListenerTLS()
    /// A clock that keeps running while the machine is suspended, in nanoseconds.
    var nowNs: @Sendable () -> UInt64 = { SystemClock.sinceBootNs }

    /// Makes options.
    public init(host: String, port: Int) {
        self.host = host
        self.port = port
    }
}

/// A limit of a listener.
public enum ListenerLimit: String, Sendable, CaseIterable {
    /// Open connections.
    case connections
    /// Bytes of bodies without an answer.
    case bodies
    /// Requests per second of one client address.
    case clientRate = "client_rate"
    /// Descriptors or memory of the system: clients wait to be accepted.
    case system
}
