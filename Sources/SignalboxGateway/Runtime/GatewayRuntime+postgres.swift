internal import Logging
internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxObservability
internal import SignalboxPostgres
internal import SignalboxThreads

extension GatewayRuntime {
    /// Opens the database that several gateways use.
    func openStore(
        _ settings: PostgresSettings, _ plan: GatewayPlan
    ) async throws(ConfigurationError) -> any GatewayStore {
        let address: PostgresAddress
        do throws(PostgresAddressError) {
            address = try PostgresAddress(settings.address)
        } catch {
            throw plan.fault("store-address", error.description)
        }
        let faults = FaultLines()
        var options = PostgresOptions(
            address: address, owner: name,
            onNotice: { [metrics, logger] in Self.note($0, metrics, logger, faults) })
        options.version = Release.version
        options.waitingMax = limits.deliveriesWaitingMax
        options.leaseMs = limits.leaseMs
        // Through a pooler, LISTEN is not possible.
        options.usesNames = !settings.isPooled
        options.hasNotices = !settings.isPooled
        let made = options
        let opened = await SystemThread.value {
            Result { () throws(StoreError) in try PostgresStore.open(made) }
        }
        do throws(StoreError) {
            return try opened.get()
        } catch {
            throw plan.fault(error.code, error.message)
        }
    }

    private static func note(
        _ notice: PostgresNotice, _ metrics: GatewayMetrics, _ logger: Logger, _ faults: FaultLines
    ) {
        switch notice {
        case .fault(let words):
            metrics.storeFaults[].add()
            guard let skipped = faults.write(words) else { return }
            var error: Logger.Metadata = ["error": "\(words)"]
            if skipped > 0 { error["skipped"] = "\(skipped)" }
            logger.error("store failed to write", metadata: error)
        case .began(let trouble, let words):
            metrics.storeFaults[].add()
            logger.error(
                "\(Self.words(trouble)), rejecting events", metadata: ["error": "\(words)"])
        case .ended(let refused, let ms):
            logger.notice(
                "database is back, accepting events",
                metadata: ["refused": "\(refused)", "outage.ms": "\(ms)"])
        case .renewed(let words):
            logger.notice("gateway was fenced and starts again", metadata: ["reason": "\(words)"])
        case .waiting(let words):
            logger.notice("waiting for locks in the database", metadata: ["reason": "\(words)"])
        case .info(let words):
            logger.info("database has no standby", metadata: ["reason": "\(words)"])
        case .warning(let words):
            logger.warning("database may lose events", metadata: ["error": "\(words)"])
        case .damaged(let count, let words):
            metrics.damaged[].add(Int64(count))
            logger.error("found damage in the queue", metadata: ["error": "\(words)"])
        case .outcomesLost(let receiver, let count):
            Self.lost(receiver, count: count, metrics, logger)
        case .receiverUnnamed(let receiver):
            logger.warning(
                "this configuration lacks a receiver of outcomes",
                metadata: [
                    "outcomes.receiver": "\(receiver)",
                    "removed": "in 10 minutes, unless another gateway has it",
                ])
        case .receiverRemoved(let receiver, let count):
            Self.removed(receiver, count: count, metrics, logger)
        case .tookOver(let count, let name):
            logger.warning(
                "took over deliveries whose leases had ended",
                metadata: ["count": "\(count)", "from": "\(name)"])
        case .configurationsDiffer(let all):
            logger.warning(
                "gateways have different configurations, reload those with an old file",
                metadata: ["configurations": "\(all)"])
        case .configurationsAgree:
            logger.notice("all gateways have the same configuration again")
        }
    }

    private static func words(_ trouble: PostgresOutageCause) -> String {
        switch trouble {
        case .away: "database is away"
        case .slow: "database is slow"
        case .full: "database is full"
        case .nameTaken: "gateway name is taken"
        case .failed: "database refuses statements"
        }
    }
}
