internal import SignalboxCore
internal import SignalboxCrypto
internal import SignalboxDispatch
internal import SignalboxPluginHost
internal import SignalboxThreads

/// The gateway as reports on their way to the queue see it.
struct GatewayOutbox: OutboxWorld {
    let store: any GatewayStore
    let ids: IDSource
    let lanes: LaneTable
    let outcomes: OutcomeStream
    let runtime: GatewayRuntime

    var nowUnixMs: UInt64 { runtime.clock() }

    func after(ms: UInt64, _ job: @escaping @Sendable () -> Void) {
        runtime.alarms.after(ms: ms, ring: job)
    }

    func takeIDs(_ count: Int) -> DeliveryIDs? { ids.take(count) }

    func name(of device: Device) -> String {
        let text = [device.app, device.user, device.platform, device.token].map {
            "\($0.utf8.count):\($0)"
        }
        return Hex.encode(Digest.sha256(Array(text.joined().utf8)).prefix(16))
    }

    func content(of change: DeviceChange, receivedUnixMs: UInt64) -> SharedNotification {
        change.carrier(receivedUnixMs: receivedUnixMs)
    }

    func outbox(
        max: Int, done: @escaping @Sendable (Result<[OutboxEntry], StoreFailure>) -> Void
    ) { store.outbox(max: max, done: done) }

    func removeFromOutbox(
        through id: UInt64, done: @escaping @Sendable (Result<Void, StoreFailure>) -> Void
    ) { store.removeFromOutbox(through: id, done: done) }

    func append(_ entry: StoreEntry, done: @escaping @Sendable (StoreAnswer) -> Void) {
        store.append(entry, done: done)
    }

    func backlog(_ key: LaneKey) { lanes.backlog(key) }

    func tell(_ entries: [OutboxEntry], done: @escaping @Sendable (Bool) -> Void) {
        let pack = pack(entries)
        Task {
            do {
                try await outcomes.append(pack)
                done(true)
            } catch {
                done(false)
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
                entry.report, name: device.token.isEmpty ? "" : name(of: device),
                unixMs: nowUnixMs)
        }
        return pack
    }
}
