internal import Logging
internal import SignalboxCore
internal import SignalboxCrypto
internal import SignalboxDispatch
internal import SignalboxPluginHost

/// Closes the loop: what happens to a device is told to the plugins that want to know.
///
/// - A token that a provider calls dead leaves the registry and is reported to the plugin that its event
///   came from, and to those that are told of its app's devices.
/// - A device that comes or goes is reported to those that are told of its app's devices.
/// - What came of a dry run is reported to the plugin that asked for it.
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
    private let logger: Logger
    private let clock: @Sendable () -> UInt64
    /// Says which changes each instance wants, and who is told of an app's devices.
    private let live: Live
    private let lanes: LaneTable
    private let ids: IDSource

    init(_ context: DispatchContext, _ lanes: LaneTable) {
        logger = context.logger
        store = context.store
        metrics = context.metrics
        live = context.live
        ids = context.ids
        clock = context.clock
        self.lanes = lanes
    }

    /// Whether a lane carries reports and no pushes.
    static func isReport(_ key: LaneKey) -> Bool { key.sender.hasSuffix(suffix) }

    // MARK: What happened

    /// A provider called the token of a delivery dead.
    func report(_ delivery: Delivery, _ outcome: Outcome) {
        let device = delivery.device
        let news = TokenNews.dead(
            app: device.app, token: device.token, sinceUnixMs: outcome.goneSinceUnixMs)
        learn(news) { result, gone in
            self.metrics.deadToken(source: delivery.source, result: "\(result)")
            if result == .kept { self.tellKept(delivery, outcome) }
            let now = self.clock()
            func item(_ device: Device, to name: String) -> StoreEntry.Item? {
                let change = DeviceChange(
                    kind: .invalid, device: device,
                    timeUnixMs: outcome.goneSinceUnixMs == 0 ? now : outcome.goneSinceUnixMs,
                    reason: outcome.reason)
                return self.item(change, to: name, eventID: delivery.eventID, isDeduped: true)
            }
            // Registered again after it died: it lives, and its source must not forget it.
            let own = result == .kept ? nil : item(device, to: delivery.source)
            // Those who are told of an app's devices know them by the names of the registry.
            let others = gone.flatMap { device in
                self.live.now.listeners.names(app: device.app)
                    .filter { $0 != delivery.source }.map { item(device, to: $0) }
            }
            return ([own] + others).compactMap { $0 }
        }
    }

    private func tellKept(_ delivery: Delivery, _ outcome: Outcome) {
        logger.notice(
            "a token that its provider calls dead is kept: it was registered after it died",
            metadata: [
                "plugin.instance": "\(delivery.sender)", "reason": "\(outcome.reason)",
                "gone_since_unix_ms": "\(outcome.goneSinceUnixMs)",
            ])
    }

    /// A provider says which token has taken the place of a delivery's.
    func moved(_ delivery: Delivery, to newToken: String) {
        let device = delivery.device
        var successor = device
        successor.replaceToken(newToken)
        let newToken = successor.token
        guard DeviceToken.fault(newToken) == nil, newToken != device.token else { return }
        learn(.moved(app: device.app, token: device.token, newToken: newToken)) { _, moved in
            moved.flatMap { old in
                var new = old
                new.replaceToken(newToken)
                return [(DeviceChange.Kind.unregistered, old), (.registered, new)]
            }.flatMap { kind, device in
                let change = DeviceChange(kind: kind, device: device, timeUnixMs: self.clock())
                return self.live.now.listeners.names(app: device.app).compactMap {
                    self.item(change, to: $0, eventID: delivery.eventID, isDeduped: false)
                }
            }
        }
    }

    /// A dry run reached its device (no reason), or failed for good.
    func tried(_ delivery: Delivery, reason: String?) {
        let change = DeviceChange(
            kind: reason == nil ? .proven : .unproven, device: delivery.device,
            timeUnixMs: clock(), reason: reason ?? "", subject: delivery.subject)
        let report = item(
            change, to: delivery.source, eventID: delivery.eventID, isDeduped: false)
        if let report { learn(.nothing) { _, _ in [report] } }
    }

    /// What is to be committed so that those who are told of these changes will be told; not the
    /// instance that they came from.
    func items(for changes: [DeviceChange], from source: String) -> [StoreEntry.Item] {
        changes.flatMap { change in
            live.now.listeners.names(app: change.device.app).filter { $0 != source }.compactMap {
                item(change, to: $0, eventID: 0, isDeduped: false)
            }
        }
    }

    /// Reports of a committed entry are on disk.
    func committed(_ items: [StoreEntry.Item]) {
        for key in Set(items.flatMap(\.deliveries).map { LaneKey($0) }) where Self.isReport(key) {
            lanes.backlog(key)
        }
    }

    // MARK: Reports

    private func item(
        _ change: DeviceChange, to name: String, eventID: UInt64, isDeduped: Bool
    ) -> StoreEntry.Item? {
        guard live.now.reporters[name]?.contains(change.kind) == true else { return nil }
        let sender = name + Self.suffix
        // Without an id nothing can be kept of it; the store says why it gives none.
        guard let (id, own) = ids.next() else { return nil }
        let device = change.device
        // Equal for all that happens to a user's device, so that the newest is told. What came of a dry
        // run is told each time.
        let isState = [.registered, .unregistered, .invalid].contains(change.kind)
        let stableID = isState ? Self.name(device) : own
        let report = Delivery(
            id: id, eventID: eventID == 0 ? id : eventID, source: name, route: "", sender: sender,
            stableID: stableID, deadlineUnixMs: clock() + Self.expiresMs,
            content: change.carrier, device: device)
        let token = device.sourceToken.isEmpty ? device.token : device.sourceToken
        let event = Event(
            id: eventID == 0 ? id : eventID, source: sender, type: "device.\(change.kind)",
            dedupe: isDeduped ? "\(device.app) \(token)" : "")
        return StoreEntry.Item(event: event, deliveries: [report])
    }

    private static func name(_ device: Device) -> String {
        let text = [device.app, device.user, device.token].map { "\($0.utf8.count):\($0)" }
        return Hex.encode(Digest.sha256(Array(text.joined().utf8)).prefix(16))
    }

    /// What happened and the reports of it are kept together, however long the disk takes.
    private func learn(
        _ news: TokenNews,
        reports: @escaping @Sendable (Invalidation, [Device]) -> [StoreEntry.Item]
    ) {
        store.learn(
            news, dedupeMs: Self.windowMs, reports: reports,
            done: { if case .success(let items) = $0 { self.committed(items) } })
    }
}
