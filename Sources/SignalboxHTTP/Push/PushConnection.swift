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
    private let authority: PinnedBytes
    /// When TCP, TLS and the peer's SETTINGS must be done.
    private let connectBy: NIODeadline
    /// Whether TCP was connected; then the connection reports its own end.
    private(set) var hasChannel = false
    /// Released when the connection has ended.
    private var owner: (any PushConnectionOwner)?
    private var session: OpaquePointer?
    private var context: ChannelHandlerContext?
    private var streams: [PushStream] = []
    private var freeStreams: [Int] = []
    private(set) var openCount = 0
    private var isReady = false
    private var isClosing = false
    /// Set while nghttp2 reads or writes: it must not be called again until it returns.
    private var isInSession = false
    private var isCloseDue = false
    /// Whether a stream has ended since this was last cleared.
    private var hasEnded = false
    private var closeReason = PushConnection.closedByPeer
    /// Whether TLS is done and the peer did not say by ALPN that it speaks HTTP/2.
    private var isSilentPeer = false
    private var fields: [nghttp2_nv] = []
    /// What a flush writes; encrypted at once, and used again.
    private var outgoing = ByteBuffer()
    private let digits = Digits()
    private var connectTimer: Scheduled<Void>?
    private var healthTimer: Scheduled<Void>?
    /// When the peer's bytes were last read; the time of the answers in them.
    private(set) var lastReadNs: UInt64 = 0
    private var pingSentNs: UInt64?
    /// The last stream that the peer's GOAWAY lets finish.
    private var lastStream = Int32.max

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
        batch.fields(of: request, authority: authority.all, into: &fields)
        let body = batch.body(of: request)
        var provider = nghttp2_data_provider()
        provider.source.fd = Int32(index)
        provider.read_callback = PushCallbacks.readBody
        stream.begin(slot: slot, batch: batch, request: request)
        fields.append(
            HTTP2Session.field(
                PushBatch.Names.contentLength, digits.write(UInt(body.count)),
                // It differs from push to push, and would only evict useful fields.
                flags: NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_INDEX.rawValue))
        let id = withUnsafePointer(to: &provider) { provider in
            nghttp2_submit_request(
                session, nil, fields, fields.count, body.isEmpty ? nil : provider,
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
            guard inSession({ HTTP2Session.drain(session, into: &outgoing) }) else {
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
                if HTTP2Session.drain(session, into: &buffer), buffer.readableBytes > 0 {
                    context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
                }
            }
        }
        context?.close(promise: nil)
    }

    /// The channel closed before it could tell: frees what the connection has.
    func forget() {
        connectTimer?.cancel()
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
        connectTimer = loop.scheduleTask(deadline: connectBy) { [weak self] in
            guard let self, !self.isReady else { return }
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

    private func start(negotiated: String?) {
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

    private func armHealth() {
        guard healthTimer == nil, let context, !isClosing else { return }
        let quiet = min(endpoint.requestTimeoutMs / 2, endpoint.pingTimeoutMs)
        let step = max(10, quiet / 2)
        healthTimer = context.eventLoop.assumeIsolatedUnsafeUnchecked().scheduleTask(
            in: .milliseconds(Int64(step))
        ) { [weak self] in
            self?.healthTimer = nil
            self?.checkHealth()
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

    // MARK: Frames, called by nghttp2 while it reads

    func received(frame: nghttp2_frame) {
        let flags = frame.hd.flags
        switch UInt32(frame.hd.type) {
        case NGHTTP2_SETTINGS.rawValue:
            guard flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) == 0, let session else { return }
            let value = nghttp2_session_get_remote_settings(
                session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
            let peerMax = Int(min(value, 1 << 20))
            if isReady {
                owner?.connectionSettings(self, peerMax: peerMax)
            } else {
                isReady = true
                lastReadNs = NIODeadline.now().uptimeNanoseconds
                connectTimer?.cancel()
                owner?.connectionReady(self, peerMax: peerMax)
                armHealth()
            }
        case NGHTTP2_PING.rawValue:
            if flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0 { pingSentNs = nil }
        case NGHTTP2_GOAWAY.rawValue:
            let debug = HTTP2Session.text(
                frame.goaway.opaque_data, min(frame.goaway.opaque_data_len, 512))
            lastStream = frame.goaway.last_stream_id
            closeReason = GoAwayReason.text(code: frame.goaway.error_code, debug: debug)
            owner?.connectionGoAway(self, reason: closeReason)
        case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
            if flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0,
                let stream = stream(frame.hd.stream_id)
            {
                stream.isComplete = true
                endUnread(stream)
            }
            if UInt32(frame.hd.type) == NGHTTP2_HEADERS.rawValue,
                let stream = stream(frame.hd.stream_id), stream.status >= 200
            {
                stream.hasHead = true
            }
        default: break
        }
    }

    func header(
        stream id: Int32, name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>
    ) {
        guard let stream = stream(id) else { return }
        if name.first == UInt8(ascii: ":") {
            guard PushBatch.Names.isStatus(name) else { return }
            // An interim answer (1xx) is followed by the final one.
            stream.status = Digits.read(value)
            if !stream.headers.isEmpty { stream.headers.removeAll() }
        } else if stream.headers.count < 64 {
            stream.headers.append(
                Attribute(
                    String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self)))
            if stream.hasHead { stream.trailerCount += 1 }
        }
    }

    func data(stream id: Int32, _ bytes: UnsafeBufferPointer<UInt8>) {
        guard let stream = stream(id) else { return }
        let have = stream.body.count
        stream.body.append(contentsOf: bytes.prefix(max(0, Self.bodyBytesMax - have)))
        if have + bytes.count > Self.bodyBytesMax, let session {
            stream.isComplete = true
            nghttp2_submit_rst_stream(
                session, UInt8(NGHTTP2_FLAG_NONE.rawValue), id, NGHTTP2_CANCEL.rawValue)
        }
    }

    func streamClosed(_ id: Int32, code: UInt32) {
        guard let index = index(ofStream: id) else { return }
        let stream = streams[index]
        openCount -= 1
        hasEnded = true
        // An abandoned stream counted as open until now.
        let slot = stream.isAbandoned ? -1 : stream.slot
        let end: StreamEnd
        if stream.isComplete, stream.status >= 200 {
            end = Self.answer(stream, self.id)
        } else if code == NGHTTP2_REFUSED_STREAM.rawValue {
            end = .moved(isRefused: id <= lastStream)
        } else {
            end = .failed(.reset, Self.words(reset: code))
        }
        stream.end()
        freeStreams.append(index)
        owner?.connection(self, ended: slot, end)
    }

    /// A peer that has answered may never read the rest of the request: the stream would stay open until its time-out,
    /// and the answer be lost.
    private func endUnread(_ stream: PushStream) {
        guard stream.status >= 200, !stream.isAbandoned, let session,
            let body = stream.batch?.body(of: stream.request), stream.bodySent < body.count
        else { return }
        nghttp2_submit_rst_stream(
            session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream.id, NGHTTP2_CANCEL.rawValue)
    }

    private static func words(reset code: UInt32) -> String {
        "the peer reset the stream with \(String(cString: nghttp2_http2_strerror(code))) (\(code))"
    }

    func readBody(index: Int, into buffer: UnsafeMutableRawBufferPointer) -> (
        count: Int, isEnd: Bool
    ) {
        guard streams.indices.contains(index) else { return (0, true) }
        let stream = streams[index]
        guard let body = stream.batch?.body(of: stream.request) else { return (0, true) }
        let start = stream.bodySent
        let count = min(buffer.count, body.count - start)
        buffer.copyMemory(
            from: UnsafeRawBufferPointer(
                rebasing: UnsafeRawBufferPointer(body)[start..<start + count]))
        stream.bodySent = start + count
        return (count, start + count == body.count)
    }

    private func index(ofStream id: Int32) -> Int? {
        guard let session, let data = nghttp2_session_get_stream_user_data(session, id) else {
            return nil
        }
        let index = Int(bitPattern: data) - 1
        return streams.indices.contains(index) && streams[index].batch != nil ? index : nil
    }

    private func stream(_ id: Int32) -> PushStream? { index(ofStream: id).map { streams[$0] } }

    private static func answer(_ stream: PushStream, _ connection: UInt64) -> StreamEnd {
        var response = HTTPResponse(
            status: stream.status, headers: stream.headers, body: stream.body,
            connection: connection)
        response.trailerCount = stream.trailerCount
        return .answered(response)
    }
}
