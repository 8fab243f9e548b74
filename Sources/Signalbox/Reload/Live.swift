internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxPluginHost
internal import Synchronization

/// Everything that a configuration decides while the gateway runs; a reload makes a new one.
final class Generation: Sendable {
    let plan: GatewayPlan
    let router: Router
    let instances: InstanceSet
    /// The kinds of changes that each instance wants to be told of.
    let reporters: [String: Set<DeviceChange.Kind>]

    init(
        _ plan: GatewayPlan, instances: InstanceSet,
        reporters: [String: Set<DeviceChange.Kind>]
    ) {
        self.plan = plan
        self.instances = instances
        self.reporters = reporters
        router = Router(routes: plan.routes)
    }

    /// Instances that are told of an app's devices.
    var listeners: DeviceListeners { plan.config.deviceListeners }
}

/// The generation of now. Whoever begins something takes it once and keeps it to the end.
final class Live: Sendable {
    private let current: Mutex<Generation>

    init(_ first: Generation) { current = Mutex(first) }

    var now: Generation { current.withLock { $0 } }

    func replace(with next: Generation) { current.withLock { $0 = next } }
}
