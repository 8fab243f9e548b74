internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxPluginHost

/// Everything that is known before anything runs.
struct GatewayPlan: Sendable {
    var config: GatewayConfig
    var plugins: [CheckedPlugin]
    var routes: [Route]

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
        let diagnostics = (unfilled + others).inOrder
        guard diagnostics.isEmpty else { throw ConfigurationError(diagnostics: diagnostics) }
        return GatewayPlan(config: config, plugins: check.plugins, routes: routes)
    }
}
