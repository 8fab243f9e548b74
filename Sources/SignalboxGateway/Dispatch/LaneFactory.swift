internal import Logging
internal import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxHTTP
internal import SignalboxObservability
internal import SignalboxPluginHost
internal import SignalboxThreads

/// Makes the lane of a sender and app, with the current instances.
struct LaneFactory: Sendable {
    private let context: DispatchContext
    private let deviceReports: DeviceReports
    private let onOutcome: (@Sendable (DeliveryOutcome) -> Void)?
    private let lines = FaultLines()

    init(
        _ context: DispatchContext, _ deviceReports: DeviceReports,
        onOutcome: (@Sendable (DeliveryOutcome) -> Void)?
    ) {
        self.context = context
        self.deviceReports = deviceReports
        self.onOutcome = onOutcome
    }

    /// What a lane calls; only the metrics are its own.
    private func world(_ key: LaneKey) -> LaneWorld {
        let (runtime, outcomes) = (context.runtime, context.outcomes)
        return LaneWorld(
            clock: GatewayClock(
                workers: runtime.workers, alarms: runtime.alarms,
                inMemory: runtime.inMemory, unixMs: runtime.clock),
            store: GatewayLaneStore(
                store: context.store, outcomes: outcomes, unixMs: runtime.clock),
            outcomeSink: OutcomeRecord(
                logger: runtime.logger, metrics: runtime.metrics,
                series: LaneSeries(runtime.metrics, sender: key.name, app: key.app),
                current: context.current,
                deviceReports: deviceReports, stream: outcomes, pauses: context.pauses,
                spans: context.spans,
                waitingCount: { [store = context.store] in store.waitingCount },
                onOutcome: onOutcome))
    }

    /// An empty table that makes its lanes with this factory.
    func table() -> LaneTable {
        LaneTable(
            countMax: context.limits.lanesMax,
            // The clock of the lanes.
            nowMs: { SystemClock.sinceBootNs / 1_000_000 },
            make: { key, number, table in try await lane(key, number, table) },
            onRefused: { key, error, table in
                // A reload removed its plugin: the deliveries stay, since another reload may restore it.
                guard context.current.generation.instances.serves(key) else { return }
                let isForGood = error is UnknownApp
                // Apps come from events, and there may be many unknown ones.
                let skipped = isForGood ? lines.write(key.name) : 0
                if let skipped {
                    context.logger.error(
                        isForGood
                            ? "no sender handles this app" : "sender cannot start, retrying",
                        metadata: [
                            "plugin.instance": "\(key.name)", "app": "\(key.app)",
                            "error": "\(error)", "count": "\(skipped + 1)",
                        ])
                }
                guard isForGood else {
                    // Its process is restarting, descriptors ran out, a certificate is missing: none of that is the
                    // deliveries' fault, so they wait.
                    let isSoon = (error as? PluginFault)?.kind == .again
                    let pauseMs: UInt64 = isSoon ? 1_000 : 5_000
                    context.alarms.after(ms: pauseMs) { [weak table] in table?.backlog(key) }
                    return
                }
                DeadLetterWriter(world(key)).buryDue(key, reason: "no_endpoint", detail: "\(error)")
            })
    }

    private func lane(_ key: LaneKey, _ number: Int, _ table: LaneTable) async throws -> Lane {
        // A new lane knows of no outage: its connection, key or settings may be new.
        defer { context.store.hasten(key) }
        let make: (LaneSink) throws -> any LaneCarrier
        do {
            make = try await carrier(key)
        } catch let fault as PluginFault where [.notFound, .unsupported].contains(fault.kind) {
            throw UnknownApp("\(fault)")
        }
        // Makes the series appear as 0 from now on.
        _ = context.metrics.leasesLost[key.name, key.app]
        return try Lane(
            key, number: number,
            rules: { traits in
                var rules = LaneRules(traits, batchMax: context.limits.batchMax)
                rules.inMemoryMax = context.limits.deliveriesInMemoryMax
                rules.leaseMs = context.limits.leaseMs
                return rules
            },
            world: world(key), paused: context.pauses.order(for: key),
            siblings: { [weak table] in
                table?.all.filter {
                    $0.key.sender == key.sender && $0.key.kind == key.kind && $0.number != number
                } ?? []
            },
            predecessors: { [weak table] in
                table?.leaving(key).filter { $0.number != number } ?? []
            },
            onReturned: { [weak table] in table?.backlog(key) }, carrier: make)
    }

    /// Makes the carrier once the plugin has said where to connect.
    private func carrier(_ key: LaneKey) async throws -> (LaneSink) throws -> any LaneCarrier {
        let instances = context.current.generation.instances
        let app = key.app
        if key.kind == .report {
            guard let reporting = instances.reportRoles[key.sender] else {
                throw PluginFault(.unsupported, "the instance takes no reports")
            }
            let endpoint = try await reporting.role.endpoint(app: app)
            return { sink in
                let transport = try rest(endpoint, key, sink, reporting.proxies)
                return TranslatedCarrier(
                    app: app, instance: reporting.instance, role: reporting.role,
                    endpoint: endpoint, transport: transport, carries: .report,
                    spans: context.spans)
            }
        }
        let sender = instances.senders[key.sender]
        if let sender, let role = sender.http {
            let endpoint = try await role.endpoint(app: app)
            return { sink in
                TranslatedCarrier(
                    app: app, instance: sender.instance, role: role, endpoint: endpoint,
                    transport: endpoint.isREST
                        ? try rest(endpoint, key, sink, sender.proxies)
                        : try pool(endpoint, of: sender, key, sink),
                    carries: .push, spans: context.spans)
            }
        }
        guard let sender, let own = sender.own else {
            throw PluginFault(.unsupported, "the instance does not send")
        }
        return { OwnCarrier(app: app, instance: sender.instance, role: own, sink: $0) }
    }

    private func rest(
        _ endpoint: SendEndpoint, _ key: LaneKey, _ sink: LaneSink, _ proxies: ProxyRules
    ) throws -> any LaneTransport {
        RESTTransport(
            try context.runtime.restSends.clients(), owner: key.sender, proxies: proxies,
            endpoint: endpoint, answers: context.metrics.providerTimes[key.name],
            maySend: { sink.maySend },
            onResults: { sink.answered($0) })
    }

    private func pool(
        _ endpoint: SendEndpoint, of sender: InstanceSet.Sender, _ key: LaneKey, _ sink: LaneSink
    ) throws -> PushPool {
        let log = ConnectionLog(
            key.name, app: endpoint.isShared ? nil : key.app, context.logger, context.metrics)
        let provider = context.metrics.providerTimes[key.name]
        return try context.runtime.pushes.makePool(
            endpoint: try endpoint.pushEndpoint(sender.proxies),
            owner: endpoint.isShared ? sender.instance : nil,
            onResults: { sink.answered($0) },
            onEvent: { log.write($0) }, onAnswer: { provider.observe(ns: $0) },
            maySend: { sink.maySend })
    }
}
