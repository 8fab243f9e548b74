internal import Logging
internal import SignalboxCore

/// Counts and logs the recipients that an event does not reach on a route.
struct SkipReport: Sendable {
    /// An event may name thousands of users without a device: after this many lines, one line counts the rest.
    private static let linesMax = 20

    let context: DispatchContext

    func write(_ skips: [FanOut.Skip], of event: Event, on route: Route) {
        guard !skips.isEmpty else { return }
        for skip in skips { context.metrics.skipped(route: route.name, reason: skip.reason) }
        for skip in skips.prefix(Self.linesMax) {
            var fields = Self.fields(event, route)
            fields["reason"] = "\(skip.reason)"
            let user = event.recipients[skip.recipient].device.user
            if let name = context.users.name(user) { fields["user"] = "\(name)" }
            context.logger.notice("recipient left out", metadata: fields)
        }
        if skips.count > Self.linesMax {
            var fields = Self.fields(event, route)
            fields["count"] = "\(skips.count - Self.linesMax)"
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
