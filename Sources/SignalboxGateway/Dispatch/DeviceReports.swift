internal import Logging
package import SignalboxCore
internal import SignalboxObservability
internal import SignalboxPluginHost

/// Reports what happens to devices to the plugins that want to know.
///
/// - A token that a provider calls dead is removed from the registry and reported to the plugin its event came from,
///   and to the listeners of its app's devices.
/// - A device that registers or unregisters is reported to the listeners of its app's devices.
/// - The result of a dry run is reported to the plugin that asked for it.
///
/// A report enters the outbox in the commit of its cause; `OutboxRelay` moves it to the queue.
package final class DeviceReports: Sendable {
    private let store: any DeviceRegistry
    private let metrics: GatewayMetrics
    private let logger: Logger
    private let clock: @Sendable () -> UInt64
    private let stream: OutcomeStream
    /// Which changes each instance wants, and which instances listen to an app's devices.
    private let current: CurrentGeneration

    package init(_ context: DispatchContext) {
        logger = context.logger
        store = context.store
        metrics = context.metrics
        current = context.current
        stream = context.outcomes
        clock = context.clock
    }

    // MARK: Events

    /// A provider called the token of a delivery dead.
    package func report(_ delivery: Delivery, _ outcome: Outcome) {
        let device = delivery.device
        let news = TokenNews.dead(
            app: device.app, token: device.token, among: platforms(of: device),
            sinceUnixMs: outcome.goneSinceUnixMs)
        learn(news) { result, gone in
            self.metrics.deadTokens[delivery.source, "\(result)"].add()
            if result == .kept { self.tellKept(delivery, outcome) }
            let now = self.clock()
            func report(_ device: Device, to name: String) -> DeviceReport? {
                let change = DeviceChange(
                    kind: .invalid, device: device,
                    timeUnixMs: outcome.goneSinceUnixMs == 0 ? now : outcome.goneSinceUnixMs,
                    reason: outcome.reason)
                return self.report(change, to: name, eventID: delivery.eventID, isDeduped: true)
            }
            // Registered again after it died: it is alive, and its source must keep it.
            let own = result == .kept ? nil : report(device, to: delivery.source)
            // Listeners know devices by their names in the registry.
            let others = gone.flatMap { device in
                self.current.generation.listeners.names(app: device.app)
                    .filter { $0 != delivery.source }.map { report(device, to: $0) }
            }
            let told = gone.flatMap { device in
                self.told(
                    DeviceChange(
                        kind: .invalid, device: device,
                        timeUnixMs: outcome.goneSinceUnixMs == 0 ? now : outcome.goneSinceUnixMs,
                        reason: outcome.reason), eventID: delivery.eventID)
            }
            return ([own] + others).compactMap { $0 } + told
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

    /// A provider replaced the token of a delivery.
    func moved(_ delivery: Delivery, to newToken: String) {
        let device = delivery.device
        var successor = device
        successor.replaceToken(newToken)
        let newToken = successor.token
        guard DeviceToken.fault(newToken) == nil, newToken != device.token else { return }
        let news = TokenNews.moved(
            app: device.app, token: device.token, among: platforms(of: device), newToken: newToken)
        learn(news) { _, moved in
            moved.flatMap { old in
                var new = old
                new.replaceToken(newToken)
                return [(DeviceChange.Kind.unregistered, old), (.registered, new)]
            }.flatMap { kind, device in
                let change = DeviceChange(kind: kind, device: device, timeUnixMs: self.clock())
                let eventID = delivery.eventID
                return self.current.generation.listeners.names(app: device.app).compactMap {
                    self.report(change, to: $0, eventID: eventID)
                } + self.told(change, eventID: eventID)
            }
        }
    }

    /// A dry run reached its device (nil reason) or failed for good.
    func tried(_ delivery: Delivery, reason: String?) {
        let change = DeviceChange(
            kind: reason == nil ? .proven : .unproven, device: delivery.device,
            timeUnixMs: clock(), reason: reason ?? "", subject: delivery.subject)
        let report = report(change, to: delivery.source, eventID: delivery.eventID)
        if let report { learn(.nothing) { _, _ in [report] } }
    }

    /// The reports of these changes for listeners and outcome receivers, without the instance they came from.
    package func reports(of changes: [DeviceChange], from source: String) -> [DeviceReport] {
        changes.flatMap { change in
            current.generation.listeners.names(app: change.device.app).filter { $0 != source }
                .compactMap {
                    report(change, to: $0, eventID: 0)
                } + told(change)
        }
    }

    /// The same text may be a token of other senders, so only platforms of the same sender count.
    private func platforms(of device: Device) -> Set<String> {
        current.generation.devices.tokens.platforms(of: device)
    }

    /// Whether a plugin gets an app's registrations, so that its provider may push by itself.
    func forwardsRegistrations(app: String) -> Bool {
        let now = current.generation
        return now.listeners.names(app: app).contains {
            now.reportKinds[$0]?.contains(.registered) == true
        }
    }

    // MARK: Reports

    private func report(
        _ change: DeviceChange, to name: String, eventID: UInt64, isDeduped: Bool = false
    ) -> DeviceReport? {
        guard current.generation.reportKinds[name]?.contains(change.kind) == true else {
            return nil
        }
        return DeviceReport(to: name, change, eventID: eventID, isDeduped: isDeduped)
    }

    /// The report of a change for outcome receivers.
    private func told(_ change: DeviceChange, eventID: UInt64 = 0) -> [DeviceReport] {
        guard stream.isOn, let result = OutcomeResult(change.kind),
            stream.wish?.takes(result, route: "") == true
        else { return [] }
        return [DeviceReport(to: DeviceReport.stream, change, eventID: eventID)]
    }

    /// Stores the news and its reports in one commit, however long the disk takes.
    private func learn(
        _ news: TokenNews, reports: @escaping @Sendable (Invalidation, [Device]) -> [DeviceReport]
    ) { store.learn(news, reports: reports) { _ in } }
}
