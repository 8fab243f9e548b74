internal import Logging
internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxObservability
internal import SignalboxPluginHost
internal import SignalboxThreads

/// From an event to its deliveries: filter, build, fan out.
extension EventPipeline {
    func fanOut(
        _ routed: inout RoutedEvent, _ generation: Generation
    ) throws(EventRefusal) {
        let event = routed.fields.event
        let routes = generation.router.routes
        if !routed.isRouted {
            context.logger.notice(
                "no route takes this event",
                metadata: [
                    "event.id": "\(event.id)", "event.type": "\(event.type)",
                    "plugin.instance": "\(event.source)",
                ])
        }
        let report = SkipReport(context: context)
        let filters = RouteFilters(nowUnixMs: context.clock()) { [context] name, isReplaced in
            (isReplaced ? context.current.generation : generation).instances.filters[name]
        }
        while let asked = routed.next(
            onSkips: { report.write($1, of: event, on: routes[$0]) })
        {
            let route = routes[asked.route]
            let passed = filters.pass(asked, route) { drops, question in
                for drop in drops {
                    context.metrics.skipped(route: route.name, reason: drop.reason)
                }
                routed.skipped(drops, for: question)
            }
            switch passed {
            case .failure(let end):
                try note(end.fault, of: "filter", end.filter, &routed, asked, route)
            case .success(let questions):
                for question in questions {
                    try build(question, &routed, route, generation, report)
                }
            }
        }
    }

    func build(
        _ question: RoutedEvent.Question, _ routed: inout RoutedEvent, _ route: Route,
        _ generation: Generation, _ report: SkipReport
    ) throws(EventRefusal) {
        let event = question.fields.event
        switch build(event, recipients: question.recipients, route: route, generation) {
        case .success(let built):
            for skip in built.skips {
                context.metrics.skipped(route: route.name, reason: skip.reason)
            }
            if !built.skips.isEmpty { routed.skipped(built.skips, for: question) }
            let count = built.contents.reduce(0) { $0 + $1.targets.count }
            guard var ids = context.ids.take(count) else {
                throw EventRefusal(answer: .unavailable(Self.noIDs))
            }
            report.write(
                routed.built(built.contents, for: question, ids: &ids), of: event, on: route)
        case .failure(let fault):
            try note(fault, of: "builder", route.builder, &routed, question, route)
        }
    }

    /// A filter or builder gave no answer: either the source resends the event, or the route failed for good.
    func note(
        _ fault: PluginFault, of role: String, _ name: String, _ routed: inout RoutedEvent,
        _ question: RoutedEvent.Question, _ route: Route
    ) throws(EventRefusal) {
        let event = routed.fields.event
        var fields = Self.fields(event, route, fault)
        fields["plugin.instance"] = "\(name)"
        if fault.kind == .again || fault.kind == .stopping {
            if let skipped = lines.write("\(name) \(route.name)") {
                fields["count"] = "\(skipped + 1)"
                context.logger.warning("event rejected: \(role) is unavailable", metadata: fields)
            }
            throw EventRefusal(answer: .unavailable("\(role) \(name) is unavailable"))
        }
        context.metrics.event(source: event.source, result: "build_failed")
        context.logger.error("\(role) failed on an event", metadata: fields)
        routed.failed(
            "\(role) \(name)", fault.message, always: fault.kind == .lost, for: question)
    }

    static func fields(
        _ event: Event, _ route: Route, _ fault: PluginFault
    ) -> Logger.Metadata {
        [
            "event.id": "\(event.id)", "route.name": "\(route.name)",
            "error": "\(fault.message)",
        ]
    }

    func build(
        _ event: Event, recipients: [Recipient], route: Route, _ generation: Generation
    ) -> Result<BuildResult, PluginFault> {
        var builder = generation.instances.builders[route.builder]
        while let asked = builder {
            let built = asked.build(
                event, recipients: recipients, route: route.name, options: route.builderOptions)
            guard case .failure(let fault) = built, fault.kind == .stopping else { return built }
            // It was just replaced; its successor builds the same content.
            let next = context.current.generation.instances.builders[route.builder]
            if next == nil || next === asked { return built }
            builder = next
        }
        // It is configured, so the gateway has just stopped, or the instance is still starting.
        return .failure(PluginFault(.again, "the instance is not running"))
    }
}
