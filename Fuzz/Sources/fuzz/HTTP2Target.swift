import NIOCore
import NIOEmbedded
import SignalboxCore

@testable import SignalboxHTTP

extension FuzzTarget {
    /// What a provider's server sends to a client with two open requests. Each ends once, within its limits.
    static let http2 = FuzzTarget(name: "http2") { input in
        guard let batch = HTTP2Run.batch, let tls = HTTP2Run.tls, let endpoint = HTTP2Run.endpoint
        else { fatalError("broken property: the sample cannot be made") }
        let owner = HTTP2Run()
        let connection = PushConnection(
            id: 1, endpoint: endpoint, authority: PinnedBytes(Array("push.example".utf8)),
            tls: tls, connectBy: .now() + .seconds(10), owner: owner)
        let channel = EmbeddedChannel(handler: connection)
        channel.pipeline.fireUserInboundEventTriggered(TLSHandshakeDone(alpn: "h2"))
        // SETTINGS of the server, after which the client takes requests.
        _ = try? channel.writeInbound(ByteBuffer(bytes: [0, 0, 0, 4, 0, 0, 0, 0, 0]))
        require(owner.isReady, "the client is not ready after SETTINGS")
        let client = PoolClient(onResults: { _ in }, onAnswer: { _ in }, maySend: { true })
        let requests = PushBatch(batch, client, submittedNs: 0)
        for slot in 0..<2 where !connection.send(slot: slot, batch: requests, request: 0) {
            fatalError("broken property: no request can be sent")
        }
        connection.flush()
        var rest = input[...]
        while let size = rest.popFirst(), channel.isActive || owner.ended.isEmpty {
            _ = try? channel.writeInbound(ByteBuffer(bytes: rest.prefix(Int(size) + 1)))
            rest = rest.dropFirst(Int(size) + 1)
        }
        _ = try? channel.finish(acceptAlreadyClosed: true)
        require(owner.ended == [0, 1], "not every request has ended once: \(owner.ended)")
    }
}

/// The connection's pool.
private final class HTTP2Run: PushConnectionOwner {
    /// It is not in the pipeline: the bytes are those inside of TLS.
    nonisolated(unsafe) static let tls: TLSHandler? = {
        guard
            let client = try? TLSContext.client(
                alpn: TLSContext.ALPN.http2, roots: .system, identity: nil),
            let session = try? TLSSession(
                client: client, host: "push.example", resumption: TLSResumption())
        else { return nil }
        return TLSHandler(session)
    }()
    static let endpoint = try? PushEndpoint(origin: "https://push.example")
    static let batch: RequestBatch? = {
        typealias Slice = RequestBatch.Slice
        let none = Slice(start: 0, count: 0)
        return RequestBatch(
            bytes: Array("POST/3/x{}".utf8), headers: [], items: [7],
            requests: [
                RequestBatch.Request(
                    method: Slice(start: 0, count: 4), path: Slice(start: 4, count: 4),
                    headers: 0..<0, body: Slice(start: 8, count: 2), items: 0..<1,
                    unindexedHeaders: 0, origin: none, context: none)
            ])
    }()

    var isReady = false
    /// The slots that have ended, in their order.
    var ended: [Int] = []

    func connectionReady(_ connection: PushConnection, peerMax: Int) { isReady = true }
    func connectionSettings(_ connection: PushConnection, peerMax: Int) {
        require(peerMax >= 0, "\(peerMax) streams")
    }
    func connectionGoAway(_ connection: PushConnection, reason: String) {}
    func connectionWritability(_ connection: PushConnection, isWritable: Bool) {}
    func connectionReadComplete(_ connection: PushConnection) {}
    func connectionClosed(_ connection: PushConnection, wasReady: Bool, reason: String) {}

    func connection(_ connection: PushConnection, ended slot: Int, _ end: StreamEnd) {
        ended.append(slot)
        ended.sort()
        guard case .answered(let response) = end else { return }
        require((100...999).contains(response.status), "status \(response.status)")
        require(response.body.count <= PushConnection.bodyBytesMax, "\(response.body.count) bytes")
        require(response.trailerCount <= response.headers.count, "too many trailers")
    }
}
