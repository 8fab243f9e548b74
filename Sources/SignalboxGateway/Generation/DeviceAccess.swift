internal import SignalboxConfig
internal import SignalboxCore

/// Who may use the device registry's API.
package struct DeviceAccess: Sendable {
    let clients: [DeviceClient]
    let users: UserAuthenticator
    /// Names of all routes: an open that names any other did not come from a push.
    let routes: Set<String>
    /// Which tokens identify a device, and for which sender.
    let tokens: TokenRules
    /// Most changes per second and user; 0 for no limit.
    let userRate: Int
    /// Whether events are kept for traces.
    let keepsHistory: Bool

    init(_ plan: GatewayPlan, _ runtime: GatewayRuntime, _ store: any GatewayStore) {
        clients = plan.config.deviceClients
        users = UserAuthenticator(
            plan.config.deviceUsers, codeRate: plan.config.gateway.limits.codeRate,
            rest: runtime.rest, store: store, metrics: runtime.metrics,
            logger: runtime.logger, clock: runtime.clock)
        routes = Set(plan.config.routes.map(\.route.name))
        tokens = TokenRules(plan)
        userRate = plan.config.gateway.limits.userRate
        keepsHistory = plan.config.gateway.history.bytesMax > 0
    }
}
