internal import NIOCore

/// Event for the handlers after `TLSHandler`: the handshake is done.
struct TLSHandshakeDone {
    /// The protocol negotiated by ALPN.
    let alpn: String?
}

/// TLS between a channel and the handlers after this one.
///
/// They write after `TLSHandshakeDone`. What they write is encrypted at once and waits in the channel's own
/// queue, so the channel's writability covers both. A close sends close_notify and does not
/// wait for the peer's.
final class TLSHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum Phase {
        case handshaking
        case open
        /// Our close_notify is being sent, perhaps with data written before it.
        case closing
        case closed
    }

    /// Most bytes of answers to what the peer wants of TLS itself, while it reads nothing.
    private static let unreadBytesMax = 64 * 1_024
    /// How long a close waits for a peer that does not read.
    private static let goodbyeWait = TimeAmount.seconds(1)

    private let session: TLSSession
    private var phase = Phase.handshaking
    private var hasBegun = false
    /// Whether the peer's close_notify was received.
    private var isInputOver = false
    /// Bytes of such answers since the channel was last writable.
    private var unreadBytes = 0
    /// Whether plain text was passed on since the last read completed.
    private var hasRead = false
    /// Room for plain text, if it is used again.
    private var room = ByteBuffer()

    init(_ session: TLSSession) { self.session = session }

    /// The peer's certificate, DER; empty if it sent none.
    var peerCertificate: [UInt8] { session.peerCertificate }

    // MARK: Beginning

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { begin(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        context.fireChannelActive()
        begin(context)
    }

    private func begin(_ context: ChannelHandlerContext) {
        guard !hasBegun else { return }
        hasBegun = true
        shakeHands(context)
    }

    private func shakeHands(_ context: ChannelHandlerContext) {
        let result = session.handshake()
        send(context)
        // A write that fails closes the channel before it returns.
        guard phase == .handshaking else { return }
        switch result {
        case .pending: break
        case .failed(let fault): fail(context, fault)
        case .done:
            phase = .open
            context.fireUserInboundEventTriggered(TLSHandshakeDone(alpn: session.alpn))
        }
    }

    /// Sends what the session itself has produced.
    private func send(_ context: ChannelHandlerContext) {
        guard let bytes = session.takeOutgoing() else { return }
        unreadBytes = context.channel.isWritable ? 0 : unreadBytes + bytes.readableBytes
        context.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
    }

    // MARK: Reading

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard phase == .handshaking || phase == .open else { return }
        let bytes = unwrapInboundIn(data)
        let count = bytes.readableBytes
        session.receive(bytes)
        if phase == .handshaking { shakeHands(context) }
        if phase == .open, !isInputOver { decrypt(context, count) }
    }

    /// Passes on what can be decrypted, never more than was received.
    private func decrypt(_ context: ChannelHandlerContext, _ received: Int) {
        var plain = room
        room = ByteBuffer()
        plain.clear(minimumCapacity: received + 512)
        var result = TLSSession.Reading.none
        repeat {
            result = session.read(into: &plain)
        } while result == .some && session.hasMore
        // Alerts, and answers to the peer's TLS messages.
        send(context)
        guard unreadBytes <= Self.unreadBytesMax else { return fail(context, .flooded) }
        if plain.readableBytes > 0 {
            hasRead = true
            context.fireChannelRead(wrapInboundOut(plain))
        }
        if session.keepsBuffers, plain.capacity <= TLSWire.keptBytesMax { room = plain }
        switch result {
        case .some, .none: break
        case .ended: end(context)
        case .failed(let fault): fail(context, fault)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        guard hasRead else { return }
        hasRead = false
        context.fireChannelReadComplete()
    }

    /// Treats the peer's close_notify like a half-close of TCP.
    private func end(_ context: ChannelHandlerContext) {
        isInputOver = true
        let options = context.channel.syncOptions
        if (try? options?.getOption(.allowRemoteHalfClosure)) == true {
            context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        } else if phase == .open {
            close(context: context, mode: .all, promise: nil)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case ChannelEvent.inputClosed? = event as? ChannelEvent else {
            context.fireUserInboundEventTriggered(event)
            return
        }
        switch phase {
        case .handshaking: fail(context, .cut)
        case .open: if !isInputOver { fail(context, .truncated) }
        case .closing, .closed: break
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        let before = phase
        phase = .closed
        switch before {
        case .handshaking: context.fireErrorCaught(TLSFault.cut)
        case .open: if !isInputOver { context.fireErrorCaught(TLSFault.truncated) }
        case .closing, .closed: break
        }
        context.fireChannelInactive()
    }

    private func fail(_ context: ChannelHandlerContext, _ fault: TLSFault) {
        guard phase == .handshaking || phase == .open else { return }
        phase = .closed
        context.fireErrorCaught(fault)
        context.close(promise: nil)
    }

    // MARK: Writing

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard phase == .open else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        do throws(TLSFault) {
            try session.write(unwrapOutboundIn(data))
            context.write(
                wrapOutboundOut(session.takeOutgoing() ?? ByteBuffer()), promise: promise)
        } catch {
            promise?.fail(error)
            fail(context, error)
        }
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        switch phase {
        case .open where mode == .all:
            phase = .closing
            promise.map { context.channel.closeFuture.cascade(to: $0) }
            sayGoodbye(context)
        case .closing: promise.map { context.channel.closeFuture.cascade(to: $0) }
        case .open, .handshaking, .closed:
            if mode == .all { phase = .closed }
            context.close(mode: mode, promise: promise)
        }
    }

    /// Closes once everything that was written has been sent.
    private func sayGoodbye(_ context: ChannelHandlerContext) {
        session.sayGoodbye()
        let loop = context.eventLoop.assumeIsolatedUnsafeUnchecked()
        let timer = loop.scheduleTask(in: Self.goodbyeWait) { context.close(promise: nil) }
        context.writeAndFlush(wrapOutboundOut(session.takeOutgoing() ?? ByteBuffer()))
            .assumeIsolatedUnsafeUnchecked().whenComplete { _ in
                timer.cancel()
                context.close(promise: nil)
            }
    }
}
