internal import HTTPTypes
internal import HummingbirdCore
internal import HummingbirdTLS
public import Logging
internal import NIOCore
internal import NIOPosix
internal import NIOSSL
public import SignalboxCore
internal import Synchronization

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
    func refusal(method: String, path: String) -> HTTPServerAnswer?
    /// Answers a request.
    func answer(_ request: HTTPServerRequest) async -> HTTPServerAnswer
}

/// How an `HTTPServer` is set up.
public struct HTTPServerOptions: Sendable {
    /// Address to listen on.
    public var host: String
    /// Port; 0: any free one.
    public var port: Int
    /// Longer bodies are answered 413.
    public var bodyBytesMax = 1 << 20
    /// A connection without traffic is closed after so long.
    public var idleSeconds = 60
    /// A request must have come in whole within this.
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

    func configuration() throws -> TLSConfiguration {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMBytes(certificateChainPEM)
                .map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(bytes: privateKeyPEM, format: .pem)))
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["http/1.1"]
        if let clientRootsPEM {
            configuration.trustRoots = .certificates(
                try NIOSSLCertificate.fromPEMBytes(clientRootsPEM))
            configuration.certificateVerification = .optionalVerification
        }
        return configuration
    }
}

/// An HTTP/1.1 server for webhooks and for the admin listener.
public final class HTTPServer: Sendable {
    private let group: MultiThreadedEventLoopGroup
    private let stop: @Sendable () async throws -> Void
    private let running: Task<Void, any Error>
    /// The port it listens on.
    public let port: Int

    /// Listens and serves; fails if the address cannot be had.
    public static func start(
        _ options: HTTPServerOptions, logger: Logger, handler: any HTTPServerHandler
    ) async throws -> HTTPServer {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let responder = HTTPResponder(options: options, handler: handler)
        let channel = HTTP1Channel(
            responder: { request, writer, channel in
                try await responder.respond(request, writer, channel)
            },
            configuration: .init(
                idleTimeout: .seconds(Int64(options.idleSeconds)),
                httpDecoderConfiguration: .init(
                    maxHeaderFieldSize: 16 * 1024, maxHeaderListSize: 64 * 1024,
                    maxHeaderFieldCount: 100)))
        let (ports, found) = AsyncStream.makeStream(of: Int.self)
        let stop: @Sendable () async throws -> Void
        let running: Task<Void, any Error>
        if let tls = options.tls {
            let secure: TLSChannel<HTTP1Channel>
            do {
                secure = try TLSChannel(channel, tlsConfiguration: try tls.configuration())
            } catch {
                try? await group.shutdownGracefully()
                throw error
            }
            (stop, running) = run(secure, options, group, logger, found)
        } else {
            (stop, running) = run(channel, options, group, logger, found)
        }
        for await port in ports {
            return HTTPServer(group: group, stop: stop, running: running, port: port)
        }
        // The stream ended without a port: the server could not start, and says why.
        let failure = await running.result
        try? await group.shutdownGracefully()
        try failure.get()
        throw CancellationError()
    }

    private static func run<Channel: ServerChildChannel>(
        _ channel: Channel, _ options: HTTPServerOptions, _ group: MultiThreadedEventLoopGroup,
        _ logger: Logger, _ found: AsyncStream<Int>.Continuation
    ) -> (stop: @Sendable () async throws -> Void, running: Task<Void, any Error>) {
        let server = Server(
            childChannelSetup: CloseOnExecChannel(base: channel),
            configuration: ServerConfiguration(
                address: .hostname(options.host, port: options.port), serverName: nil),
            onServerRunning: { channel in
                channel.eventLoop.execute {
                    channel.closeOnExec()
                    found.yield(channel.localAddress?.port ?? 0)
                    found.finish()
                }
            }, eventLoopGroup: group, logger: logger)
        let running = Task(executorPreference: LoopExecutor(group.next())) {
            defer { found.finish() }
            try await server.run()
        }
        return ({ try await server.shutdownGracefully() }, running)
    }

    private init(
        group: MultiThreadedEventLoopGroup, stop: @escaping @Sendable () async throws -> Void,
        running: Task<Void, any Error>, port: Int
    ) {
        self.group = group
        self.stop = stop
        self.running = running
        self.port = port
    }

    /// Stops listening; requests that are open are answered, idle connections closed.
    public func shutdown() async {
        try? await stop()
        _ = await running.result
        try? await group.shutdownGracefully()
    }
}
