internal import SignalboxConfig
internal import SignalboxCore

/// Who may use the device registry's API, as the configuration says.
package struct DeviceAccess: Sendable {
    let clients: [DeviceClient]
    let users: UserAuthenticator
    /// Names of all routes: an open that names another route did not come from a push.
    let routes: Set<String>
    /// Whose tokens are whose.
    let tokens: TokenRules
    /// Most changes per second of one user; 0: any number.
    let userRate: Int
    /// What happens is kept for traces.
    let keepsHistory: Bool

    init(_ plan: GatewayPlan, _ machinery: Machinery, _ store: any GatewayStore) {
        clients = plan.config.deviceClients
        users = UserAuthenticator(
            plan.config.deviceUsers, codeRate: plan.config.gateway.limits.codeRate,
            rest: machinery.rest, store: store, metrics: machinery.metrics,
            logger: machinery.logger, clock: machinery.clock)
        routes = Set(plan.config.routes.map(\.route.name))
        tokens = TokenRules(plan)
        userRate = plan.config.gateway.limits.userRate
        keepsHistory = plan.config.gateway.history.bytesMax > 0
    }
}
