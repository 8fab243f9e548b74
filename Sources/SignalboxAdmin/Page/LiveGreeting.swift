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

    private let gateway: String
    private let current: CurrentGeneration
    private let known = Mutex(Known(json: .null))

    init(gateway: String, _ current: CurrentGeneration) {
        self.gateway = gateway
        self.current = current
    }

    var json: JSONValue {
        let generation = current.generation
        return known.withLock { known in
            if known.generation !== generation {
                known = Known(generation: generation, json: make(generation))
            }
            return known.json
        }
    }

    private func make(_ current: Generation) -> JSONValue {
        [
            "gateway": .string(gateway), "version": .string(Release.version),
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
