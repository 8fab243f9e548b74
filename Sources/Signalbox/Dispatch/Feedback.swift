internal import Logging
internal import SignalboxCore
internal import SignalboxPluginHost
internal import Synchronization

/// Closes the loop: a token that a provider calls dead leaves the registry and is reported to the
/// plugin that its event came from.
///
/// A report is a delivery of its own, to the lane `INSTANCE#register`: durable, retried, and a dead
/// letter if all fails.
final class Feedback: Sendable {
    static let suffix = "#register"
    /// A token that is reported again and again is reported once an hour.
    private static let windowMs: UInt64 = 3_600_000
    private static let expiresMs: UInt64 = 7 * 86_400_000

    private let store: any GatewayStore
    private let metrics: GatewayMetrics
    private let clock: @Sendable () -> UInt64
    /// Instances whose plugins want to know.
    private let reporters: Set<String>
    private let lanes = Mutex<LaneTable?>(nil)
    private let ids: ReportIDs

    init(
        store: any GatewayStore, metrics: GatewayMetrics, reporters: Set<String>, ids: ReportIDs,
        clock: @escaping @Sendable () -> UInt64
    ) {
        self.store = store
        self.metrics = metrics
        self.reporters = reporters
        self.ids = ids
        self.clock = clock
    }

    func set(lanes table: LaneTable) { lanes.withLock { $0 = table } }

    /// A provider called the token of a delivery dead.
    func report(_ delivery: Delivery, _ outcome: Outcome) {
        store.invalidate(
            app: delivery.device.app, token: delivery.device.token,
            goneSinceUnixMs: outcome.goneSinceUnixMs
        ) { result in
            self.metrics.deadToken(source: delivery.source, result: "\(result)")
            // Registered again after it died: it lives, and its source must not forget it.
            guard result != .kept, self.reporters.contains(delivery.source) else { return }
            self.append(delivery, outcome)
        }
    }

    private func append(_ delivery: Delivery, _ outcome: Outcome) {
        let now = clock()
        let change = DeviceChange(
            kind: .invalid, device: delivery.device,
            timeUnixMs: outcome.goneSinceUnixMs == 0 ? now : outcome.goneSinceUnixMs,
            reason: outcome.reason)
        let sender = delivery.source + Self.suffix
        let (id, stableID) = ids.next()
        let report = Delivery(
            id: id, eventID: delivery.eventID, source: delivery.source, route: "", sender: sender,
            stableID: stableID, deadlineUnixMs: now + Self.expiresMs, content: change.carrier,
            device: delivery.device)
        let device = delivery.device
        let token = device.sourceToken.isEmpty ? device.token : device.sourceToken
        let event = Event(
            id: delivery.eventID, source: sender, type: "device.unregistered",
            dedupe: "\(device.app) \(token)")
        let entry = StoreEntry(
            items: [.init(event: event, deliveries: [report])], receivedUnixMs: now,
            dedupeMs: Self.windowMs)
        store.append(entry) { answer in
            guard case .committed(let duplicates) = answer, duplicates.isEmpty else { return }
            self.lanes.withLock { $0 }?.backlog(LaneKey(report))
        }
    }
}

/// Makes ids for deliveries; shared with the pipeline, so that none is used twice.
final class ReportIDs: Sendable {
    private struct State {
        var last: UInt64
        var stableIDs: StableIDs
    }

    private let state: Mutex<State>

    init(last: UInt64) {
        let seed = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))
        state = Mutex(State(last: last, stableIDs: StableIDs(seed: seed)))
    }

    /// The next id, for a delivery or an event, with a UUID.
    func next() -> (id: UInt64, stableID: String) {
        state.withLock { state in
            state.last += 1
            return (state.last, state.stableIDs.next())
        }
    }

    /// Lets `body` make ids.
    func make<Value: Sendable>(
        _ body: (inout UInt64, inout StableIDs) -> Value
    ) -> Value {
        state.withLock { body(&$0.last, &$0.stableIDs) }
    }
}
