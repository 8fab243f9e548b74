internal import NIOCore
internal import NIOHTTP1

/// NIO's decoder, made to continue after a request for an upgrade.
///
/// After such a request NIO's decoder stops and buffers all further bytes. This server supports no
/// upgrade, so the next bytes are HTTP/1.1 (RFC 9110, 7.8), and a new decoder reads them.
final class RequestDecoder: ByteToMessageDecoder {
    typealias InboundOut = HTTPServerRequestPart

    /// No header field is larger, so a working decoder never buffers more.
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

    /// Whether the decoder has stopped or waits for a new request, so that replacing it loses no byte.
    ///
    /// Told that the input has ended, a decoder inside a request throws. Either way its state does not change.
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
    /// The decoder may stop after the current request.
    private var mayStop = false
    /// Such a request was read to its end, and nothing after it.
    private var mayHaveStopped = false

    /// Records a part that the decoder passed to the connection.
    func note(_ part: HTTPServerRequestPart) {
        switch part {
        case .head(let head):
            mayStop = head.method == .CONNECT || head.headers.contains(name: "upgrade")
        case .body: break
        case .end: mayHaveStopped = mayStop
        }
    }

    /// Whether the decoder may have stopped; resets the answer.
    func take() -> Bool {
        defer { mayHaveStopped = false }
        return mayHaveStopped
    }
}
