internal import Logging
internal import SignalboxCore

/// Counts and logs the recipients that an event does not reach on a route.
struct SkipReport: Sendable {
    /// An event may name thousands of users without a device, and a plugin may have a reason of its own for each: these
    /// have a line each, and another one counts the rest.
    private static let reasonsMax = 8

    let context: DispatchContext

    func write(_ skips: [FanOut.Skip], of event: Event, on route: Route) {
        guard !skips.isEmpty else { return }
        for skip in skips { context.metrics.skipped(route: route.name, reason: skip.reason) }
        let groups = Dictionary(grouping: skips, by: \.reason).sorted {
            ($1.value.count, $0.key) < ($0.value.count, $1.key)
        }
        for (reason, group) in groups.prefix(Self.reasonsMax) {
            var fields = Self.fields(event, route)
            fields["reason"] = "\(reason)"
            if group.count > 1 { fields["count"] = "\(group.count)" }
            // Of many, one that can be traced.
            let user = event.recipients[group[0].recipient].device.user
            if let name = context.users.name(user) { fields["user"] = "\(name)" }
            context.logger.notice(
                group.count > 1 ? "recipients left out" : "recipient left out", metadata: fields)
        }
        let rest = groups.dropFirst(Self.reasonsMax).reduce(0) { $0 + $1.value.count }
        if rest > 0 {
            var fields = Self.fields(event, route)
            fields["count"] = "\(rest)"
            context.logger.notice("further recipients left out", metadata: fields)
        }
    }

    private static func fields(_ event: Event, _ route: Route) -> Logger.Metadata {
        [
            "event.id": "\(event.id)", "event.type": "\(event.type)",
            "plugin.instance": "\(event.source)", "route.name": "\(route.name)",
        ]
    }
}
