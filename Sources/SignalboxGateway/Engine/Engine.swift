package import Logging
package import SignalboxConfig
internal import SignalboxCore
package import SignalboxDispatch
internal import SignalboxHTTP
package import SignalboxPluginHost
internal import SignalboxThreads

/// What a running gateway consists of.
///
/// It starts with an empty generation, in which nothing can happen. Startup makes the first real generation and each
/// reload the next one, so nothing here is optional.
package final class Engine: Sendable {
    package let runtime: GatewayRuntime
    package let context: DispatchContext
    package let lanes: LaneTable
    package let deviceReports: DeviceReports
    package let pipeline: EventPipeline
    package let sources: SourceRunner
    package let sweep: LaneSweep
    private let deadSweep: DeadSweep
    private let relay: OutboxRelay
    /// `gateway:` at startup; some of it stays in effect despite reloads.
    package let startSettings: GatewaySettings
    /// The generation before startup and after shutdown.
    private let empty: Generation
    package let running: GatewayServices.Running
    /// As the configuration was read.
    private let environment: ConfigEnvironment
    package let program: InstanceSet.Program

    package var logger: Logger { runtime.logger }

    package func services(for plugin: CheckedPlugin) -> any HostServices {
        GatewayServices(runtime, environment, for: plugin, running: running)
    }

    /// Starts everything; if this throws, nothing runs.
    package static func start(
        _ plan: GatewayPlan, _ options: GatewayOptions
    ) async throws(ConfigurationError) -> Engine {
        let runtime = try GatewayRuntime(plan, options)
        let store: any GatewayStore
        do throws(ConfigurationError) {
            store = try await runtime.openStore(plan, options)
        } catch {
            await runtime.shutdown()
            throw error
        }
        options.onStore()
        let engine: Engine
        do throws(ConfigurationError) {
            engine = try await Engine(plan, options, runtime, store)
        } catch {
            await store.close()
            await runtime.shutdown()
            throw error
        }
        do throws(ConfigurationError) {
            try await engine.begin(plan)
        } catch {
            await engine.shutdown()
            throw error
        }
        return engine
    }

    private init(
        _ plan: GatewayPlan, _ options: GatewayOptions, _ runtime: GatewayRuntime,
        _ store: any GatewayStore
    ) async throws(ConfigurationError) {
        self.runtime = runtime
        startSettings = plan.config.gateway
        program = InstanceSet.Program(options)
        let ids: IDSource
        do throws(StoreFailure) {
            ids = try await IDSource.open(store)
        } catch {
            throw plan.fault("store-failed", error.message)
        }
        empty = Generation(
            plan, instances: InstanceSet(), reportKinds: [:],
            devices: DeviceAccess(plan, runtime, store))
        let style = UserNames.Style(rawValue: plan.config.gateway.logUsers) ?? .hashed
        let current = CurrentGeneration(empty)
        context = DispatchContext(
            runtime: runtime, store: store, current: current, ids: ids,
            users: await UserNames.open(style, store),
            pauses: PauseOrders(
                store, alarms: runtime.alarms, logger: runtime.logger,
                gauge: runtime.metrics.paused, clock: runtime.clock),
            audit: Audit(runtime), spans: ActiveSpans(SpanExporter(runtime)),
            outcomes: OutcomeStream(
                store: store,
                transport: OutcomeTransport(
                    rest: runtime.rest, workers: runtime.workers,
                    observer: { current.generation.instances.observers[$0] }),
                alarms: runtime.alarms,
                logger: runtime.logger, metrics: runtime.metrics, clock: runtime.clock))
        deviceReports = DeviceReports(context)
        lanes = LaneFactory(context, deviceReports, onOutcome: options.onOutcome).table()
        relay = OutboxRelay(
            GatewayOutbox(
                store: store, ids: ids, lanes: lanes, outcomes: context.outcomes, runtime: runtime)
        )
        pipeline = EventPipeline(
            GatewayIntake(
                store: store, current: current, ids: ids, runtime: runtime, lanes: lanes,
                deviceReports: deviceReports, lines: EventLines(runtime, context.users)))
        sources = SourceRunner(runtime, pipeline)
        sweep = LaneSweep(context: context, lanes: lanes)
        deadSweep = DeadSweep(store, current, runtime)
        environment = options.environment
        running = .init(store: store, current: context.current, pipeline: pipeline)
    }

    /// Starts the plugins of the first generation, and a lane for every sender that a route names.
    private func begin(_ plan: GatewayPlan) async throws(ConfigurationError) {
        do throws(StoreFailure) {
            try await context.pauses.load()
        } catch {
            throw plan.fault("store-failed", error.message)
        }
        let first = try await make(plan, kept: [])
        context.current.replace(with: first)
        KnownSeries(metrics: context.metrics).show(first)
        context.metrics.reloaded(isTaken: true, unixMs: context.clock())
        context.store.setConfiguration(plan.digest)
        context.store.keepHistory(plan.config.gateway.history)
        context.spans.replace(with: plan.config.gateway.tracing)
        try await openLanes(plan)
        wire(first.instances)
        for instance in first.instances.instances { instance.fetchCredentials() }
        await context.outcomes.replace(with: plan.config.outcomeReceivers)
        let waitingCount = await waitingCount
        if waitingCount > 0 {
            logger.notice(
                plan.config.gateway.store == nil
                    ? "resuming deliveries from the previous run"
                    : "deliveries wait in the database",
                metadata: ["count": "\(waitingCount)"])
        }
        context.store.watchOutbox { [weak relay] in relay?.written() }
        relay.written()
        sweep.start()
        deadSweep.start()
        // Last, so that the events they emit find everything running.
        await sources.run(first.instances.sources)
        context.pauses.watch { [context, lanes] in lanes.applyPauses(context.pauses) }
    }

    /// Deliveries that no gateway has leased.
    private var waitingCount: Int {
        get async {
            guard context.store.waitingCount > 0 else { return 0 }
            let fleet = try? await context.store.fleet()
            return fleet?.backlogs.reduce(0) { $0 + $1.waiting } ?? 0
        }
    }

    // MARK: Generations

    /// Makes and starts the instances of a plan, except those that are kept. If this throws, only the kept ones
    /// run.
    package func make(
        _ plan: GatewayPlan, kept: [any HostedInstance]
    ) async throws(ConfigurationError) -> Generation {
        let new = plan.plugins.filter { plugin in !kept.contains { $0.name == plugin.name } }
        let isolatedCount = new.count(where: \.settings.isIsolated)
        do throws(ResourceError) {
            // One thread each, one more for an isolated plugin, and one for blocking work. A thread refused later would
            // end the process.
            try ProcessRoom.require(
                threads: new.count + isolatedCount + 1, descriptors: 8 + 4 * isolatedCount)
        } catch {
            throw plan.fault("no-resources", "the plugins cannot start: \(error.message)")
        }
        var (instances, faults) = await InstanceSet.create(
            new, program: program, services: services(for:))
        if faults.isEmpty {
            faults = await instances.start(plan.plugins, kept: kept, limits: runtime.limits)
        }
        if faults.isEmpty {
            faults = await instances.endpointFaults(plan, kept: kept.map(\.name))
        }
        guard faults.isEmpty else {
            await instances.stop(except: kept, deadlineMs: 1_000)
            throw ConfigurationError(diagnostics: faults.inOrder)
        }
        return Generation(
            plan, instances: instances, reportKinds: await instances.reportKinds(),
            devices: DeviceAccess(plan, runtime, context.store))
    }

    /// Makes the missing lanes of senders that a route names.
    func openLanes(_ plan: GatewayPlan) async throws(ConfigurationError) {
        for name in Set(plan.routes.flatMap(\.senders.values)).sorted() {
            let key = LaneKey(sender: name, app: "")
            guard lanes.lane(key) == nil else { continue }
            do {
                try await lanes.open(key)
            } catch let fault as PluginFault where fault.kind == .notFound {
                // The plugin has no default app: its lanes are made when deliveries name apps.
            } catch let fault as PluginFault where fault.kind == .again {
                lanes.backlog(key)
            } catch {
                throw ConfigurationError(diagnostics: [plan.badEndpoint(name, error)])
            }
        }
    }

    /// Lets instances notify their lanes of credentials, room, new secrets or endpoints. References are weak, since
    /// lanes retain their instances.
    func wire(_ set: InstanceSet, except kept: Set<String> = []) {
        let logger = logger
        for instance in set.instances where !kept.contains(instance.name) {
            let name = instance.name
            instance.whenCredentialReady { [weak lanes] in
                for lane in lanes?.all ?? [] where lane.key.sender == name {
                    lane.credentialsChanged()
                }
            }
            instance.whenEndpointsChange { [weak lanes, weak instance, pushes = runtime.pushes] in
                if let instance { pushes.outdate(instance) }
                for lane in lanes?.all ?? [] where lane.key.sender == name {
                    Task { await Self.renew(lane, logger) }
                }
            }
        }
        for (name, sender) in set.senders where !kept.contains(name) {
            sender.own?.whenRoom { [weak lanes] in
                for lane in lanes?.pushing(by: name) ?? [] { lane.resume() }
            }
        }
    }

    /// New connections use the current endpoint and secrets or, if these are unusable, the previous ones.
    private static func renew(_ lane: Lane, _ logger: Logger) async {
        do {
            try await lane.carrier.renew()
            lane.credentialsChanged()
        } catch {
            logger.error(
                "changed endpoint or secrets are unusable, keeping the previous ones",
                metadata: [
                    "plugin.instance": "\(lane.key.sender)", "app": "\(lane.key.app)",
                    "error": "\(error)",
                ])
        }
    }

    // MARK: Shutdown

    /// Sends what is in memory until the deadline; the rest stays on disk. Returns how many deliveries remain.
    package func drain(deadlineNs: UInt64) async -> Int {
        for lane in lanes.all {
            lane.drain()
            // It can send nothing: deliveries waiting for a connection are on disk as well.
            let connections = await lane.carrier.connections()
            if lane.hold != nil || connections.isFailing && connections.readyCount == 0 {
                lane.leave()
            }
        }
        let inMemory = runtime.inMemory
        _ = await SystemThread.value { inMemory.waitForNone(deadlineNs: deadlineNs) }
        return context.store.waitingCount
    }

    /// Ends all lanes, which release unsent deliveries. Events are still stored.
    package func stopSending() async {
        await sources.stop()
        // In parallel, so that several hanging plugins take no longer than one.
        await withTaskGroup(of: Void.self) { group in
            for lane in lanes.close() { group.addTask { await lane.stop() } }
        }
        lanes.forgetEnded()
    }

    /// Stops everything, in reverse order of startup.
    package func shutdown() async {
        await stopSending()
        await context.outcomes.stop()
        await context.spans.exporter.stop()
        await context.current.generation.instances.stop(deadlineMs: 5_000)
        // Instances retain their services, and these retain what runs; this breaks the cycle.
        context.current.replace(with: empty)
        await context.store.close()
        await runtime.shutdown()
    }
}

extension LaneTable {
    /// The lanes of a sender's pushes.
    fileprivate func pushing(by sender: String) -> [Lane] {
        all.filter { $0.key.kind == .push && $0.key.sender == sender }
    }
}
