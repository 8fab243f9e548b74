internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxHTTP

/// What would make the next start fail, although the running gateway can take the configuration: a changed address that
/// somebody else uses. Every other fault of a start is a fault of the configuration (`CheckRule`).
struct NextStart {
    /// The settings that the process has started with.
    let started: GatewaySettings
    /// The ports that it listens on, which are free by then.
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
