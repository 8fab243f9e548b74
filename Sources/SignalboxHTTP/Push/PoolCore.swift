internal import DequeModule
internal import NIOCore
internal import NIOPosix
internal import SignalboxCore
internal import Synchronization

/// The implementation of a pool.
///
/// `@unchecked Sendable`: every member is used only on `eventLoop`; only `PushPool`
/// submits work, by `eventLoop.execute`.
final class PoolCore: @unchecked Sendable {
    /// A request from its submission to its result.
    struct Slot {
        var batch: PushBatch
        var request: Int
        /// Distinguishes this sending from the slot's previous one.
        var generation: UInt64 = 0
        /// The connection it was sent on; nil while it waits.
        var connection: UInt64?
        var refusals = 0
        var flight = Flight(sentNs: 0, answersBefore: 0)

        mutating func sent(on id: UInt64, _ generation: UInt64, _ flight: Flight) {
            connection = id
            self.generation = generation
            self.flight = flight
        }
    }

    /// A request that the peer refused this often is given up.
    static let refusalsMax = 8
    /// While the peer answers, a request may wait this many request time-outs before it is sent.
    static let waitFactor: UInt64 = 6
    /// And never longer than this.
    static let waitMaxNs: UInt64 = 60_000_000_000

    let eventLoop: any EventLoop
    /// Changed under the lock of `PoolCores`.
    let clientCount = Atomic(1)
    private let endpoint: PushEndpoint
    private let tls: TLSContext
    private let resumption = TLSResumption()
    let gate: HostGate
    private let hosts: HostAddresses
    /// Where connections are, once TCP is connected.
    var addresses: [UInt64: SocketAddress] = [:]
    let timeoutNs: UInt64
    private let authority: PinnedBytes
    let onEvent: @Sendable (PushPoolEvent) -> Void
    var state: PoolState
    var connections: [UInt64: PushConnection] = [:]
    var slots: [Slot?] = []
    var freeSlots: [Int] = []
    var generation: UInt64 = 0
    /// Requests of all clients that wait for a stream, in their order: what a provider is told of a new credential
    /// must not be followed by the previous one.
    var waiting: Deque<Int> = Deque()
    /// Requests that a peer did not process; they go to the front of those that wait, in the order they were sent.
    var moved: [Int] = []
    /// Deadlines of sent requests: first the time-out, then the end of the wait for a late answer.
    var deadlines = RequestDeadlines()
    var deadlineTimer: Scheduled<Void>?
    var waitTimer: (ns: UInt64, task: Scheduled<Void>)?
    var wakeTimer: (ns: UInt64, task: Scheduled<Void>)?
    /// Clients with results to be handed over.
    var reporting: [PoolClient] = []
    /// Why the last connect failed, also if one has succeeded since.
    private var lastFailure = ""
    /// All clients have left: called once all connections are closed.
    var onStopped: (@Sendable () -> Void)?

    init(
        endpoint: PushEndpoint, eventLoop: any EventLoop, tls: TLSContext, gate: HostGate,
        resolver: (any Resolver & Sendable)?, onEvent: @escaping @Sendable (PushPoolEvent) -> Void
    ) {
        self.endpoint = endpoint
        self.eventLoop = eventLoop
        self.tls = tls
        self.gate = gate
        hosts = HostAddresses(eventLoop, system: resolver)
        timeoutNs = UInt64(endpoint.requestTimeoutMs) * 1_000_000
        self.onEvent = onEvent
        authority = PinnedBytes(Array(endpoint.authority.utf8))
        state = PoolState(
            connectionsMax: endpoint.connectionsMax, streamsMax: endpoint.streamsMax,
            isOneStreamFirst: endpoint.isOneStreamFirst, timeoutNs: timeoutNs)
    }

    // MARK: Entries

    func submit(_ batch: RequestBatch, from client: PoolClient) {
        let pinned = PushBatch(batch, client, submittedNs: now)
        client.openCount += batch.requests.count
        for index in batch.requests.indices {
            let slot = freeSlots.popLast() ?? slots.count
            if slot == slots.count { slots.append(nil) }
            slots[slot] = Slot(batch: pinned, request: index)
            if let refusal = client.refusal {
                fail(slot, refusal)
            } else {
                waiting.append(slot)
            }
        }
        work()
    }

    /// Sends nothing more on a connection that works, if the host's bound allows another connect.
    func leave(connection id: UInt64) {
        guard state.isReady(id), gate.leave(nowNs: now) else { return }
        perform(state.drain(id))
        work()
    }

    /// Why the last connect failed; empty if it did not, or one has succeeded since.
    var failure: String { state.isFailing ? lastFailure : "" }

    var status: PushPoolStatus {
        PushPoolStatus(
            ready: state.readyCount, connecting: state.connectingCount,
            draining: state.drainingCount, waiting: waiting.count + moved.count,
            inFlight: state.openCount, failure: failure, proxy: endpoint.proxy)
    }

    // MARK: Work

    var now: UInt64 { NIODeadline.now().uptimeNanoseconds }

    /// Sends what can be sent, reports what cannot, and connects if more connections are needed.
    func work() {
        let time = now
        takeBackMoved()
        var written = Written()
        var sending: PoolClient?
        while let slot = waiting.first {
            guard let entry = slots[slot] else {
                waiting.removeFirst()
                continue
            }
            if entry.batch.client !== sending {
                sending = entry.batch.client
                guard entry.batch.client.maySend() else {
                    returnWaiting(of: entry.batch.client, as: .withdrawn)
                    continue
                }
            }
            guard let id = state.place(), let connection = connections[id] else { break }
            send(slot, entry, on: connection, time, &written)
        }
        written.flush()
        report()
        armDeadline()
        guard !waiting.isEmpty else { return }
        armWait()
        perform(state.need(waiting: waiting.count, nowNs: time))
    }

    /// Sends the first of those that wait.
    private func send(
        _ slot: Int, _ entry: Slot, on connection: PushConnection, _ time: UInt64,
        _ written: inout Written
    ) {
        // The process may have been stopped: the timer that should have ended the wait is late, too.
        guard time < lastEndNs(entry.batch.submittedNs) else {
            waiting.removeFirst()
            return fail(slot, .timeoutUnsent)
        }
        guard connection.send(slot: slot, batch: entry.batch, request: entry.request) else {
            return perform(state.drain(connection.id))
        }
        waiting.removeFirst()
        generation += 1
        slots[slot]?.sent(on: connection.id, generation, state.opened(connection.id, nowNs: time))
        addDeadline(time, slot, generation)
        written.add(connection)
    }

    /// Connections with something to write.
    private struct Written {
        // Mostly one connection takes all, and needs no list.
        private var last: PushConnection?
        private var others: [PushConnection] = []

        mutating func add(_ connection: PushConnection) {
            if let last, last !== connection, !others.contains(where: { $0 === last }) {
                others.append(last)
            }
            last = connection
        }

        func flush() {
            for connection in others where connection !== last { connection.flush() }
            last?.flush()
        }
    }

    func takeBackMoved() {
        guard !moved.isEmpty else { return }
        moved.sort { slots[$0]?.generation ?? 0 < slots[$1]?.generation ?? 0 }
        waiting.prepend(contentsOf: moved)
        moved = []
    }

    func perform(_ actions: [PoolState.Action]) {
        for action in actions {
            switch action {
            case .connect(let id): connect(id)
            case .close(let id): connections[id]?.close(reason: "drained")
            case .wake(let at):
                guard at < wakeTimer?.ns ?? .max else { continue }
                wakeTimer?.task.cancel()
                wakeTimer = (at, timer(at) { $0.wakeTimer = nil })
            case .stalled(let id):
                onEvent(
                    PushPoolEvent(
                        kind: .stalled, connection: id,
                        text: "the connection answers no requests and is replaced"))
            case .leave(let id): leave(connection: id)
            }
        }
    }

    /// At a time, runs `first`, then works.
    func timer(
        _ ns: UInt64, first: @escaping (PoolCore) -> Void
    ) -> Scheduled<Void> {
        eventLoop.assumeIsolatedUnsafeUnchecked().scheduleTask(deadline: .uptimeNanoseconds(ns)) {
            first(self)
            self.work()
        }
    }

    private func connect(_ id: UInt64) {
        guard gate.begin(nowNs: now) else {
            // Jitter, so that the pools of a host do not all retry at the same time.
            let wait = UInt64.random(in: 250...1_000) * 1_000_000
            return perform(state.postponed(id, untilNs: now + wait))
        }
        let tls: TLSHandler
        do throws(TLSFault) {
            let session = try TLSSession(
                client: self.tls, host: endpoint.host, resumption: resumption)
            tls = TLSHandler(session)
        } catch {
            return connectFailed(id, ConnectFault.text(error))
        }
        let waitMs = Int64(endpoint.connectTimeoutMs)
        let deadline = NIODeadline.now() + .milliseconds(waitMs)
        connections[id] = PushConnection(
            id: id, endpoint: endpoint, authority: authority, tls: tls, connectBy: deadline,
            owner: self)
        let proxy = endpoint.proxy
        let target = endpoint.place
        // A host with several addresses is tried at some of them at once, so the handlers come when one has answered;
        // until then nothing is read.
        ClientBootstrap(group: eventLoop)
            .resolver(hosts.resolver())
            .connectTimeout(.milliseconds(waitMs))
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelOption(.autoRead, value: false)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { channel.closeOnExec() }
            }
            .connect(host: proxy?.host ?? endpoint.host, port: proxy?.port ?? endpoint.port)
            .flatMap { channel in
                guard let proxy else { return channel.eventLoop.makeSucceededFuture(channel) }
                return ProxyTunnel.open(channel, through: proxy, to: target, by: deadline)
            }
            .assumeIsolatedUnsafeUnchecked()
            .whenComplete { self.connected(id, $0) }
    }

    /// TCP is connected, or cannot be.
    private func connected(_ id: UInt64, _ result: Result<any Channel, any Error>) {
        let connection = connections[id]
        do {
            let channel = try result.get()
            // Given up meanwhile.
            guard let connection else { return channel.close(promise: nil) }
            addresses[id] = channel.remoteAddress
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHandler(connection)
            // It writes at once, and its connection must be notified if that fails.
            try pipeline.addHandler(connection.tls, position: .before(connection))
            // A channel that closes in here does not tell its handlers.
            guard channel.isActive else { throw ChannelError.ioOnClosedChannel }
            try channel.syncOptions?.setOption(.autoRead, value: true)
        } catch {
            guard let connection, connections[id] === connection else { return }
            connections[id] = nil
            connection.forget()
            connectFailed(id, ConnectFault.text(error))
        }
    }

    /// A connection to this address is ready, or was useless.
    func served(at address: SocketAddress) { hosts.served(address) }
    func failed(at address: SocketAddress) { hosts.failed(address) }

    /// Ends a connection, whether it has a channel yet or not.
    func close(_ id: UInt64, reason: String) {
        guard let connection = connections[id] else { return }
        guard !connection.hasChannel else { return connection.close(reason: reason) }
        connections[id] = nil
        connectFailed(id, reason)
    }

    func connectFailed(_ id: UInt64, _ reason: String) {
        gate.failed(wasConnected: false, nowNs: now)
        let address = addresses.removeValue(forKey: id)
        state.connectFailed(id, nowNs: now, random: Double.random(in: 0..<1))
        if let address { hosts.failed(address) } else { hosts.noneConnected() }
        note(failure: reason, at: address)
        if state.isStopping { return finishStop() }
        onEvent(PushPoolEvent(kind: .connectFailed, connection: id, text: lastFailure))
        work()
    }

    /// Keeps why there is no connection; of several addresses, to which one.
    func note(failure reason: String, at address: SocketAddress?) {
        var place = address?.ipAddress.map { $0 == endpoint.host ? "" : " (\($0))" } ?? ""
        if let proxy = endpoint.proxy { place = " through \(proxy)" }
        lastFailure = "\(endpoint.authority)\(place): \(reason)"
    }
}
