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

    private let connection: HTTPConnection
    private var decoder = make()

    init(_ connection: HTTPConnection) { self.connection = connection }

    /// NIO's decoder may stop after this request; it does not do so after any other.
    static func mayStop(after head: HTTPRequestHead) -> Bool {
        head.method == .CONNECT || head.headers.contains(name: "upgrade")
    }

    func decoderAdded(context: ChannelHandlerContext) { decoder.decoderAdded(context: context) }

    func decoderRemoved(context: ChannelHandlerContext) { decoder.decoderRemoved(context: context) }

    func decode(
        context: ChannelHandlerContext, buffer: inout ByteBuffer
    ) throws -> DecodingState {
        let state = try decoder.decode(context: context, buffer: &buffer)
        guard connection.takeStop(), isBetweenRequests(context) else { return state }
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
