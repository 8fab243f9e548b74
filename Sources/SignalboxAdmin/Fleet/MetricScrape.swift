internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxCrypto
internal import SignalboxDispatch
internal import SignalboxGateway
internal import SignalboxHTTP
internal import SignalboxObservability
internal import SignalboxThreads

/// Sets the gauges at each scrape.
struct MetricScrape {
    let context: DispatchContext
    let lanes: LaneTable
    let sweep: LaneSweep
    let sources: SourceRunner

    private var metrics: GatewayMetrics { context.metrics }

    /// The current page.
    func text() -> String {
        setLanes()
        setStore()
        setReceivers()
        let now = context.clock()
        metrics.pausedSeconds.setAll(
            context.pauses.all.map { entry in
                let ms = now - min(now, entry.note.sinceUnixMs)
                return ([entry.kind.rawValue, entry.name], Double(ms) / 1_000)
            })
        metrics.sourceRunning.setAll(sources.running.map { ([$0.name], $0.isRunning ? 1 : 0) })
        setCertificates()
        setProcess()
        return metrics.text
    }

    private func setLanes() {
        let all = lanes.all
        metrics.inMemory.setAll(all.map { ([$0.key.name, $0.key.app], Double($0.count)) })
        metrics.lanesQueued.set(Double(lanes.queuedCount))
        var states = all.map { lane in
            let isPaused = context.pauses.entry(of: lane.key) != nil
            return (lane.key, isPaused ? .paused : LaneStanding(hold: lane.hold))
        }
        let instances = context.current.generation.instances
        for key in lanes.refusals.keys where instances.serves(key) {
            states.append((key, .cannotStart))
        }
        for key in sweep.waitingOrphans { states.append((key, .notConfigured)) }
        metrics.senderHeld.setAll(
            states.map { key, state in ([key.name, key.app], state.isHeld ? 1 : 0) })
        metrics.senderState.setAll(
            states.flatMap { key, state in
                LaneStanding.allCases.map {
                    ([key.name, key.app, $0.rawValue], $0 == state ? 1 : 0)
                }
            })
    }

    private func setStore() {
        let store = context.store
        metrics.waiting.set(Double(store.waitingCount))
        metrics.storeFailing.set(store.isFailing)
        metrics.diskFull.set(store.isDiskFull)
        metrics.databaseGone.set(store.isFileGone)
        metrics.nameTaken.set(store.stop == .nameTaken)
        let figures = Dictionary(grouping: store.figures, by: \.name)
        for family in metrics.families {
            guard let rows = figures[family.about.name] else { continue }
            let labels = rows.map { $0.labels.map(\.value) }
            if let counters = family as? Counters {
                for (row, labels) in zip(rows, labels) {
                    func label(_ index: Int) -> String { index < labels.count ? labels[index] : "" }
                    counters[label(0), label(1)].set(row.value)
                }
            } else if let gauges = family as? Gauges {
                gauges.setAll(Array(zip(labels, rows.map { Double($0.value) })))
            }
        }
    }

    private func setReceivers() {
        let senders = context.outcomes.senders
        metrics.outcomesWaiting.setAll(senders.map { ([$0.name], Double($0.waitingCount)) })
        metrics.outcomesHeld.setAll(senders.map { ([$0.name], $0.hold == nil ? 0 : 1) })
    }

    private func setCertificates() {
        guard let tls = context.current.generation.plan.config.gateway.tls else { return }
        func rows(_ use: String, _ pem: [UInt8]) -> [(labels: [String], value: Double)] {
            Certificate.all(pem: pem).map { ([use, $0.subject], Double($0.notAfterUnixS)) }
        }
        metrics.certificates.setAll(
            rows("listener", tls.certificate) + rows("client_ca", tls.clientRoots ?? []))
    }

    private func setProcess() {
        metrics.logLinesDropped[].set(Int64(LogWriter.standardError.droppedCount))
        metrics.mostDescriptors.set(Double(ProcessRoom.descriptorsMax))
        guard let figures = ProcessFigures.now() else { return }
        metrics.cpu[].set(Int64(figures.cpuSeconds * 1_000))
        metrics.residentBytes.set(Double(figures.residentBytes))
        metrics.virtualBytes.set(Double(figures.virtualBytes))
        metrics.threads.set(Double(figures.threads))
        metrics.startTime.set(figures.startUnixSeconds)
        if let open = figures.openDescriptors { metrics.openDescriptors.set(Double(open)) }
    }

    /// Sets the fleet's gauges: the work of all gateways of the store.
    static func set(_ fleet: Fleet, in metrics: GatewayMetrics) {
        let states = fleet.members.map { fleet.state(of: $0) }
        metrics.fleetGateways.setAll(
            Fleet.State.allCases.map { state in
                ([state.rawValue], Double(states.count { $0 == state }))
            })
        metrics.fleetConfigurations.set(Double(fleet.configurationCount))
        func rows(_ value: (Fleet.Backlog) -> Double) -> [(labels: [String], value: Double)] {
            fleet.backlogs.map { ([$0.lane.name, $0.lane.app], value($0)) }
        }
        metrics.fleetWaiting.setAll(rows { Double($0.waiting) })
        metrics.fleetLeased.setAll(rows { Double($0.leased) })
        metrics.fleetLag.setAll(rows { Double(fleet.lagMs(of: $0)) / 1_000 })
    }
}

/// The state of a lane, for the metrics.
enum LaneStanding: String, CaseIterable {
    case sending, down, misconfigured, throttled, paused
    case cannotStart = "cannot_start"
    case notConfigured = "not_configured"

    /// Whether it is held against the operator's intention.
    var isHeld: Bool { self != .sending && self != .paused }

    init(hold: LaneHold?) {
        self =
            switch hold?.cause {
            case nil: .sending
            case .down: .down
            case .misconfigured: .misconfigured
            case .throttled: .throttled
            }
    }
}
