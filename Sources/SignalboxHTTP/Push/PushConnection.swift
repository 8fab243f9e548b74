internal import CNghttp2
internal import NIOCore
internal import SignalboxCore

/// What a connection reports to its pool; all on the event loop.
protocol PushConnectionOwner: AnyObject {
    func connectionReady(_ connection: PushConnection, peerMax: Int)
    func connectionSettings(_ connection: PushConnection, peerMax: Int)
    func connectionGoAway(_ connection: PushConnection, reason: String)
    func connectionWritability(_ connection: PushConnection, isWritable: Bool)
    func connection(_ connection: PushConnection, ended slot: Int, _ end: StreamEnd)
    func connectionReadComplete(_ connection: PushConnection)
    func connectionClosed(_ connection: PushConnection, wasReady: Bool, reason: String)
}

/// One HTTP/2 connection: an nghttp2 client session at the end of a TLS pipeline.
final class PushConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    static let bodyBytesMax = 1 << 20

    let id: UInt64
    /// The TLS handler before this one in the pipeline.
    let tls: TLSHandler
    private let endpoint: PushEndpoint
    let authority: PinnedBytes
    /// When TCP, TLS and the peer's SETTINGS must be done.
    private let connectBy: NIODeadline
    /// Whether TCP was connected; then the connection reports its own end.
    private(set) var hasChannel = false
    /// Released when the connection has ended.
    var owner: (any PushConnectionOwner)?
    var session: OpaquePointer?
    private var context: ChannelHandlerContext?
    var streams: [PushStream] = []
    var freeStreams: [Int] = []
    var openCount = 0
    var isReady = false
    private var isClosing = false
    /// Set while nghttp2 reads or writes: it must not be called again until it returns.
    private var isInSession = false
    private var isCloseDue = false
    /// Whether a stream has ended since this was last cleared.
    var hasEnded = false
    var closeReason = PushConnection.closedByPeer
    /// Whether TLS is done and the peer did not say by ALPN that it speaks HTTP/2.
    private var isSilentPeer = false
    var headers = HeaderEncoder()
    /// What a flush writes; encrypted at once, and used again.
    private var outgoing = ByteBuffer()
    var connectTimer: Scheduled<Void>?
    private var healthTimer: Scheduled<Void>?
    /// When the peer's bytes were last read; the time of the answers in them.
    var lastReadNs: UInt64 = 0
    var pingSentNs: UInt64?
    /// The last stream that the peer's GOAWAY lets finish.
    var lastStream = Int32.max

    init(
        id: UInt64, endpoint: PushEndpoint, authority: PinnedBytes, tls: TLSHandler,
        connectBy: NIODeadline, owner: any PushConnectionOwner
    ) {
        self.id = id
        self.tls = tls
        self.endpoint = endpoint
        self.authority = authority
        self.connectBy = connectBy
        self.owner = owner
    }

    // MARK: Requests

    /// Sends a request with the next flush; false if this connection takes no more.
    func send(slot: Int, batch: PushBatch, request: Int) -> Bool {
        guard let session, isReady, !isClosing else { return false }
        let index = freeStreams.popLast() ?? streams.count
        if index == streams.count { streams.append(PushStream()) }
        let stream = streams[index]
        let body = batch.body(of: request)
        var provider = nghttp2_data_provider()
        provider.source.fd = Int32(index)
        provider.read_callback = PushCallbacks.readBody
        stream.begin(slot: slot, batch: batch, request: request)
        // The others are written with the frame; nghttp2 knows by the method whether the answer has a body.
        var method = HTTP2Session.field(
            PushBatch.Names.method, batch.method(of: request),
            flags: NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue)
        let id = withUnsafePointer(to: &provider) { provider in
            nghttp2_submit_request(
                session, nil, &method, 1, body.isEmpty ? nil : provider,
                UnsafeMutableRawPointer(bitPattern: index + 1))
        }
        guard id > 0 else {
            stream.end()
            freeStreams.append(index)
            return false
        }
        stream.id = id
        openCount += 1
        return true
    }

    /// Gives up a request: its stream is reset with the next flush, and its end reports no slot.
    func abandon(slot: Int) {
        guard
            let stream = streams.first(where: {
                $0.batch != nil && $0.slot == slot && !$0.isAbandoned
            }), let session
        else { return }
        stream.isAbandoned = true
        nghttp2_submit_rst_stream(
            session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream.id, NGHTTP2_CANCEL.rawValue)
    }

    /// Writes what the session has to send, as one buffer with one write.
    ///
    /// Nothing while the peer does not read: then the session keeps its answers to PING and SETTINGS, counts them,
    /// and ends the connection if they become too many.
    func flush() {
        guard let session, let context, !isInSession, context.channel.isWritable else { return }
        // Most reads leave nothing to write.
        if nghttp2_session_want_write(session) != 0 {
            outgoing.clear(minimumCapacity: 2 * 1024)
            guard inSession({ drain(session, into: &outgoing) }) else {
                close(reason: "the HTTP/2 session failed")
                return
            }
            if outgoing.readableBytes > 0 {
                context.writeAndFlush(wrapOutboundOut(outgoing), promise: nil)
                // A write that fails ends the connection before it returns.
                guard self.session != nil else { return }
            }
            if outgoing.capacity > TLSWire.keptBytesMax { outgoing = ByteBuffer() }
        }
        if nghttp2_session_want_read(session) == 0, nghttp2_session_want_write(session) == 0 {
            // The peer said GOAWAY, or nghttp2 has ended the session because of what it sent.
            if closeReason == Self.closedByPeer { closeReason = Self.violation }
            close(reason: isSilentPeer && !isReady ? Self.noHTTP2 : closeReason)
        }
    }

    /// Runs nghttp2; if its callbacks asked for a close, closes afterwards.
    private func inSession<Result>(_ work: () -> Result) -> Result {
        isInSession = true
        let result = work()
        isInSession = false
        if isCloseDue {
            isCloseDue = false
            close(reason: closeReason)
        }
        return result
    }

    /// Sends GOAWAY and closes.
    func close(reason: String) {
        guard !isClosing else { return }
        closeReason = reason
        guard !isInSession else {
            isCloseDue = true
            return
        }
        isClosing = true
        if let session, isReady {
            nghttp2_session_terminate_session(session, NGHTTP2_NO_ERROR.rawValue)
            if let context {
                var buffer = context.channel.allocator.buffer(capacity: 64)
                if drain(session, into: &buffer), buffer.readableBytes > 0 {
                    context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
                }
            }
        }
        context?.close(promise: nil)
    }

    /// The channel closed before it could tell: frees what the connection has.
    func forget() {
        connectTimer?.cancel()
        healthTimer?.cancel()
        isClosing = true
        owner = nil
        if let session { nghttp2_session_del(session) }
        session = nil
        context?.close(promise: nil)
    }

    // MARK: Channel

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        hasChannel = true
        let loop = context.eventLoop.assumeIsolatedUnsafeUnchecked()
        // A weak reference would make every retain of the connection slower, for as long as it lives.
        connectTimer = loop.scheduleTask(deadline: connectBy) {
            guard !self.isReady else { return }
            self.close(reason: "the peer did not finish TLS and SETTINGS in time")
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let done = event as? TLSHandshakeDone { start(negotiated: done.alpn) }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard let session else { return }
        lastReadNs = NIODeadline.now().uptimeNanoseconds
        let buffer = unwrapInboundIn(data)
        let count = inSession {
            buffer.withUnsafeReadableBytes { bytes in
                nghttp2_session_mem_recv(
                    session, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
            }
        }
        guard count < 0 else { return }
        let isFlood = count == Int(NGHTTP2_ERR_FLOODED.rawValue)
        close(
            reason: isFlood
                ? TLSFault.flooded.description
                : isSilentPeer && !isReady
                    ? Self.noHTTP2 : Self.violation)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        owner?.connectionReadComplete(self)
        hasEnded = false
        flush()
        // Streams that this side resets end when that is written.
        if hasEnded { owner?.connectionReadComplete(self) }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        owner?.connectionWritability(self, isWritable: context.channel.isWritable)
        flush()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Peers often close TCP without close_notify; this is not worth reporting.
        let isCut = (error as? TLSFault)?.kind == .truncated
        if !isClosing, !isCut {
            // Its words in HTTP/1.1 may be lost to a reset.
            let isReset = isSilentPeer && !isReady && !(error is TLSFault)
            closeReason = isReset ? Self.noHTTP2 : ConnectFault.text(error)
            isSilentPeer = false
        }
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        connectTimer?.cancel()
        healthTimer?.cancel()
        if isSilentPeer, !isReady, !isClosing { closeReason = Self.noHTTP2 }
        isClosing = true
        let wasReady = isReady
        isReady = false
        let left = streams.filter { $0.batch != nil && !$0.isAbandoned }
        streams = []
        openCount = 0
        if let session { nghttp2_session_del(session) }
        session = nil
        for stream in left {
            owner?.connection(
                self, ended: stream.slot,
                stream.isComplete ? Self.answer(stream, id) : .failed(.lost, closeReason))
        }
        owner?.connectionClosed(self, wasReady: wasReady, reason: closeReason)
        owner = nil
        context.fireChannelInactive()
    }

    func start(negotiated: String?) {
        if let negotiated, negotiated != "h2" {
            return close(reason: "the peer chose \"\(negotiated.prefix(16))\" instead of h2")
        }
        isSilentPeer = negotiated == nil
        if isSilentPeer, endpoint.isALPNRequired {
            return close(reason: "the peer did not offer h2 by ALPN, which this endpoint requires")
        }
        session = PushCallbacks.makeSession(Unmanaged.passUnretained(self).toOpaque())
        guard let session else { return close(reason: "no memory for an HTTP/2 session") }
        var settings = [
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue), value: 0),
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE.rawValue), value: 1 << 20),
        ]
        nghttp2_submit_settings(
            session, UInt8(NGHTTP2_FLAG_NONE.rawValue), &settings, settings.count)
        nghttp2_session_set_local_window_size(
            session, UInt8(NGHTTP2_FLAG_NONE.rawValue), 0, 16 << 20)
        flush()
    }

    private static let closedByPeer = "closed by the peer"
    private static let violation = "the peer violated the HTTP/2 protocol"
    private static let noHTTP2 =
        "the peer did not offer h2 by ALPN and does not speak it: HTTP/1.1 is not enough for pushes"

    // MARK: Health

    func armHealth() {
        guard healthTimer == nil, let context, !isClosing else { return }
        let quiet = min(endpoint.requestTimeoutMs / 2, endpoint.pingTimeoutMs)
        let step = max(10, quiet / 2)
        healthTimer = context.eventLoop.assumeIsolatedUnsafeUnchecked().scheduleTask(
            in: .milliseconds(Int64(step))
        ) {
            self.healthTimer = nil
            self.checkHealth()
        }
    }

    private func checkHealth() {
        guard let session, isReady, !isClosing else { return }
        let now = NIODeadline.now().uptimeNanoseconds
        let silentMs = Int((now - min(now, lastReadNs)) / 1_000_000)
        if let sent = pingSentNs {
            if (now - sent) / 1_000_000 >= UInt64(endpoint.pingTimeoutMs) {
                return close(reason: "no answer to PING")
            }
        } else {
            let quiet = min(endpoint.requestTimeoutMs / 2, endpoint.pingTimeoutMs)
            let isDue =
                openCount > 0
                ? silentMs >= quiet : endpoint.pingIdleMs > 0 && silentMs >= endpoint.pingIdleMs
            if isDue {
                pingSentNs = now
                nghttp2_submit_ping(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil)
                flush()
            }
        }
        armHealth()
    }
}
