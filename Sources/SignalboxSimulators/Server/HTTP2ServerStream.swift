internal import CNghttp2
internal import NIOCore
public import SignalboxCore

/// A complete request.
public struct HTTP2ServerRequest: Sendable {
    /// `POST`.
    public var method: String
    /// With the query.
    public var path: String
    /// `host:port`.
    public var authority: String
    /// Names in lower case, without pseudo fields.
    public var headers: [Attribute]
    /// At most 16 MiB.
    public var body: [UInt8]
    /// The connection of the request.
    public var connection: UInt64
    /// The client's certificate, DER; empty: none.
    public var clientCertificate: [UInt8]

    /// The first value of a field, or nil.
    public func header(_ name: String) -> String? { headers.first { $0.key == name }?.value }
}

/// Handles requests.
public protocol HTTP2ServerHandler: Sendable {
    /// Handles a request; answer it now or later through `stream`.
    ///
    /// Thread: the server's event loop; must return quickly.
    func handle(_ request: HTTP2ServerRequest, on stream: HTTP2ServerStream)
}

/// Answers one request, or misbehaves instead.
///
/// `@unchecked Sendable`: the connection is used only on its event loop.
public struct HTTP2ServerStream: @unchecked Sendable {
    private let id: Int32
    private weak var connection: HTTP2ServerConnection?
    private let loop: any EventLoop

    init(id: Int32, connection: HTTP2ServerConnection, loop: any EventLoop) {
        self.id = id
        self.connection = connection
        self.loop = loop
    }

    /// Sends the answer; trailers need a body.
    public func respond(
        status: Int, headers: [Attribute] = [], body: [UInt8] = [], trailers: [Attribute] = []
    ) {
        onLoop {
            $0.respond(id, status: status, headers: headers, body: body, trailers: trailers)
        }
    }

    /// Sends the answer after a delay.
    public func respond(
        afterMs ms: Int, status: Int, headers: [Attribute] = [], body: [UInt8] = []
    ) {
        loop.scheduleTask(in: .milliseconds(Int64(ms))) {
            respond(status: status, headers: headers, body: body)
        }
    }

    /// Refuses the stream, which tells the client that nothing of it was processed.
    public func refuse() { reset(code: NGHTTP2_REFUSED_STREAM.rawValue) }

    /// Resets the stream with an HTTP/2 error code; 2: internal error.
    public func reset(code: UInt32 = 2) { onLoop { $0.reset(id, code: code) } }

    /// Sends GOAWAY on this connection; with `includingThis` this stream is still answered.
    public func goAway(includingThis: Bool, code: UInt32 = 0, debugData: String = "") {
        onLoop {
            $0.goAway(
                lastStream: includingThis ? id : max(0, id - 2), code: code, debugData: debugData)
        }
    }

    /// Announces a new stream limit on this connection.
    public func setMaxConcurrentStreams(_ count: UInt32) {
        onLoop { $0.setMaxConcurrentStreams(count) }
    }

    /// Drops the connection without GOAWAY.
    public func dropConnection() { onLoop { $0.drop() } }

    private func onLoop(_ body: @escaping (HTTP2ServerConnection) -> Void) {
        if loop.inEventLoop {
            if let connection { body(connection) }
        } else {
            let work = UncheckedBox(body: body, connection: connection)
            loop.execute { if let connection = work.connection { work.body(connection) } }
        }
    }
}

/// Carries a body to the one event loop that runs it.
private struct UncheckedBox: @unchecked Sendable {
    let body: (HTTP2ServerConnection) -> Void
    weak var connection: HTTP2ServerConnection?
}
