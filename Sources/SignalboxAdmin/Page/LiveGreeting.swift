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
        let current = context.current.generation
        return known.withLock { known in
            if known.generation !== current {
                known = Known(generation: current, json: make(current))
            }
            return known.json
        }
    }

    private func make(_ current: Generation) -> JSONValue {
        [
            "gateway": .string(context.runtime.name), "version": .string(Release.version),
            "configuration": .string(current.plan.digest),
            "changes": .bool(current.plan.config.gateway.adminToken != nil),
            "history": .bool(current.keepsHistory), "graph": RouteGraph(current.plan.routes).json,
            "instances": .array(instances(current).map { .string($0) }),
        ]
    }

    /// Instances whose requests a dry run can trace.
    private func instances(_ current: Generation) -> [String] {
        let mute = current.plan.plugins.filter(\.isMute).map(\.name)
        return current.instances.ingesting.subtracting(mute).sorted()
    }
}
