package import SignalboxCore
internal import Synchronization

/// What reports need on their way from the outbox to the queue. `done` may be called on any thread.
package protocol OutboxWorld: Sendable {
    var nowUnixMs: UInt64 { get }
    /// Calls back after a while.
    func after(ms: UInt64, _ job: @escaping @Sendable () -> Void)
    /// Ids for deliveries; nil if the store has reserved too few.
    func takeIDs(_ count: Int) -> DeliveryIDs?
    /// A short name of a device, equal for all reports of it.
    func name(of device: Device) -> String
    /// What a delivery carries of a change.
    func content(of change: DeviceChange, receivedUnixMs: UInt64) -> SharedNotification

    /// The oldest reports.
    func outbox(
        max: Int, done: @escaping @Sendable (Result<[OutboxEntry], StoreFailure>) -> Void)
    /// Removes everything up to this entry.
    func removeFromOutbox(
        through id: UInt64, done: @escaping @Sendable (Result<Void, StoreFailure>) -> Void)
    /// Adds deliveries to the queue.
    func append(_ entry: StoreEntry, done: @escaping @Sendable (StoreAnswer) -> Void)
    /// Deliveries of a lane wait on disk.
    func backlog(_ key: LaneKey)
    /// Adds reports to the stream of outcomes; false if they were not stored.
    func tell(_ entries: [OutboxEntry], done: @escaping @Sendable (Bool) -> Void)
}

/// Moves reports from the outbox to the queue, each as a delivery to its instance: durable, retried, and a dead letter
/// in the end. Those for outcome receivers go to the outcome stream.
package final class OutboxRelay: Sendable {
    /// A token reported repeatedly is passed on once an hour.
    private static let windowMs: UInt64 = 3_600_000
    private static let expiresMs: UInt64 = 7 * 86_400_000
    private static let partMax = 256
    private static let pauseMs: UInt64 = 1_000

    private let world: any OutboxWorld
    private let transfer = Mutex(OutboxTransfer())

    /// Takes the gateway.
    package init(_ world: any OutboxWorld) { self.world = world }

    /// Reports were written, or may be left from an earlier process.
    package func written() { step { $0.written() } }

    /// Performs the transfer's next step; `found`: the reports it read.
    private func step(
        _ found: [OutboxEntry] = [], _ change: (inout OutboxTransfer) -> OutboxTransfer.Step
    ) {
        switch transfer.withLock({ change(&$0) }) {
        case .rest: break
        case .read:
            world.outbox(max: Self.partMax) { result in
                guard case .success(let found) = result else { return self.step { $0.failed() } }
                self.step(found) { $0.found(last: found.last?.id) }
            }
        case .append: append(found)
        case .remove(let last):
            world.removeFromOutbox(through: last) { result in
                self.step {
                    if case .success = result { $0.removed() } else { $0.failed() }
                }
            }
        case .pause:
            world.after(ms: Self.pauseMs) { [weak self] in self?.step { $0.waited() } }
        }
    }

    /// The queue first, since it drops duplicates: a retry then adds nothing twice to the stream.
    private func append(_ found: [OutboxEntry]) {
        let told = found.filter { $0.report.instance == DeviceReport.stream }
        queue(found.filter { $0.report.instance != DeviceReport.stream }) { isQueued in
            guard isQueued else { return self.step { $0.failed() } }
            guard !told.isEmpty else { return self.step { $0.appended() } }
            self.world.tell(told) { isStored in
                self.step { isStored ? $0.appended() : $0.failed() }
            }
        }
    }

    private func queue(_ found: [OutboxEntry], done: @escaping @Sendable (Bool) -> Void) {
        guard !found.isEmpty else { return done(true) }
        guard let own = world.takeIDs(found.count) else { return done(false) }
        let entry = entry(of: found, own)
        let keys = Set(entry.items.flatMap(\.deliveries).map { LaneKey($0) })
        world.append(entry) { [world] answer in
            guard case .committed = answer else { return done(false) }
            for key in keys.sorted() { world.backlog(key) }
            done(true)
        }
    }

    /// What the queue gets for these reports.
    func entry(of found: [OutboxEntry], _ ids: DeliveryIDs) -> StoreEntry {
        var ids = ids
        let now = world.nowUnixMs
        var entry = StoreEntry(
            items: found.map { item($0, ids.next(), now) }, receivedUnixMs: now,
            dedupeMs: Self.windowMs)
        entry.isFromOutbox = true
        return entry
    }

    private func item(
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
            sender: report.instance, stableID: isState ? world.name(of: device) : own.stableID,
            deadlineUnixMs: nowUnixMs + Self.expiresMs,
            content: world.content(of: change, receivedUnixMs: nowUnixMs), device: device)
        let token = device.sourceToken.isEmpty ? device.token : device.sourceToken
        // No instance can have such a name, so its dedupe keys are unique.
        let event = Event(
            id: eventID, source: LaneKey(delivery).name, type: "device.\(change.kind)",
            dedupe: report.isDeduped
                ? "\(device.app) \(device.platform) \(token)" : "outbox \(entry.id)")
        return StoreEntry.Item(event: event, deliveries: [delivery])
    }
}
