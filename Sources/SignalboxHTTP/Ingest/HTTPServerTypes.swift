public import SignalboxCore

/// A request that has come in whole.
public struct HTTPServerRequest: Sendable {
    /// `POST`.
    public var method: String
    /// Without query, as it came.
    public var path: String
    /// Behind the `?`, or empty.
    public var query: String
    /// Names in lower case.
    public var headers: [Attribute]
    /// At most `HTTPServerOptions.bodyBytesMax`.
    public var body: [UInt8]
    /// The peer's IP address.
    public var remote: String
    /// The client's certificate under mutual TLS, DER; empty: it showed none.
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
    /// `content-length` is added.
    public var headers: [Attribute]
    /// Body; may be empty.
    public var body: [UInt8]

    /// Makes an answer.
    public init(status: Int, headers: [Attribute] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// JSON with a line break behind it.
    public static func json(_ value: JSONValue, status: Int = 200) -> HTTPServerAnswer {
        HTTPServerAnswer(
            status: status, headers: [Attribute("content-type", "application/json")],
            body: Array((value.text + "\n").utf8))
    }
}

/// Says what to do with requests.
public protocol HTTPServerHandler: Sendable {
    /// Whether a request is refused before its body is read; nil: it is not.
    ///
    /// Thread: the server's.
    func refusal(method: String, path: String) -> HTTPServerAnswer?
    /// Answers a request.
    ///
    /// Thread: the server's; returns soon. `done` is called once, on any thread.
    func answer(_ request: HTTPServerRequest, done: @escaping @Sendable (HTTPServerAnswer) -> Void)
}

/// Answers requests in tasks, where speed does not matter.
public protocol AsyncHTTPServerHandler: HTTPServerHandler {
    /// Answers a request.
    func answer(_ request: HTTPServerRequest) async -> HTTPServerAnswer
}

extension AsyncHTTPServerHandler {
    /// Answers a request in a task of its own.
    public func answer(
        _ request: HTTPServerRequest, done: @escaping @Sendable (HTTPServerAnswer) -> Void
    ) {
        Task { done(await answer(request)) }
    }
}

/// How an `HTTPServer` is set up.
public struct HTTPServerOptions: Sendable {
    /// Address to listen on.
    public var host: String
    /// Port; 0: any free one.
    public var port: Int
    /// Longer bodies are answered 413.
    public var bodyBytesMax = Limits().requestBodyBytesMax
    /// Most bytes of bodies that have no answer yet, over all connections; more is answered 503.
    public var bodiesBytesMax = 128 << 20
    /// Most connections; when one more comes, the one that was idle longest is closed.
    public var connectionsMax = 10_000
    /// A connection without a request is closed after so long.
    public var idleSeconds = 60
    /// A request must have come in whole within this; a client that does not read its answers is closed
    /// after so long.
    public var requestSeconds = 30
    /// nil: plain HTTP.
    public var tls: HTTPServerTLS?

    /// Makes options.
    public init(host: String, port: Int) {
        self.host = host
        self.port = port
    }
}

/// The TLS of an `HTTPServer`.
public struct HTTPServerTLS: Sendable {
    /// Certificate chain, PEM.
    public var certificateChainPEM: [UInt8]
    /// Private key, PEM.
    public var privateKeyPEM: [UInt8]
    /// Roots of clients' certificates, PEM; a client may show one, and it must be one of theirs.
    public var clientRootsPEM: [UInt8]?

    /// Makes TLS with the server's identity.
    public init(
        certificateChainPEM: [UInt8], privateKeyPEM: [UInt8], clientRootsPEM: [UInt8]? = nil
    ) {
        self.certificateChainPEM = certificateChainPEM
        self.privateKeyPEM = privateKeyPEM
        self.clientRootsPEM = clientRootsPEM
    }
}
