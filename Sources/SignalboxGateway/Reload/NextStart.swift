internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxHTTP

/// What would make the next start fail although the running gateway can apply the configuration: a changed address that
/// is in use. Every other such fault is a fault of the configuration (`CheckRule`).
struct NextStart {
    /// The settings the process was started with.
    let started: GatewaySettings
    /// The ports it listens on, which are free by the next start.
    let ports: Set<Int>

    /// What would make the next start fail.
    func faults(_ plan: GatewayPlan) -> [Diagnostic] {
        let now = plan.config.gateway
        return [
            ("gateway", "listen", started.listen, now.listen),
            ("gateway", "admin", started.admin, now.admin),
            ("devices", "listen", started.devicesListen, now.devicesListen),
        ].compactMap { section, key, before, now in
            guard let now, now != before,
                let reason = ListeningSocket.refusal(
                    host: now.host, port: now.port, mayBeInUse: ports.contains(now.port))
            else { return nil }
            return Diagnostic(
                "cannot-listen",
                at: plan.config.given?[section]?[key]?.position ?? plan.config.start,
                "\(section).\(key): the next start cannot listen on \(now.host):\(now.port): \(reason)"
            )
        }
    }
}
