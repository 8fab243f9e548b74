internal import Logging
internal import NIOCore
internal import SignalboxCore
internal import SignalboxThreads
internal import Synchronization

/// The open connections of a server: passes answers to them, and closes those that take too long.
final class HTTPConnections: Sendable {
    /// Used only on the event loop.
    private final class State {
        var all: [Int: HTTPConnection] = [:]
        var lastNumber = 0
        var onEnd: (() -> Void)?
        /// Clients are told to leave.
        var isLeaving = false
        var isEnding = false
        /// Bytes of unanswered bodies, over all connections.
        var heldBytes = 0
        /// When each limit was last logged, by the monotonic clock.
        var warnedNs: [ListenerLimit: UInt64] = [:]
        /// Of the addresses of clients.
        var clients = TokenBuckets(countMax: 10_000)
        var stall: StallWatch

        init(_ stall: StallWatch) { self.stall = stall }
    }

    private let loop: any EventLoop
    private let logger: Logger
    private let state: NIOLoopBoundBox<State>
    /// Answers waiting for the event loop; those of one commit wake it once.
    private let answers = Mutex<[(number: Int, answer: HTTPServerAnswer)]>([])

    private let options: HTTPServerOptions
    private var countMax: Int { max(1, options.connectionsMax) }

    init(loop: any EventLoop, logger: Logger, options: HTTPServerOptions) {
        self.options = options
        self.loop = loop
        self.logger = logger
        state = .makeBoxSendingValue(State(StallWatch(options.nowNs)), eventLoop: loop)
        loop.scheduleRepeatedTask(initialDelay: .seconds(1), delay: .seconds(1)) { [weak self] _ in
            self?.sweep()
        }
    }

    /// Adds a connection and returns its number.
    ///
    /// Thread: the event loop.
    func add(_ connection: HTTPConnection) -> Int {
        state.value.lastNumber += 1
        state.value.all[state.value.lastNumber] = connection
        options.onConnections(state.value.all.count)
        if state.value.isEnding { connection.leave() }
        // Runs later: connections accepted in the same batch may not be open yet, and cannot be closed now.
        if state.value.all.count > countMax { loop.execute { self.makeRoom() } }
        return state.value.lastNumber
    }

    /// Whether clients are told to leave.
    ///
    /// Thread: the event loop.
    var isLeaving: Bool { state.value.isLeaving }

    /// Reserves bytes for a body; false if the limit is reached.
    ///
    /// Thread: the event loop.
    func hold(_ count: Int) -> Bool {
        guard state.value.heldBytes + count <= options.bodiesBytesMax else {
            reached(.bodies, "too many unfinished requests, answering 503")
            return false
        }
        state.value.heldBytes += count
        return true
    }

    /// Releases reserved bytes.
    ///
    /// Thread: the event loop.
    func letGo(_ count: Int) { state.value.heldBytes -= count }

    /// Takes a request of a client's address; else the seconds after which the next one is taken.
    ///
    /// Thread: the event loop.
    func wait(of client: @autoclosure () -> String) -> Int? {
        let rate = options.clientRate()
        guard rate > 0 else { return nil }
        let name = client()
        let wait = state.value.clients.take(
            name, perSecond: rate, nowNs: SystemClock.monotonicNs)
        guard let wait else { return nil }
        reached(.clientRate, "a client sends too many requests, answering 429", client: name)
        return wait
    }

    /// The system refuses to accept a connection; the listener tries again in a second.
    ///
    /// Thread: the event loop.
    func cannotAccept(_ error: any Error) {
        reached(.system, "clients cannot be accepted, they wait", reason: "\(error)")
    }

    /// Each limit has a log line once in 30 s.
    private func reached(
        _ limit: ListenerLimit, _ words: Logger.Message, client: String = "", reason: String = ""
    ) {
        options.onLimit(limit)
        let now = SystemClock.monotonicNs
        if let warned = state.value.warnedNs[limit], now < warned + 30_000_000_000 { return }
        state.value.warnedNs[limit] = now
        var fields: Logger.Metadata = [
            "connections": "\(state.value.all.count)", "connections.max": "\(countMax)",
            "bodies.bytes": "\(state.value.heldBytes)",
            "bodies.bytes_max": "\(options.bodiesBytesMax)", "client": "\(client)",
        ]
        if limit == .clientRate { fields["key"] = "gateway.limits.client_rate" }
        if !reason.isEmpty { fields["error"] = "\(reason)" }
        logger.warning(words, metadata: fields)
    }

    /// Closes the connection that has waited longest for its client; idle ones first.
    private func makeRoom() {
        guard state.value.all.count > countMax else { return }
        state.value.all.values.filter { $0.patience != nil }.min {
            ($0.patience ?? (1, 0)) < ($1.patience ?? (1, 0))
        }?.giveUp()
        reached(.connections, "too many connections, closing those idle longest")
    }

    /// Logs an error that ended a connection.
    func failed(_ error: any Error) {
        logger.debug("connection failed", metadata: ["error": "\(error)"])
    }

    /// Removes a closed connection.
    ///
    /// Thread: the event loop.
    func remove(_ number: Int) {
        state.value.all[number] = nil
        options.onConnections(state.value.all.count)
        guard state.value.all.isEmpty else { return }
        state.value.onEnd?()
        state.value.onEnd = nil
    }

    /// Answers the current request of a connection.
    ///
    /// Thread: any.
    func answer(_ number: Int, _ answer: HTTPServerAnswer) {
        let isFirst = answers.withLock { answers in
            answers.append((number, answer))
            return answers.count == 1
        }
        if isFirst { loop.execute { self.deliver() } }
    }

    private func deliver() {
        let due = answers.withLock { answers in
            defer { answers = [] }
            return answers
        }
        for (number, answer) in due {
            if let connection = state.value.all[number] {
                connection.answer(answer)
            } else {
                answer.stream?.end()
            }
        }
    }

    /// Sends a part of an endless answer.
    ///
    /// Thread: any.
    func send(_ number: Int, _ part: [UInt8]) {
        loop.execute { self.state.value.all[number]?.send(part) }
    }

    /// Whether a request that comes now may have waited while the process did not run.
    ///
    /// Thread: the event loop.
    func hasStalled() -> Bool {
        if let ms = state.value.stall.tick() {
            logger.warning(
                "the process did not run for a while, refusing what came meanwhile",
                metadata: ["stall.ms": "\(ms)"])
        }
        return state.value.stall.isRefusing
    }

    private func sweep() {
        _ = hasStalled()
        let now = SystemClock.monotonicNs
        for connection in state.value.all.values { connection.endIfLate(nowNs: now) }
    }

    /// From now on clients are told to leave.
    func announceEnd() async {
        await withCheckedContinuation { continuation in
            loop.execute {
                self.state.value.isLeaving = true
                continuation.resume()
            }
        }
    }

    /// Closes all connections after they have answered what they have read.
    func end() async {
        await withCheckedContinuation { continuation in
            loop.execute {
                self.state.value.isEnding = true
                guard !self.state.value.all.isEmpty else {
                    continuation.resume()
                    return
                }
                self.state.value.onEnd = { continuation.resume() }
                for connection in self.state.value.all.values { connection.leave() }
            }
        }
    }
}
