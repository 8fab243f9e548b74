internal import Logging
internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxHTTP
internal import SignalboxObservability
internal import SignalboxPluginHost
internal import SignalboxStore
internal import SignalboxThreads

/// The parts of one gateway, and the order in which they begin and end.
///
/// `@unchecked Sendable`: `open` fills the parts in before the object is shared; afterwards they are
/// only read.
final class GatewayParts: @unchecked Sendable {
    let logger: Logger
    let metrics = GatewayMetrics(registry: MetricsRegistry())
    let services: GatewayServices
    private(set) var live: Live?
    private(set) var context: DispatchContext?
    private(set) var lanes: LaneTable?
    private(set) var pipeline: EventPipeline?
    private(set) var sweep: LaneSweep?
    private(set) var outcomes: OutcomeStream?
    let limits = Limits()
    let program: InstanceSet.Program
    private let inMemory = UnderWay()
    private let onOutcome: (@Sendable (DeliveryOutcome) -> Void)?
    private(set) var store: (any GatewayStore)?
    private let dataFolder: String
    private let dataBytesMax: Int
    private let givenStore: (any GatewayStore)?
    private let workers: WorkerThreads
    private let alarms: AlarmClock
    private let rest: RESTClient
    private let engine: PushEngine
    private let clock: @Sendable () -> UInt64

    init(_ plan: GatewayPlan, options: GatewayOptions) throws(ConfigurationError) {
        let settings = plan.config.gateway
        program = InstanceSet.Program(
            name: options.program.name, version: options.program.version,
            isolation: options.isolation)
        onOutcome = options.onOutcome
        logger =
            options.logger
            ?? Logger(label: "signalbox") { label in
                LineLogHandler(
                    label: label, format: .init(rawValue: settings.logFormat) ?? .text,
                    level: .init(rawValue: settings.logLevel) ?? .info)
            }
        dataBytesMax = options.dataBytesMax
        givenStore = options.store
        dataFolder = options.dataFolder ?? plan.config.dataPath
        let cores = SystemThread.cores
        // A thread that waits for another process needs no core.
        let isolatedCount = plan.plugins.count(where: \.settings.isIsolated)
        let workerCount = max(2, cores) + min(isolatedCount, 16)
        do throws(ResourceError) {
            try Self.requireRoom(workerCount: workerCount, plan)
        } catch {
            throw ConfigurationError(diagnostics: [
                Diagnostic(
                    "no-resources", at: plan.config.start,
                    "the gateway cannot start: \(error.message)")
            ])
        }
        workers = WorkerThreads(count: workerCount, waitingMax: 10_000)
        alarms = AlarmClock()
        do throws(ResourceError) {
            engine = try PushEngine(threads: max(1, cores / 2))
        } catch {
            throw ConfigurationError(diagnostics: [
                Diagnostic(
                    "no-event-loops", at: plan.config.start,
                    "the push engine cannot start: \(error.message)")
            ])
        }
        do throws(RESTFault) {
            rest = try RESTClient()
        } catch {
            throw ConfigurationError(diagnostics: [
                Diagnostic(
                    "no-rest-client",
                    at: plan.config.start,
                    error.message)
            ])
        }
        services = GatewayServices(
            logger: logger, metrics: metrics, workers: workers, alarms: alarms, rest: rest,
            clock: options.nowUnixMs, hasSystemClock: options.hasSystemClock)
        clock = options.nowUnixMs
    }

    /// Whether the system has room for all threads and descriptors of a start; what is begun without would
    /// end the process.
    private static func requireRoom(
        workerCount: Int, _ plan: GatewayPlan
    ) throws(ResourceError) {
        // Alarms, REST, the store's two, and one for something that blocks.
        let threads = workerCount + 5 + max(1, SystemThread.cores / 2) + plan.plugins.count
        // The database with its log, listeners and their loops, sockets of the first connections; a
        // process of its own needs more than a plugin inside.
        let isolatedCount = plan.plugins.count(where: \.settings.isIsolated)
        let descriptors = 48 + 2 * plan.plugins.count + 4 * isolatedCount
        try ProcessRoom.require(threads: threads, descriptors: descriptors)
    }

    /// Makes and starts the plugins, and a lane for every sender that a route names.
    func open(_ plan: GatewayPlan) async throws(ConfigurationError) {
        var instances = try await InstanceSet.create(
            plan.plugins, program: program, services: services)
        let store: any GatewayStore
        do throws(ConfigurationError) {
            store = try openStore(plan)
            self.store = store
            services.set(store: store)
            try await instances.start(plan.plugins, limits: limits)
        } catch {
            await instances.stop(deadlineMs: 1_000)
            throw error
        }
        let live = Live(
            Generation(plan, instances: instances, reporters: await Self.reporters(instances)))
        self.live = live
        let outcomes = OutcomeStream(
            store: store, rest: rest, alarms: alarms, logger: logger, metrics: metrics, clock: clock
        )
        self.outcomes = outcomes
        let ids: IDSource
        do throws(StoreFailure) {
            ids = try await IDSource.open(store)
        } catch {
            throw ConfigurationError(diagnostics: [
                Diagnostic("store-failed", at: plan.config.start, error.message)
            ])
        }
        let feedback = Feedback(
            store: store, metrics: metrics, live: live, ids: ids, logger: logger, clock: clock)
        let world = LaneWorld(
            clock: GatewayClock(
                workers: workers, alarms: alarms, inMemory: inMemory, unixMs: clock),
            store: GatewayLaneStore(store: store, outcomes: outcomes),
            ledger: OutcomeRecord(
                logger: logger, metrics: metrics, live: live, feedback: feedback,
                stream: outcomes, onOutcome: onOutcome))
        let context = DispatchContext(
            limits: limits, live: live, workers: workers, alarms: alarms, engine: engine,
            logger: logger, metrics: metrics, world: world, store: store,
            users: await UserNames.open(
                .init(rawValue: plan.config.gateway.logUsers) ?? .hashed, store),
            feedback: feedback, outcomes: outcomes, clock: clock)
        self.context = context
        let lanes = LaneFactory(context: context, rest: rest).table()
        self.lanes = lanes
        feedback.set(lanes: lanes)
        try await openLanes(lanes, plan)
        wire(instances.senders, lanes)
        let pipeline = EventPipeline(context: context, lanes: lanes, ids: ids)
        self.pipeline = pipeline
        services.set(pipeline: pipeline)
        await outcomes.replace(with: plan.config.outcomeReceivers)
        let sweep = LaneSweep(context: context, lanes: lanes)
        self.sweep = sweep
        resume(store, sweep)
    }

    /// A lane for every sender that a route names, as far as there is none.
    func openLanes(_ lanes: LaneTable, _ plan: GatewayPlan) async throws(ConfigurationError) {
        for name in Set(plan.routes.flatMap(\.senders.values)).sorted()
        where lanes.lane(LaneKey(sender: name, app: "")) == nil {
            try await openLane(name, lanes, plan)
        }
    }

    /// Lets senders say when what they wait for is there.
    func wire(_ senders: [String: InstanceSet.Sender], _ lanes: LaneTable) {
        let logger = logger
        for (name, sender) in senders {
            sender.instance.whenCredentialReady {
                for lane in lanes.all where lane.key.sender == name { lane.credentialsChanged() }
            }
            sender.own?.whenRoom {
                for lane in lanes.all where lane.key.sender == name { lane.resume() }
            }
            guard sender.http != nil else { continue }
            sender.instance.whenSecretsChange {
                for lane in lanes.all where lane.key.sender == name {
                    Task { await Self.renew(lane, logger) }
                }
            }
        }
    }

    /// New connections log in with the current secrets or, if these are unusable, the previous ones.
    private static func renew(_ lane: Lane, _ logger: Logger) async {
        do {
            try await lane.carrier.renew()
            lane.credentialsChanged()
        } catch {
            logger.error(
                "changed secrets are unusable, keeping the previous ones",
                metadata: [
                    "plugin.instance": "\(lane.key.sender)", "app": "\(lane.key.app)",
                    "error": "\(error)",
                ])
        }
    }

    private func openLane(
        _ name: String, _ lanes: LaneTable, _ plan: GatewayPlan
    ) async throws(ConfigurationError) {
        do {
            try await lanes.open(LaneKey(sender: name, app: ""))
        } catch let fault as PluginFault where fault.kind == .notFound {
            // The plugin has no default app; its lanes are made when deliveries name one.
        } catch {
            let plugin = plan.plugins.first { $0.name == name }
            throw ConfigurationError(diagnostics: [
                Diagnostic(
                    "bad-endpoint", at: plugin?.configPosition ?? plan.config.start,
                    "plugin \"\(name)\": \(error)")
            ])
        }
    }

    /// Instances that want to know of changes, which kinds, and that say where to tell them.
    static func reporters(_ instances: InstanceSet) async -> [String: Set<DeviceChange.Kind>] {
        var out: [String: Set<DeviceChange.Kind>] = [:]
        for (name, registrar) in instances.registrars {
            let kinds = Set(DeviceChange.Kind.allCases.filter { registrar.role.wants($0) })
            guard !kinds.isEmpty else { continue }
            do throws(PluginFault) {
                _ = try await registrar.role.endpoint(app: "")
            } catch {
                // No default app is no reason: its apps have endpoints of their own.
                if error.kind == .unsupported || error.kind == .notFound { continue }
            }
            out[name] = kinds
        }
        return out
    }

    private func openStore(_ plan: GatewayPlan) throws(ConfigurationError) -> any GatewayStore {
        if let givenStore { return givenStore }
        let logger = logger
        let metrics = metrics
        var options = SQLiteStore.Options(
            folder: dataFolder, nowUnixMs: clock,
            onNotice: { notice in
                let error: Logger.Metadata = ["error": "\(notice.text)"]
                switch notice {
                case .fault:
                    metrics.storeFault()
                    logger.error("store failed to write", metadata: error)
                case .damaged(let count, _):
                    metrics.damaged(count)
                    logger.error("found damaged deliveries", metadata: error)
                case .diskFull:
                    metrics.diskFull(true)
                    logger.error("disk is full, rejecting events", metadata: error)
                case .fileGone:
                    metrics.fileGone(true)
                    logger.error("database file is gone", metadata: error)
                case .fileIsBack:
                    metrics.fileGone(false)
                    logger.notice("database file is back", metadata: error)
                case .outcomesLost(let receiver, let count):
                    metrics.outcomesLost(receiver, count: count)
                    logger.error(
                        "outcomes dropped as too old or too many",
                        metadata: ["outcomes.receiver": "\(receiver)", "count": "\(count)"])
                case .diskHasRoom:
                    metrics.diskFull(false)
                    logger.notice("disk has room again")
                }
            })
        options.waitingMax = limits.deliveriesWaitingMax
        options.leaseMs = limits.leaseMs
        options.bytesMax = dataBytesMax
        do throws(StoreError) {
            return try SQLiteStore.open(options)
        } catch {
            throw ConfigurationError(diagnostics: [
                Diagnostic(error.code, at: plan.config.start, error.message)
            ])
        }
    }

    /// Resumes what a previous process has left on disk.
    private func resume(_ store: any GatewayStore, _ sweep: LaneSweep) {
        if store.waitingCount > 0 {
            logger.notice(
                "resuming deliveries from the previous run",
                metadata: ["count": "\(store.waitingCount)"])
        }
        sweep.start()
    }

    /// The device registry's API, for the clients and users of a plan.
    func devicesService(
        _ plan: GatewayPlan, _ context: DispatchContext
    ) throws(ConfigurationError) -> DevicesService {
        DevicesService(
            clients: plan.config.deviceClients,
            users: try UserAuthenticator(
                plan.config.deviceUsers, rest: rest, store: context.store, logger: logger,
                clock: clock),
            registry: context.store, names: context.users, feedback: context.feedback,
            outcomes: context.outcomes, routes: Set(plan.config.routes.map(\.route.name)),
            clock: clock)
    }

    /// Lets what is in memory be sent until the time has come; the rest stays on disk. How many
    /// deliveries that are.
    func drain(deadlineNs: UInt64) async -> Int {
        for lane in lanes?.all ?? [] { lane.drain() }
        let inMemory = inMemory
        _ = await SystemThread.value { inMemory.waitForNone(deadlineNs: deadlineNs) }
        return store?.waitingCount ?? 0
    }

    /// Ends everything, in the reverse order of its beginning.
    func shutdown() async {
        for lane in lanes?.all ?? [] { await lane.stop() }
        await outcomes?.stop()
        await live?.now.instances.stop(deadlineMs: 5_000)
        await store?.close()
        alarms.stop()
        await rest.close()
        workers.stop()
        await engine.shutdown()
    }
}
