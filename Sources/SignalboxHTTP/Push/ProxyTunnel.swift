internal import COpenSSL
internal import NIOCore

/// Asks an HTTP proxy for a connection to a host, before TLS begins.
///
/// Used only on the channel's event loop.
final class ProxyTunnel: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Longest head of an answer.
    private static let headBytesMax = 16 << 10

    private let request: String
    private let deadline: NIODeadline
    private let promise: EventLoopPromise<Void>
    private var head: [UInt8] = []
    private var timer: Scheduled<Void>?
    private var isOver = false

    private init(
        _ proxy: ProxyAddress, _ authority: String, _ deadline: NIODeadline,
        _ promise: EventLoopPromise<Void>
    ) {
        var request = "CONNECT \(authority) HTTP/1.1\r\nHost: \(authority)\r\n"
        if let credentials = proxy.credentials {
            request += "Proxy-Authorization: Basic \(Self.base64(credentials))\r\n"
        }
        self.request = request + "\r\n"
        self.deadline = deadline
        self.promise = promise
    }

    /// The channel once the proxy has connected it to `authority`, `host:port`. A channel that fails is closed.
    ///
    /// The channel does not read by itself.
    static func open(
        _ channel: any Channel, through proxy: ProxyAddress, to authority: String,
        by deadline: NIODeadline
    ) -> EventLoopFuture<any Channel> {
        let promise = channel.eventLoop.makePromise(of: Void.self)
        let tunnel = ProxyTunnel(proxy, authority, deadline, promise)
        do {
            try channel.pipeline.syncOperations.addHandler(tunnel)
        } catch {
            promise.fail(error)
        }
        return promise.futureResult.map { channel }
    }

    func handlerAdded(context: ChannelHandlerContext) {
        guard context.channel.isActive else { return end(context, Self.closed) }
        let loop = context.eventLoop.assumeIsolatedUnsafeUnchecked()
        timer = loop.scheduleTask(deadline: deadline) { [weak self] in
            self?.end(context, "the proxy did not answer CONNECT in time")
        }
        let buffer = context.channel.allocator.buffer(string: request)
        context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        head.append(contentsOf: unwrapInboundIn(data).readableBytesView)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        guard !isOver else { return }
        guard let length = Self.headLength(head) else {
            guard head.count <= Self.headBytesMax else {
                return end(context, "the proxy's answer to CONNECT has no end")
            }
            return context.read()
        }
        let words = head.prefix { $0 != 0x0D && $0 != 0x0A }.split(separator: UInt8(ascii: " "))
        guard let first = words.first, first.starts(with: Array("HTTP/1.".utf8)), words.count > 1,
            let status = Int(String(decoding: words[1], as: UTF8.self))
        else { return end(context, "the proxy's answer is not HTTP/1.1") }
        guard (200..<300).contains(status) else {
            return end(context, ProxyFault.refusal(status).description)
        }
        // The host speaks second in TLS.
        guard length == head.count else {
            return end(context, "the proxy sent something before the host could")
        }
        isOver = true
        timer?.cancel()
        let promise = promise
        context.pipeline.syncOperations.removeHandler(context: context).cascade(to: promise)
    }

    func channelInactive(context: ChannelHandlerContext) {
        end(context, Self.closed)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        end(context, ConnectFault.text(error))
    }

    private func end(_ context: ChannelHandlerContext, _ words: String) {
        guard !isOver else { return }
        isOver = true
        timer?.cancel()
        promise.fail(ProxyFault(description: words))
        context.close(promise: nil)
    }

    private static let closed = "the proxy closed the connection"

    /// The length including the empty line at its end; nil if it is incomplete.
    private static func headLength(_ bytes: [UInt8]) -> Int? {
        var lineBegan = 0
        for (index, byte) in bytes.enumerated() where byte == 0x0A {
            let line = bytes[lineBegan..<index]
            if line.isEmpty || line.elementsEqual([0x0D]) { return index + 1 }
            lineBegan = index + 1
        }
        return nil
    }

    private static func base64(_ text: String) -> String {
        let bytes = Array(text.utf8)
        var out = [UInt8](repeating: 0, count: (bytes.count + 2) / 3 * 4 + 1)
        let count = EVP_EncodeBlock(&out, bytes, Int32(bytes.count))
        return String(decoding: out.prefix(Int(count)), as: UTF8.self)
    }
}
