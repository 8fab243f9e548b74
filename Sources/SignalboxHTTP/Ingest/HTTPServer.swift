public import Logging
internal import NIOCore
internal import NIOPosix
internal import SignalboxCore
internal import Synchronization

/// An HTTP/1.1 server for webhooks and for the admin listener.
///
/// One event loop reads, parses and answers; slow work runs on other threads.
public final class HTTPServer: Sendable {
    /// Most bytes per read, and so the most that a client can send ahead of its answers.
    private static let readBytesMax = 16 * 1_024

    private enum Listener {
        case channel(any Channel)
        case file(UnixListener)

        func close() async {
            switch self {
            case .channel(let channel): try? await channel.close()
            case .file(let file): await file.close()
            }
        }
    }

    private let group: MultiThreadedEventLoopGroup
    private let listener: Listener
    private let connections: HTTPConnections
    private let ending = Mutex<Task<Void, Never>?>(nil)
    /// The port it listens on; 0 for a Unix socket.
    public let port: Int

    /// Starts the server; fails if the address is unavailable.
    public static func start(
        _ options: HTTPServerOptions, logger: Logger, handler: any HTTPServerHandler
    ) async throws -> HTTPServer {
        let group = try EventLoops.group(threads: 1, name: "sbx-listener")
        let connections = HTTPConnections(
            loop: group.next(), logger: logger, options: options)
        do {
            if let path = options.path {
                let file = try await UnixListener.start(path, logger: logger) { descriptor in
                    Self.bootstrap(group, connections, options, handler).withBoundSocket(descriptor)
                }
                return HTTPServer(group, .file(file), port: 0, connections)
            }
            let bootstrap = Self.bootstrap(group, connections, options, handler)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            let bound =
                options.socket.map { bootstrap.withBoundSocket($0.descriptor) }
                ?? bootstrap.bind(host: options.host, port: options.port)
            let channel = try await bound.get()
            return HTTPServer(
                group, .channel(channel), port: channel.localAddress?.port ?? 0, connections)
        } catch {
            try? await group.shutdownGracefully()
            throw error
        }
    }

    private static func bootstrap(
        _ group: MultiThreadedEventLoopGroup, _ connections: HTTPConnections,
        _ options: HTTPServerOptions, _ handler: any HTTPServerHandler
    ) -> ServerBootstrap {
        ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1_024)
            // A client may close its side as soon as it has sent its request.
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelOption(
                .recvAllocator,
                value: AdaptiveRecvByteBufferAllocator(
                    minimum: 64, initial: 2_048, maximum: readBytesMax)
            )
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    channel.closeOnExec()
                    try channel.pipeline.syncOperations.addHandler(AcceptPause(connections))
                }
            }
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try Self.setUp(channel, connections, options, handler)
                }
            }
    }

    private static func setUp(
        _ channel: any Channel, _ connections: HTTPConnections, _ options: HTTPServerOptions,
        _ handler: any HTTPServerHandler
    ) throws {
        channel.closeOnExec()
        let pipeline = channel.pipeline.syncOperations
        let tls = options.tls.context
        if let tls { try pipeline.addHandler(TLSHandler(try TLSSession(server: tls))) }
        let connection = HTTPConnection(
            channel, connections, options: options, isSecure: tls != nil, handler: handler)
        try pipeline.addHandler(
            ByteToMessageHandler(
                RequestDecoder(connection.decoderStops),
                maximumBufferSize: RequestDecoder.bufferBytesMax))
        try pipeline.addHandler(connection)
    }

    private init(
        _ group: MultiThreadedEventLoopGroup, _ listener: Listener, port: Int,
        _ connections: HTTPConnections
    ) {
        self.group = group
        self.listener = listener
        self.connections = connections
        self.port = port
    }

    /// Calls back from the event loop when it is its turn; not after `shutdown`.
    public func turn(_ done: @escaping @Sendable () -> Void) { group.next().execute(done) }

    /// Says `connection: close` in every answer from now on, so that clients have left before the shutdown. Requests
    /// are answered as before.
    public func announceEnd() async { await connections.announceEnd() }

    /// Graceful shutdown: stops listening, answers open requests and closes idle connections. Further calls
    /// wait for the same shutdown.
    ///
    /// A socket that somebody else holds, too, keeps listening: connections queue in it for the next server.
    public func shutdown() async {
        let task = ending.withLock { ending in
            if let known = ending { return known }
            let made = Task { [group, listener, connections] in
                await listener.close()
                await connections.end()
                try? await group.shutdownGracefully()
            }
            ending = made
            return made
        }
        await task.value
    }
}
