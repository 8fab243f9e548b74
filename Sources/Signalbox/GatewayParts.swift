internal import Logging
internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxHTTP
internal import SignalboxObservability
internal import SignalboxPluginHost
internal import SignalboxThreads

/// The parts of one gateway, and the order in which they begin and end.
///
/// `@unchecked Sendable`: `open` fills the parts in before the object is shared; afterwards they are
/// only read.
final class GatewayParts: @unchecked Sendable {
    let logger: Logger
    let metrics = GatewayMetrics(registry: MetricsRegistry())
    let services: GatewayServices
    private(set) var instances = InstanceSet()
    private(set) var context: DispatchContext?
    private(set) var lanes: LaneTable?
    private(set) var pipeline: EventPipeline?
    private let limits = Limits()
    private let underWay = UnderWay()
    private let workers: WorkerThreads
    private let alarms = AlarmClock()
    private let rest: RESTClient
    private let engine: PushEngine
    private let clock: @Sendable () -> UInt64

    init(_ plan: GatewayPlan, options: GatewayOptions) throws(ConfigurationError) {
        let settings = plan.config.gateway
        logger =
            options.logger
            ?? Logger(label: "signalbox") { label in
                LineLogHandler(
                    label: label, format: .init(rawValue: settings.logFormat) ?? .text,
                    level: .init(rawValue: settings.logLevel) ?? .info)
            }
        let cores = Threads.cores
        workers = WorkerThreads(count: max(2, cores), waitingMax: 10_000)
        engine = PushEngine(threads: max(1, cores / 2))
        do throws(RESTFault) {
            rest = try RESTClient()
        } catch {
            throw ConfigurationError(diagnostics: [
                Diagnostic(
                    "no-rest-client",
                    at: SourcePosition(file: plan.config.file, line: 1, column: 1),
                    error.message)
            ])
        }
        services = GatewayServices(
            logger: logger, metrics: metrics, workers: workers, alarms: alarms, rest: rest,
            clock: options.nowUnixMs)
        clock = options.nowUnixMs
    }

    /// Makes and starts the plugins, and a lane for every sender that a route names.
    func open(_ plan: GatewayPlan, version: String) async throws(ConfigurationError) {
        instances = try await InstanceSet.create(plan, version: version, services: services)
        try await instances.start(plan, limits: limits)
        let router = Router(routes: plan.routes)
        let record = OutcomeRecord(
            logger: logger, metrics: metrics, router: router, underWay: underWay, clock: clock)
        let context = DispatchContext(
            limits: limits, router: router, workers: workers, alarms: alarms, engine: engine,
            logger: logger, metrics: metrics, record: record, clock: clock)
        self.context = context
        let senders = instances.senders
        let logger = logger
        let lanes = LaneTable(
            make: { key, number in
                guard let sender = senders[key.sender] else {
                    throw PluginFault(.unsupported, "the instance does not send")
                }
                let endpoint = try await sender.role.endpoint(app: key.app)
                return try SenderLane(
                    number: number, instance: sender.instance, role: sender.role, app: key.app,
                    endpoint: endpoint, context: context)
            },
            onRefused: { deliveries, key, error in
                logger.error(
                    "no way to send for this app",
                    metadata: [
                        "plugin.instance": "\(key.sender)", "app": "\(key.app)",
                        "error": "\(error)",
                    ])
                for delivery in deliveries {
                    record.failed(delivery, reason: "no_endpoint", detail: "\(error)")
                }
            })
        self.lanes = lanes
        for name in Set(plan.routes.flatMap(\.senders.values)).sorted() {
            try await openLane(name, lanes, plan)
        }
        for (name, sender) in senders {
            sender.instance.whenCredentialReady {
                for lane in lanes.all where lane.sender == name { lane.credentialReady() }
            }
        }
        pipeline = EventPipeline(
            context: context, builders: instances.builders, lanes: lanes, underWay: underWay)
    }

    private func openLane(
        _ name: String, _ lanes: LaneTable, _ plan: GatewayPlan
    ) async throws(ConfigurationError) {
        do {
            try await lanes.open(LaneTable.Key(sender: name, app: ""))
        } catch let fault as PluginFault where fault.kind == .notFound {
            // The plugin has no default app; its lanes are made when deliveries name one.
        } catch {
            let plugin = plan.plugins.first { $0.name == name }
            let start = SourcePosition(file: plan.config.file, line: 1, column: 1)
            throw ConfigurationError(diagnostics: [
                Diagnostic(
                    "bad-endpoint", at: plugin?.configPosition ?? start,
                    "plugin \"\(name)\": \(error)")
            ])
        }
    }

    /// Waits until nothing is under way or the time has come; how many deliveries are left.
    func drain(deadlineNs: UInt64) async -> Int {
        let underWay = underWay
        return await withCheckedContinuation { continuation in
            // A thread of its own: waiting must not hold one of the task pool.
            Thread.start {
                continuation.resume(returning: underWay.waitForNone(deadlineNs: deadlineNs))
            }
        }
    }

    /// Ends everything, in the reverse order of its beginning.
    func shutdown() async {
        for lane in lanes?.all ?? [] { await lane.stop(deadlineMs: 1_000) }
        await instances.stop(deadlineMs: 5_000)
        alarms.stop()
        rest.shutdown()
        workers.stop()
        await engine.shutdown()
    }
}
