internal import CNghttp2
internal import NIOCore
internal import SignalboxCore
internal import SignalboxHTTP

/// One connection of an `HTTP2Server`: an nghttp2 server session at the end of a TLS pipeline.
final class HTTP2ServerConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private struct Stream {
        var method = ""
        var path = ""
        var authority = ""
        var headers: [Attribute] = []
        var body: [UInt8] = []
        var answer: [UInt8] = []
        var answerSent = 0
        var trailers: [Attribute] = []
    }

    static let bodyBytesMax = 16 << 20

    let id: UInt64
    private var maxConcurrentStreams: UInt32
    private let handler: any HTTP2ServerHandler
    private var session: OpaquePointer?
    private var context: ChannelHandlerContext?
    private var streams: [Int32: Stream] = [:]
    private var isInSession = false
    private var clientCertificate: [UInt8] = []
    /// Complete requests of one read, passed to the handler once nghttp2 returns.
    private var arrived: [Int32] = []
    private var lastStream: Int32 = 0

    init(id: UInt64, maxConcurrentStreams: UInt32, handler: any HTTP2ServerHandler) {
        self.id = id
        self.maxConcurrentStreams = maxConcurrentStreams
        self.handler = handler
    }

    // MARK: Orders, on the event loop

    func respond(
        _ id: Int32, status: Int, headers: [Attribute], body: [UInt8], trailers: [Attribute]
    ) {
        guard let session, streams[id] != nil else { return }
        streams[id]?.answer = body
        streams[id]?.trailers = trailers
        var provider = nghttp2_data_provider()
        provider.source.fd = id
        provider.read_callback = ServerCallbacks.readBody
        Self.withFields([Attribute(":status", String(status))] + headers) { fields in
            _ = withUnsafePointer(to: &provider) { provider in
                nghttp2_submit_response(
                    session, id, fields, fields.count, body.isEmpty ? nil : provider)
            }
        }
        flush()
    }

    /// Fields for nghttp2, which copies them before `body` returns.
    private static func withFields(_ all: [Attribute], _ body: ([nghttp2_nv]) -> Void) {
        let bytes = all.map { (Array($0.key.utf8), Array($0.value.utf8)) }
        var fields: [nghttp2_nv] = []
        for (name, value) in bytes {
            name.withUnsafeBufferPointer { name in
                value.withUnsafeBufferPointer { value in
                    fields.append(HTTP2Session.field(name, value, flags: 0))
                }
            }
        }
        withExtendedLifetime(bytes) { body(fields) }
    }

    func reset(_ id: Int32, code: UInt32) {
        guard let session else { return }
        nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), id, code)
        flush()
    }

    func setMaxConcurrentStreams(_ count: UInt32) {
        maxConcurrentStreams = count
        guard let session else { return }
        submitSettings(session)
        flush()
    }

    /// A nil `lastStream` means the last one received.
    func goAway(lastStream: Int32?, code: UInt32, debugData: String) {
        guard let session else { return }
        let bytes = Array(debugData.utf8)
        nghttp2_submit_goaway(
            session, UInt8(NGHTTP2_FLAG_NONE.rawValue), lastStream ?? self.lastStream, code, bytes,
            bytes.count)
        flush()
    }

    func drop() { context?.close(promise: nil) }

    // MARK: Channel

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let peer = ServerTLS.peer(after: event, on: context.channel) {
            clientCertificate = peer.certificate
            session = ServerCallbacks.makeSession(Unmanaged.passUnretained(self).toOpaque())
            if let session { submitSettings(session) }
            flush()
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard let session else { return }
        let buffer = unwrapInboundIn(data)
        isInSession = true
        let count = buffer.withUnsafeReadableBytes { bytes in
            nghttp2_session_mem_recv(
                session, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
        }
        isInSession = false
        let whole = arrived
        arrived = []
        for id in whole { hand(on: id) }
        if count < 0 { context.close(promise: nil) }
    }

    func channelReadComplete(context: ChannelHandlerContext) { flush() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        if let session { nghttp2_session_del(session) }
        session = nil
        streams = [:]
        context.fireChannelInactive()
    }

    private func hand(on id: Int32) {
        guard let stream = streams[id], let context else { return }
        let request = HTTP2ServerRequest(
            method: stream.method, path: stream.path, authority: stream.authority,
            headers: stream.headers, body: stream.body, connection: self.id,
            clientCertificate: clientCertificate)
        streams[id]?.body = []
        handler.handle(
            request, on: HTTP2ServerStream(id: id, connection: self, loop: context.eventLoop))
    }

    private func submitSettings(_ session: OpaquePointer) {
        var settings = [
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue),
                value: maxConcurrentStreams)
        ]
        nghttp2_submit_settings(
            session, UInt8(NGHTTP2_FLAG_NONE.rawValue), &settings, settings.count)
    }

    private func flush() {
        guard let session, let context, !isInSession else { return }
        isInSession = true
        var buffer = context.channel.allocator.buffer(capacity: 16 * 1024)
        let isSound = HTTP2Session.drain(session) {
            buffer.writeBytes($0)
            return true
        }
        isInSession = false
        if buffer.readableBytes > 0 {
            context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
        }
        let isOver =
            nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0
        if !isSound || isOver { context.close(promise: nil) }
    }

    // MARK: Frames, called by nghttp2

    func begin(stream id: Int32) {
        streams[id] = Stream()
        lastStream = max(lastStream, id)
    }

    func header(stream id: Int32, name: String, value: String) {
        switch name {
        case ":method": streams[id]?.method = value
        case ":path": streams[id]?.path = value
        case ":authority": streams[id]?.authority = value
        case ":scheme": break
        default: streams[id]?.headers.append(Attribute(name, value))
        }
    }

    func data(stream id: Int32, _ bytes: UnsafeBufferPointer<UInt8>) {
        let room = Self.bodyBytesMax - (streams[id]?.body.count ?? 0)
        streams[id]?.body.append(contentsOf: bytes.prefix(max(0, room)))
    }

    func ended(stream id: Int32) { arrived.append(id) }

    func closed(stream id: Int32) { streams[id] = nil }

    func readBody(
        _ id: Int32, into buffer: UnsafeMutableRawBufferPointer
    ) -> (Int, isEnd: Bool, hasTrailers: Bool) {
        guard let stream = streams[id] else { return (0, true, false) }
        let count = min(buffer.count, stream.answer.count - stream.answerSent)
        buffer.copyBytes(from: stream.answer[stream.answerSent..<stream.answerSent + count])
        streams[id]?.answerSent += count
        let isEnd = stream.answerSent + count == stream.answer.count
        if isEnd, !stream.trailers.isEmpty, let session {
            Self.withFields(stream.trailers) { nghttp2_submit_trailer(session, id, $0, $0.count) }
        }
        return (count, isEnd, !stream.trailers.isEmpty)
    }
}

/// The C callbacks of a server session; the session is freed before its connection.
enum ServerCallbacks {
    static func makeSession(_ owner: UnsafeMutableRawPointer) -> OpaquePointer? {
        var callbacks: OpaquePointer?
        guard nghttp2_session_callbacks_new(&callbacks) == 0 else { return nil }
        defer { nghttp2_session_callbacks_del(callbacks) }
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, owner in
            guard let frame else { return 0 }
            ServerCallbacks.connection(owner)?.begin(stream: frame.pointee.hd.stream_id)
            return 0
        }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            _, frame, name, nameLength, value, valueLength, _, owner in
            guard let frame else { return 0 }
            ServerCallbacks.connection(owner)?.header(
                stream: frame.pointee.hd.stream_id, name: HTTP2Session.text(name, nameLength),
                value: HTTP2Session.text(value, valueLength))
            return 0
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) {
            _, _, stream, data, length, owner in
            ServerCallbacks.connection(owner)?.data(
                stream: stream, UnsafeBufferPointer(start: data, count: length))
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, owner in
            guard let frame = frame?.pointee else { return 0 }
            let isRequest =
                UInt32(frame.hd.type) == NGHTTP2_HEADERS.rawValue
                || UInt32(frame.hd.type) == NGHTTP2_DATA.rawValue
            if isRequest, frame.hd.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 {
                ServerCallbacks.connection(owner)?.ended(stream: frame.hd.stream_id)
            }
            return 0
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, stream, _, owner in
            ServerCallbacks.connection(owner)?.closed(stream: stream)
            return 0
        }
        var session: OpaquePointer?
        guard nghttp2_session_server_new(&session, callbacks, owner) == 0 else { return nil }
        return session
    }

    static let readBody: nghttp2_data_source_read_callback = {
        _, _, buffer, length, flags, source, owner in
        guard let source, let flags else { return -1 }
        let target = UnsafeMutableRawBufferPointer(start: buffer, count: length)
        guard
            let (count, isEnd, hasTrailers) = connection(owner)?.readBody(
                source.pointee.fd, into: target)
        else { return -1 }
        if isEnd { flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
        if isEnd, hasTrailers { flags.pointee |= NGHTTP2_DATA_FLAG_NO_END_STREAM.rawValue }
        return count
    }

    private static func connection(
        _ owner: UnsafeMutableRawPointer?
    ) -> HTTP2ServerConnection? {
        owner.map { Unmanaged<HTTP2ServerConnection>.fromOpaque($0).takeUnretainedValue() }
    }
}
