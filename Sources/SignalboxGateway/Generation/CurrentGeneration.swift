internal import SignalboxConfig
package import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxPluginHost
internal import Synchronization

/// Everything that a configuration decides while the gateway runs; a reload makes a new one.
package final class Generation: IntakeRules {
    package let plan: GatewayPlan
    package let router: Router
    package let instances: InstanceSet
    /// The kinds of changes that each instance wants to be told of.
    package let reportKinds: [String: Set<DeviceChange.Kind>]
    package let devices: DeviceAccess
    /// How long dedupe keys of an instance's events are kept, if gateway.yaml sets it.
    private let ownDedupeMs: [String: UInt64]
    /// Instances whose registrations leave a token to its other users, too.
    private let sharing: Set<String>
    /// Whether events are kept for traces.
    package let keepsHistory: Bool

    package init(
        _ plan: GatewayPlan, instances: InstanceSet,
        reportKinds: [String: Set<DeviceChange.Kind>], devices: DeviceAccess
    ) {
        self.plan = plan
        self.devices = devices
        self.instances = instances
        self.reportKinds = reportKinds
        router = Router(routes: plan.routes)
        keepsHistory = plan.config.gateway.history.bytesMax > 0
        sharing = Set(plan.plugins.filter(\.facts.sharesTokens).map(\.name))
        ownDedupeMs = plan.config.plugins.reduce(into: [:]) { $0[$1.name] = $1.dedupeMs }
    }

    /// Whether the source exists: a reload may have removed it.
    package func hasSource(_ name: String) -> Bool {
        plan.config.plugins.contains { $0.name == name }
            || plan.config.gateway.sources.contains(name)
    }

    /// Whether a device that the instance registers stays with its other users, too.
    package func sharesTokens(_ name: String) -> Bool { sharing.contains(name) }

    /// How long an event's dedupe key is kept, as set for its instance, by its plugin, or for the gateway.
    package func dedupeMs(of event: Event) -> UInt64 {
        if let own = ownDedupeMs[event.source] { return own }
        guard event.dedupeWindowMs > 0 else { return plan.config.gateway.dedupeMs }
        return min(event.dedupeWindowMs, GatewaySettings.dedupeMsMax)
    }

    package var devicesPerEvent: Int { plan.config.gateway.limits.devicesPerEvent }

    package var dedupeMs: UInt64 { plan.config.gateway.dedupeMs }

    package func platforms(of device: Device) -> Set<String> {
        devices.tokens.platforms(of: device)
    }

    /// Instances that get reports about an app's devices.
    package var listeners: DeviceListeners { plan.config.deviceListeners }
}

/// The current generation. Each operation takes it once, at its start, and uses it to the end.
package final class CurrentGeneration: Sendable {
    private let current: Mutex<Generation>

    init(_ first: Generation) { current = Mutex(first) }

    package var generation: Generation { current.withLock { $0 } }

    func replace(with next: Generation) { current.withLock { $0 = next } }
}
