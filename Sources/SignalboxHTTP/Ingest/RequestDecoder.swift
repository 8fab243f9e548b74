internal import NIOCore
internal import NIOHTTP1

/// NIO's decoder, which also reads what follows a request for an upgrade.
///
/// After such a request NIO's decoder stops for good and keeps every byte that comes. This server takes no
/// upgrade, so the next bytes are HTTP/1.1 (RFC 9110, 7.8): a fresh decoder reads them.
final class RequestDecoder: ByteToMessageDecoder {
    typealias InboundOut = HTTPServerRequestPart

    /// No field of a head is larger, so a decoder that works never holds more.
    static let bufferBytesMax = 64 * 1_024

    private let stops: DecoderStops
    private var decoder = make()

    init(_ stops: DecoderStops) { self.stops = stops }

    func decoderAdded(context: ChannelHandlerContext) { decoder.decoderAdded(context: context) }

    func decoderRemoved(context: ChannelHandlerContext) { decoder.decoderRemoved(context: context) }

    func decode(
        context: ChannelHandlerContext, buffer: inout ByteBuffer
    ) throws -> DecodingState {
        let state = try decoder.decode(context: context, buffer: &buffer)
        guard stops.take(), isBetweenRequests(context) else { return state }
        decoder.decoderRemoved(context: context)
        decoder = Self.make()
        decoder.decoderAdded(context: context)
        return buffer.readableBytes > 0 ? .continue : state
    }

    func decodeLast(
        context: ChannelHandlerContext, buffer: inout ByteBuffer, seenEOF: Bool
    ) throws -> DecodingState {
        try decoder.decodeLast(context: context, buffer: &buffer, seenEOF: seenEOF)
    }

    /// The decoder has stopped, or waits for a new request: a fresh one can take its place and no byte is lost.
    ///
    /// Told that the input ends, a decoder in the middle of a request throws, and is otherwise as before.
    private func isBetweenRequests(_ context: ChannelHandlerContext) -> Bool {
        var none = ByteBuffer()
        return (try? decoder.decodeLast(context: context, buffer: &none, seenEOF: true)) != nil
    }

    private static func make() -> HTTPRequestDecoder {
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = 16 * 1_024
        limits.maxHeaderListSize = 64 * 1_024
        limits.maxHeaderFieldCount = 100
        return HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes, limitConfiguration: limits)
    }
}

/// Whether NIO's decoder may have stopped, by the requests that it passed to the connection.
final class DecoderStops {
    /// It may stop after the request that it reads.
    private var mayStop = false
    /// It has read such a request to its end, and nothing after it.
    private var mayHaveStopped = false

    /// The decoder has passed this part to the connection.
    func note(_ part: HTTPServerRequestPart) {
        switch part {
        case .head(let head):
            mayStop = head.method == .CONNECT || head.headers.contains(name: "upgrade")
        case .body: break
        case .end: mayHaveStopped = mayStop
        }
    }

    /// Whether it may have stopped; asked once per request.
    func take() -> Bool {
        defer { mayHaveStopped = false }
        return mayHaveStopped
    }
}
