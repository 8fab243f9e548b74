internal import SignalboxCore
internal import SignalboxCrypto
internal import SignalboxDispatch
internal import SignalboxPluginHost
internal import SignalboxThreads
internal import Synchronization

/// Moves reports from the outbox to the queue, each as a delivery to its instance: durable, retried, and a dead letter
/// in the end. Those for outcome receivers go to the outcome stream.
final class ReportRelay: Sendable {
    /// A token reported repeatedly is passed on once an hour.
    private static let windowMs: UInt64 = 3_600_000
    private static let expiresMs: UInt64 = 7 * 86_400_000
    private static let partMax = 256
    private static let pauseMs: UInt64 = 1_000

    private let store: any GatewayStore
    private let ids: IDSource
    private let lanes: LaneTable
    private let outcomes: OutcomeStream
    private let alarms: AlarmClock
    private let clock: @Sendable () -> UInt64
    private let transfer = Mutex(OutboxTransfer())

    init(_ context: DispatchContext, _ lanes: LaneTable) {
        store = context.store
        ids = context.ids
        self.lanes = lanes
        outcomes = context.outcomes
        alarms = context.alarms
        clock = context.clock
    }

    /// Starts moving reports, including those left by a previous process.
    func start() {
        store.watchOutbox { [weak self] in self?.step { $0.written() } }
        step { $0.written() }
    }

    /// Performs the transfer's next step; `found`: the reports it read.
    private func step(
        _ found: [OutboxEntry] = [], _ change: (inout OutboxTransfer) -> OutboxTransfer.Step
    ) {
        switch transfer.withLock({ change(&$0) }) {
        case .rest: break
        case .read:
            store.outbox(max: Self.partMax) { result in
                guard case .success(let found) = result else { return self.step { $0.failed() } }
                self.step(found) { $0.found(last: found.last?.id) }
            }
        case .append: append(found)
        case .remove(let last):
            store.removeFromOutbox(through: last) { result in
                self.step {
                    if case .success = result { $0.removed() } else { $0.failed() }
                }
            }
        case .pause:
            alarms.after(ms: Self.pauseMs) { [weak self] in self?.step { $0.waited() } }
        }
    }

    /// The queue first, since it drops duplicates: a retry then adds nothing twice to the stream.
    private func append(_ found: [OutboxEntry]) {
        let told = found.filter { $0.report.instance == DeviceReport.stream }
        queue(found.filter { $0.report.instance != DeviceReport.stream }) { isQueued in
            guard isQueued else { return self.step { $0.failed() } }
            guard !told.isEmpty else { return self.step { $0.appended() } }
            Task {
                do {
                    try await self.outcomes.append(self.pack(told))
                    self.step { $0.appended() }
                } catch {
                    self.step { $0.failed() }
                }
            }
        }
    }

    private func pack(_ told: [OutboxEntry]) -> OutcomePack {
        var pack = OutcomePack()
        let wish = outcomes.wish
        for entry in told {
            let device = entry.report.change.device
            guard let result = OutcomeResult(entry.report.change.kind),
                wish?.takes(result, route: "") == true
            else { continue }
            pack.add(
                entry.report, name: device.token.isEmpty ? "" : Self.name(device),
                unixMs: clock())
        }
        return pack
    }

    private func queue(_ found: [OutboxEntry], done: @escaping @Sendable (Bool) -> Void) {
        guard !found.isEmpty else { return done(true) }
        guard let own = ids.take(found.count) else { return done(false) }
        let entry = Self.entry(of: found, own, nowUnixMs: clock())
        let keys = Set(entry.items.flatMap(\.deliveries).map { LaneKey($0) })
        store.append(entry) { answer in
            guard case .committed = answer else { return done(false) }
            for key in keys { self.lanes.backlog(key) }
            done(true)
        }
    }

    /// What the queue gets for these reports.
    static func entry(
        of found: [OutboxEntry], _ ids: DeliveryIDs, nowUnixMs: UInt64
    ) -> StoreEntry {
        var ids = ids
        var entry = StoreEntry(
            items: found.map { item($0, ids.next(), nowUnixMs) }, receivedUnixMs: nowUnixMs,
            dedupeMs: windowMs)
        entry.isFromOutbox = true
        return entry
    }

    private static func item(
        _ entry: OutboxEntry, _ own: (id: UInt64, stableID: String), _ nowUnixMs: UInt64
    ) -> StoreEntry.Item {
        let (report, change) = (entry.report, entry.report.change)
        let device = change.device
        let eventID = report.eventID == 0 ? own.id : report.eventID
        // Equal for all state changes of a user's device, so that only the newest is reported. Results of dry runs are
        // all reported.
        let isState = [.registered, .unregistered, .invalid].contains(change.kind)
        let delivery = Delivery(
            kind: .report, id: own.id, eventID: eventID, source: report.instance, route: "",
            sender: report.instance, stableID: isState ? name(device) : own.stableID,
            deadlineUnixMs: nowUnixMs + expiresMs,
            content: change.carrier(receivedUnixMs: nowUnixMs), device: device)
        let token = device.sourceToken.isEmpty ? device.token : device.sourceToken
        // No instance can have such a name, so its dedupe keys are unique.
        let event = Event(
            id: eventID, source: LaneKey(delivery).name, type: "device.\(change.kind)",
            dedupe: report.isDeduped
                ? "\(device.app) \(device.platform) \(token)" : "outbox \(entry.id)")
        return StoreEntry.Item(event: event, deliveries: [delivery])
    }

    private static func name(_ device: Device) -> String {
        let text = [device.app, device.user, device.platform, device.token].map {
            "\($0.utf8.count):\($0)"
        }
        return Hex.encode(Digest.sha256(Array(text.joined().utf8)).prefix(16))
    }
}
