internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxGateway
internal import SignalboxHTTP
internal import SignalboxJSON
internal import SignalboxPluginHost
internal import SignalboxThreads

/// Runs an event through all routes, up to the requests to providers.
struct TrialRoutes: Sendable {
    /// A plugin without a credential after this time is assumed to never get one.
    private static let credentialMs: UInt64 = 5_000

    let plan: GatewayPlan
    let plugins: [CheckedPlugin]
    let instances: InstanceSet
    let services: OfflineServices
    /// How often a credential got a new value.
    let credentials: Gate<Int>
    let nowUnixMs: UInt64

    func follow(_ event: Event, invented: Set<String>) async -> TrialReport.OneEvent {
        let router = Router(routes: plan.routes)
        var routed = RoutedEvent(event, router: router, receivedUnixMs: nowUnixMs)
        var routes = plan.routes.map { route in
            TrialReport.OnRoute(
                name: route.name, whyNot: Self.whyNot(route, routed.fields),
                builder: route.builder)
        }
        routed = await SystemThread.value { [routed] in asked(routed) }
        for notice in routed.notices {
            switch notice {
            case .leftOut(let skips, let route), .dropped(let skips, let route):
                routes[route].skips += skips.map {
                    (event.recipients[$0.recipient].device, $0.reason)
                }
            case .failed(let end):
                routes[end.route].fault = "\(end)"
            }
        }
        let item = routed.item(dedupeMs: dedupeMs(of: event))
        // Badge counters start at 0 here.
        let badges = item.badgeNumbers(item.badges.map { $0.number ?? 1 })
        for delivery in item.deliveries {
            guard let index = routes.firstIndex(where: { $0.name == delivery.route }) else {
                continue
            }
            var push = await push(delivery.with(badges: badges), invented: invented)
            push.notBeforeUnixMs = item.waitsMs[delivery.id].map { nowUnixMs + $0 }
            push.expire(delivery.deadlineUnixMs, nowUnixMs: nowUnixMs)
            routes[index].pushes.append(push)
        }
        return TrialReport.OneEvent(
            event: event, dedupeMs: item.dedupeMs ?? 0, routes: routes)
    }

    private static func whyNot(_ route: Route, _ fields: EventFields) -> [String] {
        guard route.sources.contains(fields.event.source) else {
            let names = route.sources.joined(separator: ", ")
            return ["source is \"\(fields.event.source)\", the route takes events from \(names)"]
        }
        return route.condition.whyNot(fields).map(\.text)
    }

    private func dedupeMs(of event: Event) -> UInt64 {
        let settings = plan.config.plugins.first { $0.name == event.source }
        if let own = settings?.dedupeMs { return own }
        return event.dedupeWindowMs > 0 ? event.dedupeWindowMs : plan.config.gateway.dedupeMs
    }

    private func asked(_ given: RoutedEvent) -> RoutedEvent {
        let event = given.fields.event
        // The same ids in every run, so that outputs can be compared.
        let stableIDs = StableIDs(seed: (event.id, event.id))
        var ports = TrialPorts(
            instances: instances, nowUnixMs: nowUnixMs,
            ids: DeliveryIDs(last: event.id << 32, stableIDs: stableIDs))
        var routed = given
        // No stage asks to have it resent, and there are ids.
        try? routed.ask(&ports)
        return routed
    }

    // MARK: Requests

    /// The push as its sender renders it.
    func push(_ delivery: Delivery, invented: Set<String>) async -> TrialReport.Push {
        var push = TrialReport.Push(
            sender: delivery.sender, device: delivery.device,
            isInvented: invented.contains(delivery.device.token),
            notification: delivery.content.notification, badge: delivery.badge)
        await render(delivery, into: &push)
        return push
    }

    private func render(_ delivery: Delivery, into push: inout TrialReport.Push) async {
        guard let sender = instances.senders[delivery.sender] else {
            push.fault = "the instance does not send"
            return
        }
        guard let role = sender.http else {
            push.hasOwnTransport = sender.own != nil
            return
        }
        let app = delivery.device.app
        let origin: String
        do throws(PluginFault) {
            let given = try await role.endpoint(app: app).origin
            let isDefault = given.hasPrefix("https://") && given.hasSuffix(":443")
            origin = isDefault ? String(given.dropLast(":443".count)) : given
        } catch {
            push.fault = error.message
            return
        }
        let (prepared, shortened) = await SystemThread.value { prepare(delivery, role) }
        switch prepared {
        case .again:
            push.fault =
                "\(delivery.sender) has no credential; give the answer of its token endpoint"
        case .failed(let fault): push.fault = fault.message
        case .ready(let batch, let settled):
            if let outcome = settled.first(where: { $0.kind != .delivered }) {
                let detail = outcome.detail.isEmpty ? "" : ": \(outcome.detail)"
                push.fault = "\(outcome.reason)\(detail)"
            }
            push.requests = batch.requests.map { request in
                shown(request, of: batch, origin: origin, delivery, shortened)
            }
        }
    }

    /// Prepares one delivery; waits for a credential if necessary.
    private func prepare(
        _ delivery: Delivery, _ role: any Translating
    ) -> (PrepareResult, shortened: [String]) {
        _ = services.takeShortened()
        let end = SystemClock.monotonicNs + Self.credentialMs * 1_000_000
        while true {
            let seen: Int = credentials.update { $0 }
            let prepared = role.prepare(app: delivery.device.app, deliveries: [delivery])
            guard case .again = prepared, SystemClock.monotonicNs < end else {
                return (prepared, services.takeShortened())
            }
            let _: Bool = credentials.wait(until: { count in
                let isOver = count != seen || SystemClock.monotonicNs >= end
                return isOver ? (true, nil) : (nil, end)
            })
        }
    }

    private func shown(
        _ request: RequestBatch.Request, of batch: RequestBatch, origin: String,
        _ delivery: Delivery, _ shortened: [String]
    ) -> TrialReport.Request {
        let mask = TrialMask(token: delivery.device.token, plugins: plugins)
        let range = Int(request.headers.lowerBound)..<Int(request.headers.upperBound)
        let headers = batch.headers[range].map { field in
            Attribute(batch.text(field.name), batch.text(field.value))
        }
        let body = Array(batch[request.body])
        let json = try? JSONValue.parse(body)
        let limits = plugins.first { $0.name == delivery.sender }?.facts.payloadLimits ?? []
        let limit = limits.first {
            $0.applies(platform: delivery.device.platform, headers: headers)
        }
        return TrialReport.Request(
            method: batch.text(request.method),
            url: mask.text(
                (request.origin.count > 0 ? batch.text(request.origin) : origin)
                    + batch.text(request.path)),
            headers: headers.map(mask.header),
            body: mask.json(json ?? .string(String(decoding: body, as: UTF8.self))),
            bytes: limit?.size(of: body, json: json) ?? body.count, bytesMax: limit?.bytesMax,
            shortened: shortened)
    }
}

/// The filters and builders of a trial. None is asked again: the report says why it gave no answer.
private struct TrialPorts: RoutePorts {
    let instances: InstanceSet
    let nowUnixMs: UInt64
    var ids: DeliveryIDs

    mutating func takeIDs(_ count: Int) -> DeliveryIDs? { ids.take(count) }

    func filter(
        _ question: RoutedEvent.Question, with filter: Route.Filter, on route: Route
    ) -> Result<Filtered, StageFault> {
        guard let role = instances.filters[filter.instance] else {
            return .failure(StageFault("the instance has no filter role", .giveUp))
        }
        return role.filter(
            question.fields.event, recipients: question.recipients, route: route.name,
            options: filter.options, nowUnixMs: nowUnixMs
        ).mapError { StageFault($0.message, .giveUp) }
    }

    func build(
        _ question: RoutedEvent.Question, on route: Route
    ) -> Result<BuildResult, StageFault> {
        guard let builder = instances.builders[route.builder] else {
            return .failure(StageFault("the instance has no build role", .giveUp))
        }
        return builder.build(
            question.fields.event, recipients: question.recipients, route: route.name,
            options: route.builderOptions
        ).mapError { StageFault($0.message, .giveUp) }
    }
}
