internal import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxObservability
internal import SignalboxThreads

/// The gateway as the way of events to the store sees it.
struct GatewayIntake: IntakeWorld {
    let store: any GatewayStore
    let current: CurrentGeneration
    let ids: IDSource
    let runtime: GatewayRuntime
    let lanes: LaneTable
    let deviceReports: DeviceReports
    let lines: EventLines

    var rules: any IntakeRules { current.generation }

    var stages: (any IntakeRules, any IntakePorts) {
        let generation = current.generation
        let ports = EventPorts(
            generation: generation, current: current, ids: ids, nowUnixMs: runtime.clock())
        return (generation, ports)
    }

    func devices(
        of users: [UserKey],
        done: @escaping @Sendable (Result<[[RegisteredDevice]], StoreFailure>) -> Void
    ) { store.devices(of: users, done: done) }

    func change(
        _ changes: [DeviceChange], from source: String,
        done: @escaping @Sendable (Result<Void, StoreFailure>) -> Void
    ) {
        store.change(
            changes, reports: deviceReports.reports(of: changes, from: source), done: done)
    }

    func append(_ entry: StoreEntry, done: @escaping @Sendable (StoreAnswer) -> Void) {
        let askedNs = SystemClock.monotonicNs
        store.append(entry) { [metrics = runtime.metrics] answer in
            if case .committed = answer {
                metrics.commitTime.observe(ns: SystemClock.monotonicNs - askedNs)
            }
            done(answer)
        }
    }

    func onWorker(_ job: @escaping @Sendable () -> Void) { runtime.workers.submitBounded(job) }

    func lane(_ key: LaneKey) -> Lane? { lanes.lane(key) }
    func backlog(_ key: LaneKey) { lanes.backlog(key) }

    func tell(_ notices: [EventIntake.Notice], from source: String) {
        lines.write(notices, from: source)
    }

    func tell(_ items: [StoreEntry.Item], _ results: [String?], duplicates: Set<Int>) {
        lines.write(items, results, duplicates: duplicates)
    }
}
