internal import SignalboxConfig
internal import SignalboxCore

/// Who may use the device registry's API, as the configuration says.
struct DeviceAccess: Sendable {
    let clients: [DeviceClient]
    let users: UserAuthenticator
    /// Names of all routes: an open that names another route did not come from a push.
    let routes: Set<String>
    /// Platforms that a route sends to addresses, chats or rooms, whatever the platform is called.
    let addressed: Set<String>
    /// What happens is kept for traces.
    let keepsHistory: Bool

    init(_ plan: GatewayPlan, _ machinery: Machinery, _ store: any GatewayStore) {
        clients = plan.config.deviceClients
        users = UserAuthenticator(
            plan.config.deviceUsers, codeRate: plan.config.gateway.limits.codeRate,
            rest: machinery.rest, store: store, metrics: machinery.metrics,
            logger: machinery.logger, clock: machinery.clock)
        routes = Set(plan.config.routes.map(\.route.name))
        let senders = Set(plan.plugins.filter(\.hasAddresses).map(\.name))
        addressed = Set(
            plan.config.routes.flatMap { $0.route.senders }
                .filter { senders.contains($0.value) }.map { $0.key.lowercased() })
        keepsHistory = plan.config.gateway.history.bytesMax > 0
    }
}
