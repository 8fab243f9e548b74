internal import Logging
internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxObservability

/// Counts and logs what becomes of events on their way to the store.
struct EventLines: Sendable {
    /// An event may name thousands of users without a device, and plugins may invent a reason for each: the first
    /// reasons get a line each, and one more line counts the rest.
    private static let reasonsMax = 8

    private let logger: Logger
    private let metrics: GatewayMetrics
    private let users: UserNames
    private let faults = FaultLines()

    init(_ runtime: GatewayRuntime, _ users: UserNames) {
        (logger, metrics, self.users) = (runtime.logger, runtime.metrics, users)
    }

    // MARK: Before the commit

    func write(_ notices: [EventIntake.Notice], from source: String) {
        for notice in notices { write(notice, from: source) }
    }

    private func write(_ notice: EventIntake.Notice, from source: String) {
        switch notice {
        case .unusable(let event, let fault):
            var fields = Self.fields(event, withRecipients: true)
            fields["reason"] = "\(fault.rawValue)"
            logger.warning("event has no recipient that can be used", metadata: fields)
            metrics.event(source: event.source, result: fault.rawValue)
        case .excess(let event, let excess):
            logger.warning("\(excess.notice)", metadata: Self.fields(event, withRecipients: true))
            metrics.event(source: event.source, result: excess.result)
        case .busy(let devices):
            logger.warning(
                "large events come faster than they are stored, answering 503",
                metadata: ["plugin.instance": "\(source)", "recipients": "\(devices)"])
            metrics.event(source: source, result: "busy")
        case .unavailable(let routed, let end): write(unavailable: end, of: routed)
        case .routed(let routed):
            if !routed.isRouted {
                logger.notice("no route takes this event", metadata: Self.fields(routed))
            }
            for notice in routed.notices { write(notice, of: routed) }
        }
    }

    private func write(unavailable end: StageFailure, of routed: RoutedEvent) {
        guard let skipped = faults.write("\(end.name) \(routed.name(of: end.route))") else {
            return
        }
        var fields = Self.fields(routed, end)
        fields["count"] = "\(skipped + 1)"
        logger.warning("event rejected: \(end.role) is unavailable", metadata: fields)
    }

    private func write(_ notice: RouteNotice, of routed: RoutedEvent) {
        switch notice {
        case .failed(let end):
            metrics.event(source: routed.fields.event.source, result: "build_failed")
            logger.error("\(end.role) failed on an event", metadata: Self.fields(routed, end))
        case .dropped(let skips, let route): count(skips, on: routed.name(of: route))
        case .leftOut(let skips, let route):
            count(skips, on: routed.name(of: route))
            write(leftOut: skips, by: routed.name(of: route), routed)
        }
    }

    private func count(_ skips: [FanOut.Skip], on route: String) {
        for skip in skips { metrics.skipped(route: route, reason: skip.reason) }
    }

    private func write(leftOut skips: [FanOut.Skip], by route: String, _ routed: RoutedEvent) {
        var common = Self.fields(routed)
        common["route.name"] = "\(route)"
        let groups = Dictionary(grouping: skips, by: \.reason).sorted {
            ($1.value.count, $0.key) < ($0.value.count, $1.key)
        }
        for (reason, group) in groups.prefix(Self.reasonsMax) {
            var fields = common
            fields["reason"] = "\(reason)"
            if group.count > 1 { fields["count"] = "\(group.count)" }
            // One user of the group, so that it can be traced.
            let user = routed.fields.event.recipients[group[0].recipient].device.user
            if let name = users.name(user) { fields["user"] = "\(name)" }
            logger.notice(
                group.count > 1 ? "recipients left out" : "recipient left out", metadata: fields)
        }
        let rest = groups.dropFirst(Self.reasonsMax).reduce(0) { $0 + $1.value.count }
        if rest > 0 {
            common["count"] = "\(rest)"
            logger.notice("further recipients left out", metadata: common)
        }
    }

    // MARK: After the commit

    /// `results` are metric labels, by item.
    func write(_ items: [StoreEntry.Item], _ results: [String?], duplicates: Set<Int>) {
        for index in items.indices {
            let source = items[index].event.source
            if duplicates.contains(index) {
                metrics.event(source: source, result: "duplicate")
                let window = DurationText.of(ms: items[index].dedupeMs ?? 0)
                logger.info(
                    "event is a duplicate within \(window), left out",
                    metadata: Self.fields(items[index].event))
            } else if let result = results[index] {
                metrics.event(source: source, result: result)
                guard logger.logLevel <= .info else { continue }
                var fields = Self.fields(items[index].event, withRecipients: true)
                fields["result"] = "\(result)"
                fields["deliveries"] = "\(items[index].deliveries.count)"
                logger.info("event", metadata: fields)
            }
        }
    }

    // MARK: Fields

    private static func fields(_ event: Event, withRecipients: Bool = false) -> Logger.Metadata {
        var fields: Logger.Metadata = [
            "plugin.instance": "\(event.source)", "event.id": "\(event.id)",
            "event.source_id": "\(event.dedupe)", "event.type": "\(event.type)",
            "event.subject": "\(event.subject)",
        ]
        if withRecipients { fields["recipients"] = "\(event.recipients.count)" }
        return fields
    }

    private static func fields(_ routed: RoutedEvent) -> Logger.Metadata {
        let event = routed.fields.event
        return [
            "event.id": "\(event.id)", "event.type": "\(event.type)",
            "plugin.instance": "\(event.source)",
        ]
    }

    private static func fields(_ routed: RoutedEvent, _ end: StageFailure) -> Logger.Metadata {
        [
            "event.id": "\(routed.fields.event.id)",
            "route.name": "\(routed.name(of: end.route))", "plugin.instance": "\(end.name)",
            "error": "\(end.fault)",
        ]
    }
}

extension RoutedEvent {
    fileprivate func name(of route: Int) -> String { router.routes[route].fields.name }
}
