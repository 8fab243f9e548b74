internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxHTTP
internal import SignalboxPluginHost

/// Where plugins run.
extension CheckRule {
    static let isolated = [
        CheckRule(.warning, "sandbox-has-no-sockets") { subject in
            subject.plugins.compactMap { plugin in
                let (roles, needs) = (
                    plugin.library.descriptor.roles, plugin.library.descriptor.needs
                )
                // Whoever sends or takes events without the gateway's connections has some of its own.
                let isOwn = roles.contains("sbx.role.send/1") || plugin.isSource
                guard plugin.settings.isolation == .sandbox, isOwn,
                    !needs.contains("sbx.http/1")
                else { return nil }
                return Finding(
                    plugin.settings.isolationPosition,
                    "plugin \"\(plugin.name)\" seems to have connections of its own, and isolation: sandbox "
                        + "allows none; use isolation: process")
            }
        },
        CheckRule(.machineFault, "bad-proxy") { subject in
            ProxyRules(variables: subject.options.environment.variables).faults
                .map { Finding(subject.config.start, $0) }
        },
    ]
}
