internal import Logging
internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxCrypto
internal import SignalboxPluginHost
internal import SignalboxPostgres

/// A checked configuration: everything that is known before anything runs.
struct GatewayPlan: Sendable {
    var config: GatewayConfig
    var plugins: [CheckedPlugin]
    var routes: [Route]
    /// The first 8 hex digits of the file's SHA-256, without the values of its variables.
    var digest = ""
    /// Settings that are probably a mistake, in the file's order.
    var warnings: [Diagnostic] = []

    /// Reads a configuration and its plugins; throws with all faults at once.
    static func make(_ options: GatewayOptions) throws(ConfigurationError) -> GatewayPlan {
        let (config, faults) = GatewayConfig.load(
            options.configPath, environment: options.environment)
        var check = PluginCheck(options)
        for plugin in config.plugins { check.load(plugin, folder: config.folder) }
        let routes = config.routes.map { check.check($0) }
        check.check(config.deviceReports)
        // A value that could not be filled in has its own fault; further faults of it are noise.
        let unfilled = faults.filter {
            ["unset-variable", "missing-file", "bad-interpolation"].contains($0.code)
        }
        let places = Set(unfilled.map(\.position))
        let own = [
            adminFault(options.admin ?? config.gateway.admin, config), storeFault(config),
        ].compactMap { $0 }
        let others = (faults + check.diagnostics + own).filter { !places.contains($0.position) }
        let diagnostics = (unfilled + others).inOrder
        guard diagnostics.isEmpty else { throw ConfigurationError(diagnostics: diagnostics) }
        return GatewayPlan(
            config: config, plugins: check.plugins, routes: routes,
            digest: Hex.encode(Digest.sha256(config.text).prefix(4)),
            warnings: doublePushes(config, check.plugins).inOrder)
    }

    /// A fault of a start that no line of the configuration causes.
    func fault(_ code: String, _ message: String) -> ConfigurationError {
        ConfigurationError(diagnostics: [Diagnostic(code, at: config.start, message)])
    }

    func logWarnings(_ logger: Logger) {
        for warning in warnings {
            logger.warning("configuration warning", metadata: ["warning": "\(warning)"])
        }
    }

    /// Routes that push what the provider itself already pushes.
    ///
    /// A source may get reports about devices and have its events pushed: some providers call a webhook only for
    /// devices that they know. Which events a provider pushes itself is in its plugin's schema (`providerPushes`).
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

    /// The fault of the database's address; nil: there is none.
    private static func storeFault(_ config: GatewayConfig) -> Diagnostic? {
        guard let settings = config.gateway.store else { return nil }
        do throws(PostgresAddressError) {
            _ = try PostgresAddress(settings.address)
            return nil
        } catch {
            return Diagnostic("store-address", at: settings.position, "gateway.store: \(error)")
        }
    }

    /// The fault of an admin listener that other machines can reach without a token; nil: there is none.
    static func adminFault(_ address: ListenAddress?, _ config: GatewayConfig) -> Diagnostic? {
        guard let address, !address.isLoopback, config.gateway.adminToken == nil else { return nil }
        return Diagnostic(
            "admin-needs-token", at: config.gateway.adminPosition ?? config.start,
            "gateway: other machines can reach the admin listener on \(address.host):\(address.port); "
                + "set admin_token, or listen on 127.0.0.1")
    }
}
