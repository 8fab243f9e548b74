internal import Logging
internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxPluginHost

/// Everything that is known before anything runs.
struct GatewayPlan: Sendable {
    var config: GatewayConfig
    var plugins: [CheckedPlugin]
    var routes: [Route]
    /// What is probably not meant, in the file's order; it runs all the same.
    var warnings: [Diagnostic] = []

    /// Reads a configuration and its plugins; throws with all faults at once.
    static func make(_ options: GatewayOptions) throws(ConfigurationError) -> GatewayPlan {
        let (config, faults) = GatewayConfig.load(
            options.configPath, environment: options.environment)
        var check = PluginCheck(options)
        for plugin in config.plugins { check.load(plugin, folder: config.folder) }
        let routes = config.routes.map { check.check($0) }
        // A value that could not be filled in has its own fault; what else is wrong with it is noise.
        let unfilled = faults.filter {
            ["unset-variable", "missing-file", "bad-interpolation"].contains($0.code)
        }
        let places = Set(unfilled.map(\.position))
        let others = (faults + check.diagnostics).filter { !places.contains($0.position) }
        let unguarded = adminFault(options.admin ?? config.gateway.admin, config)
        let diagnostics = (unfilled + others + (unguarded.map { [$0] } ?? [])).inOrder
        guard diagnostics.isEmpty else { throw ConfigurationError(diagnostics: diagnostics) }
        return GatewayPlan(
            config: config, plugins: check.plugins, routes: routes,
            warnings: doublePushes(config, check.plugins).inOrder)
    }

    /// A fault of a start that no line of the configuration is to blame for.
    func fault(_ code: String, _ message: String) -> ConfigurationError {
        ConfigurationError(diagnostics: [Diagnostic(code, at: config.start, message)])
    }

    func logWarnings(_ logger: Logger) {
        for warning in warnings {
            logger.warning("configuration warning", metadata: ["warning": "\(warning)"])
        }
    }

    /// Routes that push what a provider pushes already.
    ///
    /// Being told of devices and having events pushed is no fault in itself: some providers call a webhook only
    /// for devices that they know. Only the plugin knows whether its provider pushes to them itself, and of
    /// which events, so it says that in its schema (`providerPushes`); the host knows no provider.
    private static func doublePushes(
        _ config: GatewayConfig, _ plugins: [CheckedPlugin]
    ) -> [Diagnostic] {
        var out: [Diagnostic] = []
        for plugin in plugins where config.deviceListeners.names.contains(plugin.name) {
            for settings in config.routes {
                guard let position = settings.sourcePositions[plugin.name] else { continue }
                let taken = settings.route.condition.types
                let twice = plugin.providerPushes.filter { taken?.contains($0) ?? true }
                guard !twice.isEmpty else { continue }
                out.append(
                    Diagnostic(
                        "double-push", at: position,
                        "route \"\(settings.route.name)\" pushes \(twice.joined(separator: ", ")), and so "
                            + "does the provider of \"\(plugin.name)\", which devices.report tells of the "
                            + "devices: users get it twice; take \"\(plugin.name)\" out of devices.report, "
                            + "or these events out of the route"))
            }
        }
        return out
    }

    /// What is wrong with an admin listener on that address: others may reach it, and it has no token.
    static func adminFault(_ address: ListenAddress?, _ config: GatewayConfig) -> Diagnostic? {
        guard let address, !address.isLoopback, config.gateway.adminToken == nil else { return nil }
        return Diagnostic(
            "admin-needs-token", at: config.gateway.adminPosition ?? config.start,
            "gateway: other machines can reach the admin listener on \(address.host):\(address.port); "
                + "set admin_token, or listen on 127.0.0.1")
    }
}
