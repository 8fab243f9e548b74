internal import Logging
internal import SignalboxConfig
package import SignalboxCore
package import SignalboxGateway
internal import SignalboxPluginHost
internal import SignalboxPostgres
internal import SignalboxStore
internal import SignalboxThreads

/// Makes and starts what a gateway would, checks what only running plugins can tell, and stops it again.
///
/// Nothing leaves the process: the instances have neither network nor store, and fetch no credentials.
package struct DryStart {
    package private(set) var faults: [Diagnostic] = []
    package private(set) var warnings: [Diagnostic] = []

    package static func run(_ plan: GatewayPlan, _ options: GatewayOptions) async -> DryStart {
        var out = DryStart()
        if options.hasSecrets, options.store == nil { await out.look(at: plan) }
        let plugins = plan.plugins.filter(\.isSound)
        guard !plugins.isEmpty else { return out }
        var quiet = options
        quiet.logger = Logger(label: "signalbox.check") { _ in SwiftLogNoOpLogHandler() }
        let runtime: GatewayRuntime
        do throws(ConfigurationError) {
            runtime = try GatewayRuntime(plan, quiet)
        } catch {
            out.faults += error.diagnostics
            return out
        }
        await out.ask(plugins, plan, runtime, options)
        await runtime.shutdown()
        return out
    }

    /// Checks the store, even while a gateway uses it; changes nothing.
    private mutating func look(at plan: GatewayPlan) async {
        let (config, folder) = (plan.config, plan.config.dataPath)
        let fault: StoreError?
        var position = config.given?["gateway"]?["data"]?.position
        if let settings = config.gateway.store {
            position = settings.position
            guard let address = try? PostgresAddress(settings.address) else { return }
            fault = await SystemThread.value { PostgresContents.startFault(address) }
        } else {
            fault = await SystemThread.value { SQLiteContents.startFault(folder: folder) }
        }
        guard let fault else { return }
        faults.append(Diagnostic(fault.code, at: position ?? config.start, fault.message))
    }

    private mutating func ask(
        _ plugins: [CheckedPlugin], _ plan: GatewayPlan, _ runtime: GatewayRuntime,
        _ options: GatewayOptions
    ) async {
        var (set, made) = await InstanceSet.create(
            plugins, program: InstanceSet.Program(options),
            services: { GatewayServices(runtime, options.environment, for: $0) })
        made += await set.start(plugins, limits: runtime.limits)
        faults += made
        faults += await set.endpointFaults(plan)
        let wanting = await set.reportKinds()
        for (name, position) in plan.config.deviceReports
        where set.reportRoles[name] != nil && wanting[name] == nil {
            warnings.append(
                Diagnostic(
                    "idle-report", at: position,
                    "devices: plugin \"\(name)\" takes no reports with its present config; add what "
                        + "its README asks for, or take it out of devices.report"))
        }
        for plugin in plugins {
            guard let key = plugin.missingForReports,
                plan.routes.contains(where: { $0.sources.contains(plugin.name) })
            else { continue }
            warnings.append(
                Diagnostic(
                    "unreported", at: plugin.configPosition,
                    "plugin \"\(plugin.name)\": its system is never told of dead tokens, and goes on with them; add "
                        + "config.\(key)"))
        }
        warn(set.paths, plan)
        warnings += await unknownApps(set, plan)
        await set.stop(deadlineMs: 1_000)
    }

    /// Apps of `devices:` and of sources that no route's sender handles, or that look like a misspelt one.
    private func unknownApps(_ set: InstanceSet, _ plan: GatewayPlan) async -> [Diagnostic] {
        // A topic may be one of the missing secrets.
        let apps = plan.config.standIns.isEmpty ? plan.config.namedApps : []
        let named = Set(apps.map(\.name))
        let senders = Set(plan.routes.flatMap(\.senders.values)).filter { set.senders[$0] != nil }
        // A sender that takes any app has no list of names.
        var choosing: [String] = []
        for sender in senders.sorted() {
            let takesAny = await takes("no-such-app.invalid", set.senders[sender]?.http)
            if !takesAny { choosing.append(sender) }
        }
        guard !choosing.isEmpty else { return [] }
        let texts = plan.config.plugins.filter { choosing.contains($0.name) }
            .flatMap { $0.config?.texts ?? [] }.compactMap { $0.isSecret ? nil : $0.string }
        var out: [Diagnostic] = []
        for app in apps {
            var isTaken = false
            for sender in choosing where !isTaken {
                isTaken = await takes(app.name, set.senders[sender]?.http)
            }
            if isTaken { continue }
            let near = texts.filter { !named.contains($0) || Self.isSlip(app.name, $0) }
            let hint = Suggestion.hint(for: app.name, among: near)
            guard choosing.count == senders.count || !hint.isEmpty else { continue }
            out.append(
                Diagnostic(
                    "unknown-app", at: app.position,
                    "\(choosing.joined(separator: ", ")) send\(choosing.count == 1 ? "s" : "") nothing for "
                        + "the app \"\(app.name)\"\(hint)"))
        }
        return out
    }

    /// Whether one name is clearly a misspelling of the other. Names that differ by a digit are two apps.
    private static func isSlip(_ name: String, _ other: String) -> Bool {
        Suggestion.isOneStep(from: name, to: other)
            && name.filter { !$0.isNumber } != other.filter { !$0.isNumber }
    }

    /// True for a sender with its own transport, which does not declare its apps.
    private func takes(_ app: String, _ role: (any Translating)?) async -> Bool {
        do throws(PluginFault) {
            _ = try await role?.endpoint(app: app)
            return true
        } catch {
            return error.kind != .notFound
        }
    }

    private mutating func warn(_ paths: PathTable<any Ingesting>, _ plan: GatewayPlan) {
        func warn(_ name: String, _ words: String) {
            let plugin = plan.plugins.first { $0.name == name }
            warnings.append(
                Diagnostic(
                    "shadowed-path", at: plugin?.configPosition ?? plan.config.start,
                    "plugin \"\(name)\": \(words)"))
        }
        for place in paths.places where DevicesService.serves(place.pattern) {
            warn(
                place.owner.instanceName,
                "its path \"\(place.pattern)\" gets no requests: the device registry has everything "
                    + "below /v1/devices")
        }
        for (place, other) in paths.shadows
        where place.owner.instanceName != other.owner.instanceName {
            warn(
                place.owner.instanceName,
                "requests that its path \"\(place.pattern)\" matches go to \"\(other.pattern)\" of "
                    + "plugin \"\(other.owner.instanceName)\" if they match that, too")
        }
    }
}
