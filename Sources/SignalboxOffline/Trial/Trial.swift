internal import SignalboxConfig
package import SignalboxCore
internal import SignalboxDispatch
package import SignalboxGateway
internal import SignalboxHTTP
internal import SignalboxJSON
internal import SignalboxPluginHost
internal import SignalboxThreads

/// Follows an input through a configuration, with the real plugins but without network and store.
///
/// The plugins run in separate instances, which end with the trial.
package struct Trial: Sendable {
    /// Replacements for missing values of the configuration.
    private let standIns: StandIns
    private let plan: GatewayPlan
    private let program: InstanceSet.Program
    /// Devices of a running gateway, which are only read.
    private let registry: (any DeviceRegistry)?

    /// Reads a configuration; throws all its faults at once. Missing variables and secret files do not count.
    package init(_ options: GatewayOptions) throws(ConfigurationError) {
        var options = options
        standIns = options.standInForSecrets()
        plan = try GatewayPlan.make(options)
        program = InstanceSet.Program(options)
        registry = nil
    }

    /// Uses the configuration of a running gateway.
    package init(_ plan: GatewayPlan, _ program: InstanceSet.Program, registry: any DeviceRegistry)
    {
        standIns = StandIns()
        self.plan = plan
        self.program = program
        self.registry = registry
    }

    /// With stand-ins, plugins' warnings about them are only noise.
    private var notesFrom: PluginLogLevel { standIns.names.isEmpty ? .warn : .error }

    /// All sources that routes name.
    package var sources: Set<String> { Set(plan.routes.flatMap(\.sources)) }

    /// `tests:` of the configuration.
    var tests: [RouteTest] { plan.config.tests }

    /// The folder that paths of tests start from.
    var folder: String { plan.config.folder }

    /// Runs it.
    package func run(_ request: TrialRequest) async throws -> TrialReport {
        let now = request.nowUnixMs ?? SystemClock.unixMs
        let devices = try (request.devices ?? []).enumerated().map { index, json in
            let read = try EventJSON.recipient(json, "devices/\(index)")
            var device = read.device
            device.attributes = read.attributes
            device.spell()
            return device
        }
        let services = OfflineServices(
            answers: request.answers.map { OfflineAnswer($0) }, heldUnixMs: now,
            isTrusting: !request.checksSignatures, devices: devices,
            registry: request.devices == nil ? registry : nil)
        defer { services.end() }
        let plugins = needed(for: request.given)
        let set = try await instances(plugins, services)
        do {
            var run = TrialRun(
                plan: plan, plugins: plugins, instances: set, services: services, nowUnixMs: now,
                registry: request.devices == nil ? registry : nil,
                inventsDevices: request.devices == nil, notesFrom: notesFrom)
            try await run.take(request.given)
            var report = run.report
            report.standIns = standIns.names
            await set.stop(deadlineMs: 1_000)
            return report
        } catch {
            await set.stop(deadlineMs: 1_000)
            throw error
        }
    }

    /// The request for an operator's push, without a route.
    package func render(_ push: OnePush) async throws -> TrialReport.Shown {
        let plugins = plan.plugins.filter { $0.name == push.via }
        guard !plugins.isEmpty else {
            let known = plan.plugins.map(\.name)
            throw TrialFault(
                message:
                    "no plugin \"\(push.via)\"\(Suggestion.hint(for: push.via, among: known)); "
                    + "known: \(known.joined(separator: ", "))")
        }
        var push = push
        let isInvented = push.token.isEmpty
        if isInvented { push.token = String(repeating: "0", count: 63) + "1" }
        let device = try push.device(plan)
        let now = SystemClock.unixMs
        let services = OfflineServices(answers: [], heldUnixMs: now, isTrusting: true)
        defer { services.end() }
        let set = try await instances(plugins, services)
        let run = TrialRun(
            plan: plan, plugins: plugins, instances: set, services: services, nowUnixMs: now,
            registry: nil, inventsDevices: true, notesFrom: notesFrom)
        let made = await run.routes.push(
            push.delivery(to: device, number: 1, nowUnixMs: now),
            invented: isInvented ? [device.token] : [])
        await set.stop(deadlineMs: 1_000)
        return made.shown
    }

    /// Running instances; throws the faults of those that cannot run.
    private func instances(
        _ plugins: [CheckedPlugin], _ services: OfflineServices
    ) async throws(ConfigurationError) -> InstanceSet {
        var (set, faults) = await InstanceSet.create(
            plugins, program: program, services: { _ in services })
        if faults.isEmpty { faults = await set.start(plugins, limits: Limits()) }
        guard faults.isEmpty else {
            await set.stop(deadlineMs: 1_000)
            throw ConfigurationError(diagnostics: faults)
        }
        return set
    }

    /// The plugins that may be involved; all if the instance is not known yet.
    private func needed(for given: RouteTest.Given) -> [CheckedPlugin] {
        let source =
            switch given {
            case .webhook(let webhook): webhook.plugin
            case .event(let source, _): source
            }
        guard !source.isEmpty else { return plan.plugins }
        var names: Set = [source]
        for route in plan.routes where route.sources.contains(source) {
            names.formUnion(route.filters.map(\.instance))
            names.insert(route.builder)
            names.formUnion(route.senders.values)
        }
        return plan.plugins.filter { names.contains($0.name) }
    }
}

extension GatewayOptions {
    /// Replaces missing variables and secret files by stand-ins. For commands that send nothing.
    @discardableResult
    mutating func standInForSecrets() -> StandIns {
        let standIns = StandIns()
        hasSecrets = false
        environment.standIn = { standIns.value($0) }
        return standIns
    }
}
