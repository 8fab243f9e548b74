internal import DequeModule
internal import NIOCore
internal import NIOHTTP1
internal import SignalboxCore
internal import SignalboxThreads

/// One connection of a client: refuses early, reads the body within limits, and answers.
///
/// Thread: the event loop.
final class HTTPConnection: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = Never
    typealias OutboundOut = ByteBuffer

    enum Phase {
        /// No request, or an incomplete head.
        case idle
        case reading
        /// The handler is making the answer.
        case answering
        /// The request was answered before its end; the rest is read and dropped.
        case skipping
        /// The request was refused while the client is still sending: up to `left` bytes are read and dropped, so that the
        /// close does not reset the connection before the client has read the answer.
        case dropping(left: Int)
        /// An answer without end is being sent.
        case streaming(AnswerStream)
        /// The last answer is being sent; further input is dropped.
        case closing
    }

    let channel: any Channel
    /// Set while the handler is in the pipeline.
    var context: ChannelHandlerContext?
    private lazy var remote = PeerName.of(channel)
    let connections: HTTPConnections
    let options: HTTPServerOptions
    private let isSecure: Bool
    private let handler: any HTTPServerHandler
    var number = 0
    var phase = Phase.idle
    /// When the phase began, by the monotonic clock.
    private var sinceNs = SystemClock.monotonicNs
    /// Bytes of the body that count toward the limit over all connections.
    private var heldBytes = 0
    var request = HTTPServerRequest(method: "", path: "")
    var isOld = false
    var isKeptAlive = true
    var isHead = false
    /// A request has begun on this connection.
    private var hasAsked = false
    /// The connection closes after the current answer.
    var isLast = false
    /// No more input is read: the client closed its side, or sent something that is not HTTP.
    /// The connection closes after all earlier requests are answered.
    var isInputOver = false
    private var certificate: [UInt8]?
    /// Parts of pipelined requests that wait for earlier answers; while there are any, nothing is read.
    var early: Deque<HTTPServerRequestPart> = []
    private var isReadHeld = false
    /// Requests that were handled since it was another connection's turn.
    private var handledNow = 0
    private var turnBeganNs: UInt64 = 0
    private static let turnMax = 16
    private static let turnNs: UInt64 = 1_000_000
    /// Tells the decoder which requests may have stopped it.
    let decoderStops = DecoderStops()
    /// Since when the client has not read its answers, by the monotonic clock.
    private var blockedSinceNs: UInt64?

    init(
        _ channel: any Channel, _ connections: HTTPConnections, options: HTTPServerOptions,
        isSecure: Bool, handler: any HTTPServerHandler
    ) {
        self.channel = channel
        self.connections = connections
        self.options = options
        self.isSecure = isSecure
        self.handler = handler
    }

    // MARK: Coming and going

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        number = connections.add(self)
    }

    /// The end of every connection, also of one closed before it was active, for which no other callback comes.
    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        leaveAll()
    }

    func channelInactive(context: ChannelHandlerContext) {
        leaveAll()
        context.fireChannelInactive()
    }

    private func leaveAll() {
        letGo()
        if case .streaming(let stream) = phase { stream.end() }
        connections.remove(number)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        connections.failed(error)
        if case .closing = phase { return }
        // The decoder repeats its error with every further byte.
        guard !isInputOver else { return }
        guard let fault = error as? HTTPParserError else {
            channel.close(promise: nil)
            return
        }
        guard early.isEmpty, !isHeld else {
            isInputOver = true
            return
        }
        let problem: Problem
        switch phase {
        case .idle where fault == .headerOverflow:
            problem = Problem(431, "the head of the request is too large")
        case .idle: problem = Problem(400, "this is not HTTP/1.1")
        case .reading:
            letGo()
            problem = Problem(
                400,
                fault == .invalidChunkSize
                    ? "the size of a chunk is not a hexadecimal number"
                    : "the chunks of the body are malformed: a size that differs from its data, or a bad trailer"
            )
        case .answering, .streaming, .skipping, .dropping, .closing:
            channel.close(promise: nil)
            return
        }
        write(problem.answer, isClosing: true)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed? = event as? ChannelEvent {
            isInputOver = true
            // Only a client that is gone stops listening to an answer without end.
            if case .streaming = phase { giveUp() }
            if early.isEmpty, !isHeld { end() }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        blockedSinceNs = channel.isWritable ? nil : SystemClock.monotonicNs
        if channel.isWritable { resume() }
        context.fireChannelWritabilityChanged()
    }

    /// Closes the connection, after the pending answer if there is one.
    func end() {
        isLast = true
        switch phase {
        case .answering, .reading, .closing: break
        case .idle, .skipping, .dropping, .streaming: channel.close(promise: nil)
        }
    }

    /// The server ends: closes the connection, after the pending answer if there is one. A client that has just
    /// connected has seen an open server, so it may still send one request.
    func leave() {
        guard case .idle = phase, !hasAsked, !isInputOver, options.lastRequestSeconds > 0 else {
            return end()
        }
        isLast = true
        enter(.idle)
    }

    /// Closes the connection if the client takes too long.
    func endIfLate(nowNs: UInt64) {
        if let since = blockedSinceNs,
            nowNs > since + UInt64(options.requestSeconds) * 1_000_000_000
        {
            channel.close(promise: nil)
            return
        }
        let seconds: Int
        switch phase {
        case .idle: seconds = isLast ? options.lastRequestSeconds : options.idleSeconds
        case .reading, .skipping, .dropping, .closing: seconds = options.requestSeconds
        case .answering, .streaming: return
        }
        guard nowNs > sinceNs + UInt64(seconds) * 1_000_000_000 else { return }
        channel.close(promise: nil)
    }

    /// Decides which connection is closed first if there are too many; nil while its answer is being made. One that has
    /// just come is no idle one: else half requests would keep all places, and every newcomer would be closed.
    var patience: (rank: Int, sinceNs: UInt64)? {
        switch phase {
        case .idle: (hasAsked || SystemClock.monotonicNs > sinceNs + 5_000_000_000 ? 0 : 1, sinceNs)
        case .reading, .skipping, .dropping, .closing, .streaming: (1, sinceNs)
        case .answering: nil
        }
    }

    /// Closes the connection at once.
    func giveUp() { channel.close(promise: nil) }

    func enter(_ next: Phase) {
        phase = next
        sinceNs = SystemClock.monotonicNs
    }

    // MARK: Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isInputOver else { return }
        let part = unwrapInboundIn(data)
        decoderStops.note(part)
        if early.isEmpty, !isHeld { handle(part) } else { early.append(part) }
    }

    func read(context: ChannelHandlerContext) {
        if early.isEmpty, !isInputOver, channel.isWritable {
            context.read()
        } else {
            isReadHeld = true
        }
    }

    /// Whether the next request must wait: for an earlier answer, for its turn, or until the client reads its answers.
    private var isHeld: Bool {
        switch phase {
        case .answering, .streaming: true
        case .idle: !channel.isWritable || handledNow >= Self.turnMax
        case .reading, .skipping, .dropping, .closing: false
        }
    }

    /// Handles pipelined requests, then continues reading, as long as the client reads its answers.
    func resume() {
        while !isHeld, let part = early.popFirst() { handle(part) }
        guard early.isEmpty, !isHeld else { return }
        if isInputOver, case .idle = phase { end() }
        guard isReadHeld else { return }
        isReadHeld = false
        channel.read()
    }

    private func handle(_ part: HTTPServerRequestPart) {
        if case .head = part { takeTurn() }
        switch part {
        case .head(let head): if case .idle = phase { begin(head) }
        case .body(let part): take(part)
        case .end: finish()
        }
    }

    /// A client that sends many requests ahead gets some of them answered, then it is the others' turn.
    private func takeTurn() {
        let now = SystemClock.monotonicNs
        if now > turnBeganNs + Self.turnNs { (turnBeganNs, handledNow) = (now, 0) }
        handledNow += 1
        guard handledNow == Self.turnMax else { return }
        // Later, and not with the next tasks: the loop looks at sockets only once it has no task to run.
        _ = channel.eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(Int64(Self.turnNs))) {
            [self] in
            handledNow = 0
            if context != nil { resume() }
        }
    }

    func begin(_ head: HTTPRequestHead) {
        hasAsked = true
        isOld = head.version == .http1_0
        isKeptAlive = head.isKeepAlive
        isHead = head.method == .HEAD
        let facts = RequestHead(head)
        request = facts.request
        enter(.reading)
        if let refusal = refusal(of: facts) {
            let isEndless = facts.isEndless || facts.announced > options.bodyBytesMax
            refuse(refusal, isEndless: isEndless, isWaiting: facts.isWaiting)
        } else {
            if facts.isWaiting { goOn() }
            // The client may announce more than it sends, so reserve little.
            request.body.reserveCapacity(min(facts.announced, 64 * 1_024))
        }
    }

    private func refusal(of facts: RequestHead) -> HTTPServerAnswer? {
        if let refusal = facts.refusal { return noted(refusal) }
        if let seconds = connections.wait(of: remote) {
            return noted(
                Problem.tooMany("too many requests from this address", retryAfterSeconds: seconds))
        }
        if connections.hasStalled() {
            return noted(Problem.busy("the gateway did not run for a while; send it again"))
        }
        return handler.refusal(method: request.method, path: request.path)
            ?? (facts.announced > options.bodyBytesMax ? noted(tooLarge) : nil)
    }

    /// Tells the handler of a refusal that is not its own.
    private func noted(_ answer: HTTPServerAnswer) -> HTTPServerAnswer {
        handler.wasRefused(
            method: request.method, path: request.path, status: answer.status)
        return answer
    }

    /// Sends 100 Continue to a client that waits for it.
    private func goOn() {
        guard let context else { return }
        let buffer = channel.allocator.buffer(staticString: AnswerBytes.goOn)
        context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
    }

    private func take(_ part: ByteBuffer) {
        switch phase {
        case .reading:
            guard request.body.count + part.readableBytes <= options.bodyBytesMax else {
                refuse(noted(tooLarge), isEndless: true, isWaiting: false)
                return
            }
            guard connections.hold(part.readableBytes) else {
                refuse(
                    noted(Problem.busy("too many requests are in progress")), isEndless: true,
                    isWaiting: false)
                return
            }
            heldBytes += part.readableBytes
            part.withUnsafeReadableBytes { request.body.append(contentsOf: $0) }
        case .dropping(let left):
            guard left > part.readableBytes else {
                channel.close(promise: nil)
                return
            }
            phase = .dropping(left: left - part.readableBytes)
        case .idle, .answering, .skipping, .streaming, .closing: break
        }
    }

    private func finish() {
        switch phase {
        case .reading: break
        case .skipping:
            enter(.idle)
            if isLast || !isKeptAlive { channel.close(promise: nil) }
            return
        case .dropping:
            channel.close(promise: nil)
            return
        case .idle, .answering, .streaming, .closing: return
        }
        enter(.answering)
        request.remote = remote
        if isSecure { request.clientCertificate = clientCertificate }
        let whole = request
        request = HTTPServerRequest(method: "", path: "")
        handler.answer(whole) { [connections, number] in connections.answer(number, $0) }
    }

    private var clientCertificate: [UInt8] {
        if let certificate { return certificate }
        let tls = try? channel.pipeline.syncOperations.handler(type: TLSHandler.self)
        let found = tls?.peerCertificate ?? []
        certificate = found
        return found
    }

    /// Releases the body's bytes, once it is dropped or answered.
    func letGo() {
        guard heldBytes > 0 else { return }
        connections.letGo(heldBytes)
        heldBytes = 0
    }

    private var tooLarge: HTTPServerAnswer {
        Problem(413, "the body is over \(options.bodyBytesMax) bytes").answer
    }
}
