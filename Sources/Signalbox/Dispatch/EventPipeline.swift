internal import Logging
internal import SignalboxCore
internal import SignalboxJSON
internal import SignalboxPluginHost
internal import SignalboxThreads
internal import Synchronization

/// From accepted events to deliveries in lanes: route, build, fan out.
final class EventPipeline: Sendable {
    /// An event with the routes that take it.
    private struct Accepted: Sendable {
        var fields: EventFields
        var routes: [Int]
        var receivedUnixMs: UInt64
    }

    private struct Numbers: Sendable {
        var event: UInt64 = 0
        var delivery: UInt64 = 0
        var stableIDs: StableIDs
    }

    private let context: DispatchContext
    private let builders: [String: BuildRole]
    private let lanes: LaneTable
    private let underWay: UnderWay
    private let numbers: Mutex<Numbers>

    init(
        context: DispatchContext, builders: [String: BuildRole], lanes: LaneTable,
        underWay: UnderWay
    ) {
        self.context = context
        self.builders = builders
        self.lanes = lanes
        self.underWay = underWay
        let seed = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))
        numbers = Mutex(Numbers(stableIDs: StableIDs(seed: seed)))
    }

    /// Finds the routes of events from one request and queues them all, or none: false, no room.
    func accept(_ events: [Event], receivedUnixMs: UInt64) -> Bool {
        var accepted: [Accepted] = []
        var unrouted: [Event] = []
        var weight = 0
        for var event in events {
            event.id = numbers.withLock { numbers in
                numbers.event += 1
                return numbers.event
            }
            // The sink checked that data is a JSON object.
            let data = (try? JSONValue.parse(Array(event.data.utf8))) ?? .object([])
            let fields = EventFields(event: event, data: data)
            let routes = context.router.matches(fields)
            if routes.isEmpty {
                unrouted.append(event)
                continue
            }
            weight += routes.count * event.recipients.count
            accepted.append(
                Accepted(fields: fields, routes: routes, receivedUnixMs: receivedUnixMs))
        }
        guard underWay.reserve(weight, max: context.limits.deliveriesWaitingMax) else {
            return false
        }
        for event in unrouted { report(unrouted: event) }
        for job in accepted {
            context.metrics.event(source: job.fields.event.source, result: "accepted")
        }
        let jobs = accepted
        // Bounded by what was reserved.
        if !jobs.isEmpty {
            context.workers.submitBounded { for job in jobs { self.dispatch(job) } }
        }
        return true
    }

    private func report(unrouted event: Event) {
        context.metrics.event(source: event.source, result: "unrouted")
        context.logger.notice(
            "no route takes this event",
            metadata: [
                "event.id": "\(event.id)", "event.type": "\(event.type)",
                "plugin.instance": "\(event.source)",
            ])
    }

    private func dispatch(_ job: Accepted) {
        for index in job.routes { dispatch(job, routeIndex: index) }
    }

    private func dispatch(_ job: Accepted, routeIndex: Int) {
        let route = context.router.routes[routeIndex]
        let event = job.fields.event
        var fanOut = FanOut()
        let chosen = fanOut.selectRecipients(of: route, from: event.recipients)
        let recipients = chosen.map { event.recipients[$0] }
        for skip in fanOut.skips { report(skip: skip.reason, event, route) }
        if !recipients.isEmpty {
            switch build(event, recipients: recipients, route: route) {
            case .success(let built):
                for skip in built.skips {
                    context.metrics.skipped(route: route.name, reason: skip.reason)
                }
                numbers.withLock { numbers in
                    fanOut.add(
                        built.contents, route: route, routeIndex: routeIndex, fields: job.fields,
                        recipients: recipients, receivedUnixMs: job.receivedUnixMs,
                        nextID: &numbers.delivery, stableIDs: &numbers.stableIDs)
                }
            case .failure(let fault):
                context.metrics.event(source: event.source, result: "build_failed")
                context.logger.error(
                    "the builder failed on an event",
                    metadata: [
                        "event.id": "\(event.id)", "route.name": "\(route.name)",
                        "plugin.instance": "\(route.builder)", "error": "\(fault.message)",
                    ])
            }
        }
        // A recipient may get several notifications, or none: what was reserved is set right.
        underWay.adjust(by: fanOut.deliveries.count - event.recipients.count)
        for (key, deliveries) in Dictionary(grouping: fanOut.deliveries, by: LaneTable.Key.init) {
            lanes.append(deliveries, key: key)
        }
    }

    private func report(skip reason: String, _ event: Event, _ route: Route) {
        context.metrics.skipped(route: route.name, reason: reason)
        context.logger.notice(
            "recipient left out",
            metadata: [
                "event.id": "\(event.id)", "route.name": "\(route.name)", "reason": "\(reason)",
            ])
    }

    private func build(
        _ event: Event, recipients: [Recipient], route: Route
    ) -> Result<BuildResult, PluginFault> {
        guard let builder = builders[route.builder] else {
            return .failure(PluginFault(.unsupported, "the instance has no build role"))
        }
        return builder.build(
            event, recipients: recipients, route: route.name, options: route.builderOptions)
    }
}
