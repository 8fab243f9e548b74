internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxGateway
internal import SignalboxOffline
internal import Synchronization

/// What an admin page needs before the figures: names, and the graph of routes. Only a reload changes it.
final class LiveGreeting: Sendable {
    private struct Known {
        weak var generation: Generation?
        var json: JSONValue
    }

    private let context: DispatchContext
    private let known = Mutex(Known(json: .null))

    init(_ context: DispatchContext) { self.context = context }

    var json: JSONValue {
        let live = context.live.now
        return known.withLock { known in
            if known.generation !== live { known = Known(generation: live, json: make(live)) }
            return known.json
        }
    }

    private func make(_ live: Generation) -> JSONValue {
        .object([
            .init("gateway", .string(context.machinery.name)),
            .init("version", .string(Release.version)),
            .init("configuration", .string(live.plan.digest)),
            .init("changes", .bool(live.plan.config.gateway.adminToken != nil)),
            .init("history", .bool(live.keepsHistory)),
            .init("graph", RouteGraph(live.plan.routes).json),
            .init("instances", .array(instances(live).map { .string($0) })),
        ])
    }

    /// Instances whose requests a dry run can trace.
    private func instances(_ live: Generation) -> [String] {
        let mute = live.plan.plugins.filter(\.isMute).map(\.name)
        return live.instances.ingesting.subtracting(mute).sorted()
    }
}
