package import Logging
package import SignalboxConfig
package import SignalboxCore
internal import SignalboxCrypto
package import SignalboxHTTP
internal import SignalboxPluginHost

/// A checked configuration: everything known before anything runs.
package struct GatewayPlan: Sendable {
    package var config: GatewayConfig
    package var plugins: [CheckedPlugin]
    package var routes: [Route]
    /// The identity of the public listener; nil for plain HTTP.
    package var tls: HTTPServerTLS?
    /// The first 8 hex digits of the file's SHA-256, without the values of its variables.
    package var digest = ""
    /// Settings that are probably a mistake, in the file's order.
    package var warnings: [Diagnostic] = []

    /// Reads a configuration and its plugins; throws with all faults at once.
    package static func make(_ options: GatewayOptions) throws(ConfigurationError) -> GatewayPlan {
        let (plan, faults) = examine(options)
        guard faults.isEmpty else { throw ConfigurationError(diagnostics: faults) }
        return plan
    }

    /// The plan as far as it can be made, and all its faults.
    package static func examine(_ options: GatewayOptions) -> (
        plan: GatewayPlan, faults: [Diagnostic]
    ) {
        var (config, faults) = GatewayConfig.load(
            options.configPath, environment: options.environment)
        options.override(&config.gateway)
        var check = PluginCheck(options)
        for plugin in config.plugins { check.load(plugin, folder: config.folder) }
        let routes = config.routes.map { check.check($0) }
        check.check(config.deviceReports)
        check.checkObservers(of: config)
        // A value that could not be filled in has its own fault; others about it are noise.
        let unfilled = faults.filter {
            ["unset-variable", "missing-file", "bad-interpolation"].contains($0.code)
        }
        let places = Set(unfilled.map(\.position))
        // Stand-ins for missing values say nothing about the real ones.
        let hidden = places.union(config.standIns)
        var plan = GatewayPlan(
            config: config, plugins: check.plugins, routes: routes,
            tls: config.gateway.tls.flatMap { try? HTTPServerTLS($0) },
            digest: Hex.encode(Digest.sha256(config.text).prefix(4)))
        var others = faults + check.diagnostics
        let subject = CheckSubject(config: config, plugins: plan.plugins, options: options)
        for index in plan.plugins.indices {
            let plugin = plan.plugins[index]
            let texts = plugin.settings.config?.texts ?? []
            if texts.contains(where: { places.contains($0.position) })
                || plugin.config.files.contains(where: { subject.fault(ofFile: $0.path) != nil })
            {
                plan.plugins[index].isSound = false
            }
        }
        for rule in CheckRule.all where options.hasSecrets || !rule.kind.isOfMachine {
            let found = rule.find(subject).map {
                Diagnostic(rule.code, at: $0.position, $0.message)
            }
            if rule.kind.isWarning { plan.warnings += found } else { others += found }
        }
        plan.warnings = plan.warnings.filter { !hidden.contains($0.position) }.inOrder
        let missing = unfilled.filter {
            options.hasSecrets || $0.code == "bad-interpolation" || $0.position == config.start
        }
        return (plan, (missing + others.filter { !hidden.contains($0.position) }).inOrder)
    }

    /// The proxies in use, for people and without passwords; empty if all connections are direct.
    package func proxies(_ options: GatewayOptions) -> [String] {
        let own = plugins.filter { $0.settings.proxy != nil }.map { "\($0.name): \($0.proxies)" }
        let others = "\(ProxyRules(variables: options.environment.variables))"
        return others.isEmpty
            ? own : own + ["\(own.isEmpty ? "everything" : "everything else"): \(others)"]
    }

    /// A startup fault that no line of the configuration causes.
    package func fault(_ code: String, _ message: String) -> ConfigurationError {
        ConfigurationError(diagnostics: [Diagnostic(code, at: config.start, message)])
    }

    /// The fault of a sender that does not say where requests go.
    func badEndpoint(_ name: String, _ error: any Error) -> Diagnostic {
        let plugin = plugins.first { $0.name == name }
        return Diagnostic(
            "bad-endpoint", at: plugin?.configPosition ?? config.start,
            "plugin \"\(name)\": \(error)")
    }

    package func logWarnings(_ logger: Logger) {
        for warning in warnings {
            logger.warning("configuration warning", metadata: ["warning": "\(warning)"])
        }
    }
}
