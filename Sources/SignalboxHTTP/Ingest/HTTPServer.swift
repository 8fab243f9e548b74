public import Logging
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
internal import SignalboxCore
internal import Synchronization

/// An HTTP/1.1 server for webhooks and for the admin listener.
///
/// One event loop reads, parses and answers; what takes time happens elsewhere.
public final class HTTPServer: Sendable {
    private let group: MultiThreadedEventLoopGroup
    private let listener: any Channel
    private let connections: HTTPConnections
    private let ending = Mutex<Task<Void, Never>?>(nil)
    /// The port it listens on.
    public let port: Int

    /// Listens and serves; fails if the address cannot be had.
    public static func start(
        _ options: HTTPServerOptions, logger: Logger, handler: any HTTPServerHandler
    ) async throws -> HTTPServer {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let connections = HTTPConnections(loop: group.next(), logger: logger)
        do {
            let tls = try options.tls.map { try NIOSSLContext(configuration: $0.configuration()) }
            let bootstrap = ServerBootstrap(group: group)
                .serverChannelOption(.backlog, value: 1_024)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                // A client may close its end as soon as its request is out.
                .childChannelOption(.allowRemoteHalfClosure, value: true)
                .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
                .serverChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture { channel.closeOnExec() }
                }
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try Self.setUp(channel, tls, connections, options, handler)
                    }
                }
            let listener = try await bootstrap.bind(host: options.host, port: options.port).get()
            return HTTPServer(group, listener, connections)
        } catch {
            try? await group.shutdownGracefully()
            throw error
        }
    }

    private static func setUp(
        _ channel: any Channel, _ tls: NIOSSLContext?, _ connections: HTTPConnections,
        _ options: HTTPServerOptions, _ handler: any HTTPServerHandler
    ) throws {
        channel.closeOnExec()
        let pipeline = channel.pipeline.syncOperations
        if let tls { try pipeline.addHandler(NIOSSLServerHandler(context: tls)) }
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = 16 * 1_024
        limits.maxHeaderListSize = 64 * 1_024
        limits.maxHeaderFieldCount = 100
        try pipeline.addHandler(
            ByteToMessageHandler(
                HTTPRequestDecoder(
                    leftOverBytesStrategy: .dropBytes, limitConfiguration: limits)))
        try pipeline.addHandler(
            HTTPConnection(channel, connections, options: options, handler: handler))
    }

    private init(
        _ group: MultiThreadedEventLoopGroup, _ listener: any Channel,
        _ connections: HTTPConnections
    ) {
        self.group = group
        self.listener = listener
        self.connections = connections
        port = listener.localAddress?.port ?? 0
    }

    /// Stops listening; requests that are open are answered, idle connections closed. Once is enough; who asks
    /// again waits for the same end.
    public func shutdown() async {
        let task = ending.withLock { ending in
            if let known = ending { return known }
            let made = Task { [group, listener, connections] in
                try? await listener.close()
                await connections.end()
                try? await group.shutdownGracefully()
            }
            ending = made
            return made
        }
        await task.value
    }
}
