internal import DequeModule
internal import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import SignalboxCore

/// The inside of a pool.
///
/// `@unchecked Sendable`: every member is touched on `eventLoop` alone; `PushPool` is the only one
/// who hands work over, by `eventLoop.execute`.
final class PoolCore: @unchecked Sendable {
    /// A request between submit and result.
    private struct Slot {
        var batch: PushBatch
        var request: Int
        /// Tells a slot from the one that had its place before.
        var generation: UInt64
        var connection: UInt64?
        var moves = 0
    }

    /// A request that was refused so often will not find a peer that takes it.
    static let movesMax = 8

    let eventLoop: any EventLoop
    private let endpoint: PushEndpoint
    private var tls: NIOSSLContext
    private let authority: PinnedBytes
    private let onResults: @Sendable ([PushResult]) -> Void
    private let onEvent: @Sendable (PushPoolEvent) -> Void
    private var state: PoolState
    private var connections: [UInt64: PushConnection] = [:]
    private var slots: [Slot?] = []
    private var freeSlots: [Int] = []
    private var generation: UInt64 = 0
    private var waiting: Deque<Int> = Deque()
    private var deadlines: Deque<(ns: UInt64, slot: Int, generation: UInt64)> = Deque()
    private var deadlineTimer: Scheduled<Void>?
    private var wakeTimer: Scheduled<Void>?
    private var results: [PushResult] = []
    private var isReporting = false
    private var stopped: EventLoopPromise<Void>?

    init(
        endpoint: PushEndpoint, eventLoop: any EventLoop, tls: NIOSSLContext,
        onResults: @escaping @Sendable ([PushResult]) -> Void,
        onEvent: @escaping @Sendable (PushPoolEvent) -> Void
    ) {
        self.endpoint = endpoint
        self.eventLoop = eventLoop
        self.tls = tls
        self.onResults = onResults
        self.onEvent = onEvent
        authority = PinnedBytes(Array(endpoint.authority.utf8))
        state = PoolState(
            connectionsMax: endpoint.connectionsMax, streamsMax: endpoint.streamsMax,
            isOneStreamFirst: endpoint.isOneStreamFirst)
    }

    // MARK: Entries

    func submit(_ batch: RequestBatch) {
        let deadline = now + UInt64(endpoint.requestTimeoutMs) * 1_000_000
        let pinned = PushBatch(batch, deadlineNs: deadline)
        for index in batch.requests.indices {
            let slot = freeSlots.popLast() ?? slots.count
            if slot == slots.count { slots.append(nil) }
            generation += 1
            slots[slot] = Slot(batch: pinned, request: index, generation: generation)
            if state.isStopping {
                finish(slot, .fault(.stopping))
            } else {
                waiting.append(slot)
                deadlines.append((deadline, slot, generation))
            }
        }
        armDeadline()
        work()
        report()
    }

    func drain(connection id: UInt64) {
        perform(state.drain(id))
        work()
    }

    func withdraw() {
        while let slot = waiting.popFirst() { finish(slot, .fault(.withdrawn)) }
        report()
    }

    func renew(_ tls: NIOSSLContext) {
        self.tls = tls
        for id in connections.keys.sorted() { perform(state.drain(id)) }
        work()
    }

    var status: PushPoolStatus {
        PushPoolStatus(
            ready: state.readyCount, connecting: state.connectingCount,
            draining: state.drainingCount, waiting: waiting.count, inFlight: state.openCount,
            isFailing: state.isFailing)
    }

    func stop(deadlineMs: Int, done: EventLoopPromise<Void>) {
        stopped = done
        wakeTimer?.cancel()
        while let slot = waiting.popFirst() { finish(slot, .fault(.stopping)) }
        perform(state.stop())
        report()
        if connections.isEmpty { return finishStop() }
        eventLoop.assumeIsolatedUnsafeUnchecked().scheduleTask(
            in: .milliseconds(Int64(deadlineMs))
        ) {
            for connection in self.connections.values { connection.close(reason: "stopping") }
        }
    }

    // MARK: Work

    private var now: UInt64 { NIODeadline.now().uptimeNanoseconds }

    /// Sends what can be sent and connects if more is needed.
    private func work() {
        var touched: [UInt64] = []
        while !waiting.isEmpty, let id = state.place(), let connection = connections[id] {
            guard let slot = waiting.popFirst() else { break }
            guard let entry = slots[slot] else { continue }
            guard connection.send(slot: slot, batch: entry.batch, request: entry.request) else {
                waiting.prepend(slot)
                perform(state.drain(id))
                continue
            }
            slots[slot]?.connection = id
            state.opened(id)
            if touched.last != id, !touched.contains(id) { touched.append(id) }
        }
        for id in touched { connections[id]?.flush() }
        perform(state.need(waiting: waiting.count, nowNs: now))
    }

    private func perform(_ actions: [PoolState.Action]) {
        for action in actions {
            switch action {
            case .connect(let id): connect(id)
            case .close(let id): connections[id]?.close(reason: "drained")
            case .wake(let at):
                guard wakeTimer == nil else { continue }
                wakeTimer = eventLoop.assumeIsolatedUnsafeUnchecked().scheduleTask(
                    deadline: .uptimeNanoseconds(at)
                ) {
                    self.wakeTimer = nil
                    self.work()
                }
            }
        }
    }

    private func connect(_ id: UInt64) {
        let connection = PushConnection(
            id: id, endpoint: endpoint, authority: authority, owner: self)
        connections[id] = connection
        let name = Self.isAddress(endpoint.host) ? nil : endpoint.host
        let tls = tls
        ClientBootstrap(group: eventLoop)
            .connectTimeout(.milliseconds(Int64(endpoint.connectTimeoutMs)))
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    channel.closeOnExec()
                    let handler = try NIOSSLClientHandler(context: tls, serverHostname: name)
                    guard let connection = self.connections[id] else { return }
                    try channel.pipeline.syncOperations.addHandlers(handler, connection)
                }
            }
            .connect(host: endpoint.host, port: endpoint.port)
            .whenFailure { error in
                // A channel that came so far as to be active reports its end itself.
                guard self.connections.removeValue(forKey: id) != nil else { return }
                self.connectFailed(id, ConnectFault.text(error))
            }
    }

    private func connectFailed(_ id: UInt64, _ reason: String) {
        state.connectFailed(id, nowNs: now, random: Double.random(in: 0..<1))
        onEvent(PushPoolEvent(kind: .connectFailed, connection: id, text: reason))
        if state.isStopping { finishStop() }
        work()
    }

    private func finish(_ slot: Int, _ answer: PushResult.Answer) {
        guard let entry = slots[slot] else { return }
        slots[slot] = nil
        freeSlots.append(slot)
        results.append(PushResult(items: entry.batch.items(of: entry.request), answer: answer))
    }

    private func report() {
        guard !results.isEmpty else { return }
        let group = results
        results = []
        onResults(group)
    }

    private func finishStop() {
        guard connections.isEmpty, let promise = stopped else { return }
        stopped = nil
        deadlineTimer?.cancel()
        promise.succeed(())
    }

    // MARK: Deadlines

    private func armDeadline() {
        guard deadlineTimer == nil, let first = deadlines.first else { return }
        deadlineTimer = eventLoop.assumeIsolatedUnsafeUnchecked().scheduleTask(
            deadline: .uptimeNanoseconds(first.ns)
        ) {
            self.deadlineTimer = nil
            self.expire()
        }
    }

    private func expire() {
        let time = now
        var hasExpiredWaiting = false
        while let first = deadlines.first, first.ns <= time {
            deadlines.removeFirst()
            guard let entry = slots[first.slot], entry.generation == first.generation else {
                continue
            }
            if let id = entry.connection {
                finish(first.slot, .fault(.timeout))
                connections[id]?.abandon(slot: first.slot)
            } else {
                hasExpiredWaiting = true
                finish(first.slot, .fault(state.isFailing ? .unreachable : .timeoutUnsent))
            }
        }
        if hasExpiredWaiting { waiting.removeAll { slots[$0] == nil } }
        // Answered requests leave their entry behind; drop those at the front.
        while let first = deadlines.first, slots[first.slot]?.generation != first.generation {
            deadlines.removeFirst()
        }
        armDeadline()
        work()
        report()
    }

    private static func isAddress(_ host: String) -> Bool {
        (try? SocketAddress(ipAddress: host, port: 0)) != nil
    }
}

extension PoolCore: PushConnectionOwner {
    func connectionReady(_ connection: PushConnection, peerMax: Int) {
        state.connected(connection.id, peerMax: peerMax)
        onEvent(PushPoolEvent(kind: .connected, connection: connection.id, text: ""))
        if state.isStopping { perform(state.drain(connection.id)) }
    }

    func connectionSettings(_ connection: PushConnection, peerMax: Int) {
        state.settings(connection.id, peerMax: peerMax)
    }

    func connectionGoAway(_ connection: PushConnection, reason: String) {
        onEvent(PushPoolEvent(kind: .goAway, connection: connection.id, text: reason))
        perform(state.drain(connection.id))
    }

    func connectionWritability(_ connection: PushConnection, isWritable: Bool) {
        state.writability(connection.id, isWritable)
        if isWritable { work() }
    }

    func connection(
        _ connection: PushConnection, ended slot: Int, answer: PushResult.Answer?
    ) {
        var isSuccess = false
        if case .response(let response) = answer {
            isSuccess = (200..<300).contains(response.status)
        }
        perform(state.ended(connection.id, isSuccess: isSuccess))
        guard slot >= 0, let entry = slots[slot] else { return }
        guard let answer else {
            slots[slot]?.connection = nil
            slots[slot]?.moves += 1
            if state.isStopping {
                finish(slot, .fault(.stopping))
            } else if entry.moves >= Self.movesMax {
                finish(slot, .fault(.unreachable))
            } else {
                waiting.prepend(slot)
            }
            return
        }
        finish(slot, answer)
    }

    func connectionReadComplete(_ connection: PushConnection) {
        report()
        work()
    }

    func connectionClosed(_ connection: PushConnection, wasReady: Bool, reason: String) {
        guard connections.removeValue(forKey: connection.id) != nil else { return }
        if wasReady {
            state.closed(connection.id, nowNs: now, random: Double.random(in: 0..<1))
            let kind: PushPoolEvent.Kind = reason == "no answer to PING" ? .pingTimeout : .closed
            onEvent(PushPoolEvent(kind: kind, connection: connection.id, text: reason))
            if state.isStopping { finishStop() }
            work()
        } else {
            connectFailed(connection.id, reason)
        }
        report()
    }
}
