internal import NIOConcurrencyHelpers
internal import NIOCore
internal import NIOPosix
internal import SignalboxHTTP

/// Options of an `HTTP2Server`.
public struct HTTP2ServerOptions: Sendable {
    /// Address to listen on.
    public var host = "127.0.0.1"
    /// Port; 0: any free one.
    public var port = 0
    /// Certificate chain, PEM.
    public var certificateChainPEM: [UInt8]
    /// Private key, PEM.
    public var privateKeyPEM: [UInt8]
    /// Roots for client certificates, PEM.
    ///
    /// A client may send a certificate, which must chain to one of them.
    public var clientRootsPEM: [UInt8]?
    /// Whether to offer `h2` by ALPN; otherwise the client must assume it.
    public var offersALPN = true
    /// The first SETTINGS of a connection.
    public var maxConcurrentStreams: UInt32 = 1000
    /// Connections above this limit are accepted and closed at once; nil for no limit.
    public var connectionsMax: Int?

    /// Makes options with the server's identity.
    public init(certificateChainPEM: [UInt8], privateKeyPEM: [UInt8]) {
        self.certificateChainPEM = certificateChainPEM
        self.privateKeyPEM = privateKeyPEM
    }
}

/// An HTTP/2 server over TLS on nghttp2, for simulators. It answers, and misbehaves on demand.
public final class HTTP2Server: Sendable {
    private struct State: Sendable {
        var listener: (any Channel)?
        var connections: [UInt64: any Channel] = [:]
        var nextID: UInt64 = 1
        var maxConcurrentStreams: UInt32
        var accepted: UInt64 = 0
    }

    private let group: MultiThreadedEventLoopGroup
    private let options: HTTP2ServerOptions
    private let handler: any HTTP2ServerHandler
    private let tls: ServerTLS
    private let state: NIOLockedValueBox<State>
    /// The listening port; the same after `reopenListener`.
    public let port: Int

    /// Starts the server.
    public static func start(
        _ options: HTTP2ServerOptions, handler: any HTTP2ServerHandler
    ) async throws -> HTTP2Server {
        let tls = try ServerTLS(
            chainPEM: options.certificateChainPEM, keyPEM: options.privateKeyPEM,
            clientRootsPEM: options.clientRootsPEM, offersHTTP2: options.offersALPN)
        let group = try EventLoops.group(threads: 1, name: "sbx-simulator")
        let box = NIOLockedValueBox(State(maxConcurrentStreams: options.maxConcurrentStreams))
        do {
            let listener = try await listen(
                group, options, port: options.port, tls: tls, handler: handler, state: box)
            return HTTP2Server(
                group: group, options: options, handler: handler, tls: tls, state: box,
                port: listener.localAddress?.port ?? 0)
        } catch {
            try? await group.shutdownGracefully()
            throw error
        }
    }

    private init(
        group: MultiThreadedEventLoopGroup, options: HTTP2ServerOptions,
        handler: any HTTP2ServerHandler, tls: ServerTLS, state: NIOLockedValueBox<State>,
        port: Int
    ) {
        self.group = group
        self.options = options
        self.handler = handler
        self.tls = tls
        self.state = state
        self.port = port
    }

    /// Number of open connections.
    public var connectionCount: Int { state.withLockedValue { $0.connections.count } }

    /// Number of connections accepted since the start.
    public var acceptedCount: UInt64 { state.withLockedValue { $0.accepted } }

    /// Announces a new stream limit on all current and future connections.
    public func setMaxConcurrentStreams(_ count: UInt32) {
        state.withLockedValue { $0.maxConcurrentStreams = count }
        onEach { $0.setMaxConcurrentStreams(count) }
    }

    /// Sends GOAWAY on all connections: open streams finish, new ones are rejected.
    public func goAwayAll(code: UInt32 = 0, debugData: String = "") {
        onEach { $0.goAway(lastStream: nil, code: code, debugData: debugData) }
    }

    /// Stops listening; with `droppingConnections` also drops open connections, without GOAWAY.
    public func closeListener(droppingConnections: Bool) async {
        let (listener, channels) = state.withLockedValue { state in
            defer { state.listener = nil }
            return (state.listener, droppingConnections ? Array(state.connections.values) : [])
        }
        try? await listener?.close()
        for channel in channels { try? await channel.close() }
    }

    /// Listens again on the same port.
    public func reopenListener() async throws {
        _ = try await Self.listen(
            group, options, port: port, tls: tls, handler: handler, state: state)
    }

    /// Stops the server and its threads.
    public func shutdown() async {
        await closeListener(droppingConnections: true)
        try? await group.shutdownGracefully()
    }

    private func onEach(_ body: @escaping @Sendable (HTTP2ServerConnection) -> Void) {
        for channel in state.withLockedValue({ Array($0.connections.values) }) {
            channel.eventLoop.execute {
                let handler = try? channel.pipeline.syncOperations.handler(
                    type: HTTP2ServerConnection.self)
                if let handler { body(handler) }
            }
        }
    }

    private static func listen(
        _ group: MultiThreadedEventLoopGroup, _ options: HTTP2ServerOptions, port: Int,
        tls: ServerTLS, handler: any HTTP2ServerHandler, state: NIOLockedValueBox<State>
    ) async throws -> any Channel {
        let listener = try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 256)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { channel.closeOnExec() }
            }
            .childChannelInitializer { channel in
                channel.closeOnExec()
                let (id, streams, isTooMany) = state.withLockedValue { state in
                    let id = state.nextID
                    state.nextID += 1
                    state.accepted += 1
                    let isTooMany = state.connections.count >= options.connectionsMax ?? .max
                    if !isTooMany { state.connections[id] = channel }
                    return (id, state.maxConcurrentStreams, isTooMany)
                }
                if isTooMany { return channel.close() }
                channel.closeFuture.whenComplete { _ in
                    state.withLockedValue { $0.connections[id] = nil }
                }
                return channel.eventLoop.makeCompletedFuture {
                    try tls.begin(on: channel)
                    try channel.pipeline.syncOperations.addHandler(
                        HTTP2ServerConnection(
                            id: id, maxConcurrentStreams: streams, handler: handler))
                }
            }
            .bind(host: options.host, port: port).get()
        state.withLockedValue { $0.listener = listener }
        return listener
    }
}
