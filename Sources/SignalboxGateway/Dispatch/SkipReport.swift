internal import Logging
internal import SignalboxCore

/// Counts and logs the recipients that a route skips.
struct SkipReport: Sendable {
    /// An event may name thousands of users without a device, and plugins may invent a reason for each: the first
    /// reasons get a line each, and one more line counts the rest.
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
            // One user of the group, so that it can be traced.
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
