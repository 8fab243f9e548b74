package import Logging
internal import SignalboxConfig
package import SignalboxCore
package import SignalboxHTTP
package import SignalboxObservability
internal import SignalboxStore
package import SignalboxThreads

/// What a gateway runs on: threads, clients, clock, log and metrics, all independent of store and plugins.
package struct GatewayRuntime: Sendable {
    /// What the gateway calls itself.
    package let name: String
    package let logger: Logger
    /// The audit log. No level drops its lines.
    package let records: Logger
    /// The level of the log; nil if the embedding program has its own logger.
    package let logLevel: LogLevel?
    package let metrics = GatewayMetrics()
    /// Most REST calls of one owner in progress; half of them to one host.
    private static let restCallsMax = 256
    package let limits: Limits
    package let workers: WorkerThreads
    package let alarms: AlarmClock
    /// For plugins' own calls, users' keys and codes, outcome receivers and spans, each with its own limit.
    package let rest: RESTClient
    /// The proxy rules of connections that belong to no plugin.
    package let proxies: ProxyRules
    let restSends = RESTSends()
    package let pushes: PushEngine
    /// Milliseconds since 1970.
    package let clock: @Sendable () -> UInt64
    package let hasSystemClock: Bool
    /// Deliveries in memory, over all lanes.
    package let inMemory = UnderWay()

    package init(_ plan: GatewayPlan, _ options: GatewayOptions) throws(ConfigurationError) {
        let settings = plan.config.gateway
        name = GatewayName.of(settings, listen: settings.listen)
        let level = LogLevel(
            options.programLog?.level ?? .init(rawValue: settings.logLevel) ?? .info)
        logLevel = options.logger == nil ? level : nil
        var logger =
            options.logger ?? options.programLog?.logger(level)
            ?? Logger(label: "signalbox") { label in
                LineLogHandler(
                    label: label, format: .init(rawValue: settings.logFormat) ?? .text,
                    level: level)
            }
        // In a fleet, each line says which gateway wrote it.
        if settings.name != nil || settings.store != nil || options.store != nil {
            logger[metadataKey: "gateway.name"] = "\(name)"
        }
        self.logger = logger
        logger.logLevel = .trace
        records = logger
        proxies = ProxyRules(variables: options.environment.variables)
        metrics.buildInfo.set(1, name, Release.version)
        var limits = Limits()
        if let store = settings.store { limits.leaseMs = store.leaseMs }
        // Each lane has one connection, rarely two; the rest is for clients, files and threads.
        let room = max(16, (ProcessRoom.descriptorsMax - 128) / 2)
        limits.lanesMax = min(options.lanesMax ?? limits.lanesMax, room)
        self.limits = limits
        clock = options.nowUnixMs
        hasSystemClock = options.hasSystemClock
        let cores = SystemThread.cores
        // A thread that waits for another process needs no core.
        let isolatedCount = plan.plugins.count(where: \.settings.isIsolated)
        let workerCount = max(2, cores) + min(isolatedCount, 16)
        do throws(ResourceError) {
            try Self.requireRoom(workerCount: workerCount, isolatedCount: isolatedCount, plan)
        } catch {
            throw plan.fault("no-resources", "the gateway cannot start: \(error.message)")
        }
        alarms = AlarmClock()
        workers = WorkerThreads(
            count: workerCount, waitingMax: 10_000, watch: Self.watch(alarms, metrics, logger))
        do throws(ResourceError) {
            pushes = try PushEngine(threads: max(1, cores / 2))
        } catch {
            throw plan.fault("no-event-loops", "the push engine cannot start: \(error.message)")
        }
        do throws(RESTFault) {
            rest = try RESTClient(
                callsMax: Self.restCallsMax, hostCallsMax: Self.restCallsMax / 2, proxies: proxies)
        } catch {
            throw plan.fault("no-rest-client", error.message)
        }
    }

    /// Reports calls into plugins that take over a second, while they last.
    private static func watch(
        _ alarms: AlarmClock, _ metrics: GatewayMetrics, _ logger: Logger
    ) -> CallWatch {
        let lines = FaultLines()
        return CallWatch(alarms) { call in
            let (role, name) = (call.kind.role, call.kind.name)
            metrics.slowCalls[call.owner, role, name].add()
            guard let skipped = lines.write("\(call.owner) \(role) \(name)") else { return }
            logger.warning(
                "a call into a plugin takes over a second",
                metadata: [
                    "plugin.instance": "\(call.owner)", "role": "\(role)", "call": "\(name)",
                    "count": "\(skipped + 1)",
                ])
        }
    }

    /// Checks that the system has room for all threads and descriptors of a start: one that is refused later would end
    /// the process.
    private static func requireRoom(
        workerCount: Int, isolatedCount: Int, _ plan: GatewayPlan
    ) throws(ResourceError) {
        // Alarms, REST, the log, two of the store, and one for blocking work.
        let threads = workerCount + 6 + max(1, SystemThread.cores / 2) + plan.plugins.count
        // The database with its log, listeners and their loops, sockets of the first connections; isolated plugins
        // need more.
        let descriptors = 48 + 2 * plan.plugins.count + 4 * isolatedCount
        try ProcessRoom.require(threads: threads, descriptors: descriptors)
    }

    /// Opens the database of the data folder; its notices go to the log and the metrics.
    func openStore(
        _ plan: GatewayPlan, _ given: GatewayOptions
    ) async throws(ConfigurationError) -> any GatewayStore {
        if let store = given.store { return store }
        if let settings = plan.config.gateway.store { return try await openStore(settings, plan) }
        let faults = FaultLines()
        var options = SQLiteStore.Options(
            folder: given.dataFolder ?? plan.config.dataPath, nowUnixMs: clock,
            onNotice: { [metrics, logger] in Self.note($0, metrics, logger, faults) })
        options.waitingMax = limits.deliveriesWaitingMax
        options.leaseMs = limits.leaseMs
        options.bytesMax = given.dataBytesMax
        let settings = plan.config.gateway
        let end =
            SystemClock.monotonicNs + (settings.shutdownDelayMs + settings.drainMs + 30_000)
            * 1_000_000
        var hasWaited = false
        while true {
            do throws(StoreError) {
                return try SQLiteStore.open(options)
            } catch {
                // The gateway that uses the folder may be about to end; clients wait in the socket meanwhile.
                guard error.code == "store-in-use", !given.sockets.isEmpty,
                    SystemClock.monotonicNs < end
                else { throw plan.fault(error.code, error.message) }
                if !hasWaited {
                    logger.notice("waiting for the gateway that uses the data folder")
                }
                hasWaited = true
                try? await Task.sleep(for: .milliseconds(20))
            }
        }
    }

    private static func note(
        _ notice: StoreNotice, _ metrics: GatewayMetrics, _ logger: Logger, _ faults: FaultLines
    ) {
        var error: Logger.Metadata = ["error": "\(notice.text)"]
        switch notice {
        case .fault:
            metrics.storeFaults[].add()
            guard let skipped = faults.write(notice.text) else { return }
            if skipped > 0 { error["skipped"] = "\(skipped)" }
            logger.error("store failed to write", metadata: error)
        case .damaged(let count, _):
            metrics.damaged[].add(Int64(count))
            logger.error("found damage in the queue", metadata: error)
        case .logDamaged:
            metrics.storeFaults[].add()
            logger.error("found the database's log damaged", metadata: error)
        case .diskFull:
            logger.error("disk is full, rejecting events", metadata: error)
        case .fileGone:
            logger.error("database file is gone", metadata: error)
        case .fileIsBack:
            logger.notice("database file is back", metadata: error)
        case .outcomesLost(let receiver, let count):
            lost(receiver, count: count, metrics, logger)
        case .receiverRemoved(let receiver, let count):
            removed(receiver, count: count, metrics, logger)
        case .diskHasRoom:
            logger.notice("disk has room again")
        }
    }

    static func lost(
        _ receiver: String, count: Int, _ metrics: GatewayMetrics, _ logger: Logger
    ) {
        metrics.outcomesLost[receiver].add(Int64(count))
        logger.error(
            "outcomes dropped as too old or too many",
            metadata: ["outcomes.receiver": "\(receiver)", "count": "\(count)"])
    }

    package static func removed(
        _ receiver: String, count: Int, _ metrics: GatewayMetrics, _ logger: Logger
    ) {
        if count > 0 { metrics.outcomesLost[receiver].add(Int64(count)) }
        logger.warning(
            "removed a receiver of outcomes, dropped what waited for it",
            metadata: ["outcomes.receiver": "\(receiver)", "count": "\(count)"])
    }

    /// Threads that hang only if something is broken.
    package var watched: [Watchdog.Part] {
        [
            .init(name: "sbx-worker", ask: workers.submitBounded),
            .init(name: "sbx-push", ask: pushes.turn),
            .init(name: "sbx-alarms") { [alarms] in alarms.after(ms: 0, ring: $0) },
            .init(name: "the task pool") { done in Task { done() } },
        ]
    }

    /// Ends all threads.
    package func shutdown() async {
        alarms.stop()
        await rest.close()
        await restSends.close()
        workers.stop()
        await pushes.shutdown()
    }
}
