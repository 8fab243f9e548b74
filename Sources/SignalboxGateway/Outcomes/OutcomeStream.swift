internal import Logging
internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxHTTP
internal import SignalboxThreads
internal import Synchronization

/// Sends the outcomes of deliveries to receivers.
///
/// The commit that ends a delivery appends its outcome to the stream. Each receiver has a position in the stream and a
/// sender that advances it. Deliveries never wait for receivers.
package final class OutcomeStream: Sendable {
    private struct State {
        var senders: [String: OutcomeSender] = [:]
        var wish: OutcomeWish?
        var isStopped = false
    }

    private let store: any GatewayStore
    private let transport: OutcomeTransport
    private let alarms: AlarmClock
    private let logger: Logger
    private let metrics: GatewayMetrics
    private let clock: @Sendable () -> UInt64
    private let state = Mutex(State())
    private let hasWish = Atomic<Bool>(false)
    /// Batches that are being posted.
    private let underWay = UnderWay()

    init(
        store: any GatewayStore, transport: OutcomeTransport, alarms: AlarmClock, logger: Logger,
        metrics: GatewayMetrics, clock: @escaping @Sendable () -> UInt64
    ) {
        self.store = store
        self.transport = transport
        self.alarms = alarms
        self.logger = logger
        self.metrics = metrics
        self.clock = clock
    }

    /// Whether there is a receiver; checked per delivery, so that a gateway without receivers pays nothing.
    var isOn: Bool { hasWish.load(ordering: .relaxed) }

    /// What the receivers want; nil if they want nothing.
    var wish: OutcomeWish? { state.withLock { $0.wish } }

    /// All receivers, in order of their names.
    package var senders: [OutcomeSender] {
        state.withLock { $0.senders.values.sorted { $0.receiver.name < $1.receiver.name } }
    }

    /// Wakes the senders after an append.
    func wake() { for sender in senders { sender.wake() } }

    /// Appends opens of notifications; on disk when this returns.
    func append(_ pack: OutcomePack) async throws {
        guard !pack.isEmpty else { return }
        try await store.append(pack)
        wake()
    }

    /// Replaces the receivers. An unchanged one continues, and probes at once if it is held.
    func replace(with receivers: [OutcomeReceiver]) async {
        let places: [String: UInt64]
        do {
            places = try await store.setOutcomeReceivers(receivers.map(\.name))
        } catch {
            logger.error(
                "failed to store the receivers of outcomes, retrying",
                metadata: ["error": "\(error)"])
            alarms.after(ms: 5_000) { [weak self] in
                Task { await self?.replace(with: receivers) }
            }
            return
        }
        var (kept, fresh, gone): ([OutcomeSender], [OutcomeSender], [OutcomeSender]) = ([], [], [])
        state.withLock { state in
            guard !state.isStopped else { return }
            let before = state.senders
            state.senders = [:]
            for receiver in receivers {
                if let same = before[receiver.name], same.receiver == receiver {
                    state.senders[receiver.name] = same
                    kept.append(same)
                } else {
                    let made = OutcomeSender(
                        receiver, from: places[receiver.name] ?? store.nextOutcome, store: store,
                        transport: transport, alarms: alarms, logger: logger, metrics: metrics,
                        clock: clock,
                        underWay: underWay)
                    state.senders[receiver.name] = made
                    fresh.append(made)
                }
            }
            gone = before.values.filter { old in !kept.contains { $0 === old } }
            state.wish = receivers.isEmpty ? nil : .any(of: receivers.map(\.wish))
            hasWish.store(state.wish != nil, ordering: .relaxed)
        }
        for sender in gone { sender.stop() }
        for sender in fresh { sender.start() }
        for sender in kept { sender.tryNow() }
    }

    /// Starts no more requests, and waits a moment for those in progress.
    func stop() async {
        let senders = state.withLock { state in
            state.isStopped = true
            return Array(state.senders.values)
        }
        for sender in senders { sender.stop() }
        let underWay = underWay
        let deadline = SystemClock.monotonicNs + 2_000_000_000
        _ = await SystemThread.value { underWay.waitForNone(deadlineNs: deadline) }
        for sender in senders { await sender.release() }
    }
}
