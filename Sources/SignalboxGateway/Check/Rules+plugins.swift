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
                // Plugins that send or receive without the gateway's connections open their own.
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
        CheckRule(.fault, "bad-value") { subject in
            subject.plugins.flatMap { plugin in
                origins(in: plugin.settings.config).map { key, value in
                    Finding(
                        value.position,
                        "plugin \"\(plugin.name)\": \(key) must begin with https://: without TLS, what goes to another "
                            + "machine can be read on the way")
                }
            }
        },
        CheckRule(.machineFault, "bad-proxy") { subject in
            ProxyRules(variables: subject.options.environment.variables).faults
                .map { Finding(subject.config.start, $0) }
        },
    ]

    /// Keys of all plugins that say where requests with credentials go.
    private static let originKeys = ["endpoint", "token_url", "callback_url"]

    /// Origins that use plain http and are not on this machine.
    private static func origins(in value: ConfigValue?) -> [(key: String, value: ConfigValue)] {
        (value?.entries ?? []).flatMap { entry -> [(key: String, value: ConfigValue)] in
            guard originKeys.contains(entry.key), let text = entry.value.string else {
                return ([entry.value] + entry.value.items).flatMap { origins(in: $0) }
            }
            let isPlain = text.lowercased().hasPrefix("http://") && !WebURL.isPrivate(text)
            return isPlain && !entry.value.isStandIn ? [(entry.key, entry.value)] : []
        }
    }
}
