package import SignalboxConfig
internal import SignalboxCore
package import SignalboxDispatch
package import SignalboxGateway
package import SignalboxHTTP
internal import SignalboxJSON
internal import SignalboxThreads
internal import Synchronization

/// The admin listener.
package final class AdminService: AsyncHTTPServerHandler {
    /// Longer bodies are not recorded.
    private static let detailBytesMax = 4_096
    private let context: DispatchContext
    /// Where the listener is, which reloads do not change; nil without one.
    private let address: ListenAddress?
    private let lanes: LaneTable
    private let sweep: LaneSweep
    private let sources: SourceRunner
    private let fleet: FleetWatch
    private let reloader: Reloader
    private let deviceReports: DeviceReports
    private let trials: TrialAdmin
    private let config: ConfigAdmin
    package let feed: LiveFeed
    private let isStopping = Flag()

    package init(
        context: DispatchContext, address: ListenAddress?, lanes: LaneTable, sweep: LaneSweep,
        sources: SourceRunner, reloader: Reloader, program: InstanceSet.Program,
        config: ConfigAdmin,
        deviceReports: DeviceReports
    ) {
        self.config = config
        trials = TrialAdmin(
            registry: context.store, current: context.current, program)
        self.reloader = reloader
        self.deviceReports = deviceReports
        self.context = context
        self.address = address
        self.lanes = lanes
        self.sweep = sweep
        self.sources = sources
        fleet = FleetWatch(context, lanes)
        let greeting = LiveGreeting(gateway: context.runtime.name, context.current)
        feed = LiveFeed(
            context.alarms, greeting: { greeting.json },
            look: { [isStopping] isWhole in
                let readiness = Readiness(
                    context: context, lanes: lanes, sweep: sweep, sources: sources,
                    isStopping: isStopping.isSet)
                return LiveLook(
                    takenNs: SystemClock.monotonicNs, unixMs: context.clock(),
                    metrics: LiveLook.metrics(context.metrics),
                    readiness: isWhole ? await readiness.report().body : .null,
                    waiting: context.store.waitingCount)
            })
    }

    /// All paths it serves.
    private var paths: AdminPaths {
        AdminPaths(
            [
                AdminPath(.livez) { _, _ in Self.plain("ok\n") },
                AdminPath(.healthz) { _, _ in Self.plain("ok\n") },
                AdminPath(.readyz) { _, _ in await self.readiness() },
                AdminPath(.metrics) { _, _ in await self.metrics() },
                AdminPath(.fleet) { _, _ in try await self.fleetAnswer() },
            ] + operations + people + ReloadAdmin(reloader: reloader).paths
                + LevelAdmin(runtime: context.runtime).paths + trials.paths
                + PageAdmin(feed: feed).paths + config.paths)
    }

    /// What operators do with events and deliveries.
    private var operations: [AdminPath] {
        let (store, current, pauses) = (context.store, context.current, context.pauses)
        let names: @Sendable () -> KnownNames = { KnownNames(current.generation) }
        return TraceAdmin(store: store, current: current, pauses: pauses, lanes: lanes).paths
            + DeadAdmin(store: store, names: names).paths
            + PauseAdmin(pauses: pauses, lanes: lanes, names: names, clock: context.clock).paths
            + CancelAdmin(pauses: pauses, lanes: lanes, names: names, clock: context.clock).paths
            + SendAdmin(registry: store, current: current, runtime: context.runtime).paths
    }

    /// What is stored about users.
    private var people: [AdminPath] {
        let (store, pauses) = (context.store, context.pauses)
        let forgetting = Forgetting(
            store: store, pauses: pauses, lanes: lanes,
            reports: { [deviceReports] in deviceReports.reports(of: $0, from: "") },
            clock: context.clock)
        let export = PersonExport(store: store, pauses: pauses, clock: context.clock)
        return PeopleAdmin(export: export, forgetting: forgetting).paths
            + RegistryAdmin(registry: store).paths
    }

    /// Makes `/readyz` answer 503, so that load balancers stop sending requests.
    package func stopping() { isStopping.set() }

    package func refusal(method: String, path: String) -> HTTPServerAnswer? {
        if case .refused(let answer) = paths.find(method, path) { answer } else { nil }
    }

    package func answer(_ request: HTTPServerRequest) async -> HTTPServerAnswer {
        let settings = context.current.generation.plan.config.gateway
        let access = AdminAccess(
            address, names: settings.adminHosts, token: settings.adminToken)
        switch paths.find(request.method, request.path) {
        case .found(let path):
            let refusal = access.refusal(request, isGuarded: path.call.isRecorded)
            var answer: HTTPServerAnswer
            if let refusal { answer = refusal } else { answer = await path.answer(request) }
            if path.call.isRecorded {
                record(request, answer, by: refusal == nil ? "admin" : "", isKnown: refusal == nil)
            }
            answer.headers += PageAdmin.protection
            return answer
        case .refused(let answer): return access.refusal(request) ?? answer
        }
    }

    /// The answer to a request of the embedding program, which may do everything.
    package func answer(toProgram request: HTTPServerRequest) async -> HTTPServerAnswer {
        switch paths.find(request.method, request.path) {
        case .found(let path):
            let answer = await path.answer(request)
            if path.call.isRecorded { record(request, answer, by: "program", isKnown: true) }
            // A program gets only the beginning of a stream.
            answer.stream?.end()
            return answer
        case .refused(let answer): return answer
        }
    }

    private func record(
        _ request: HTTPServerRequest, _ answer: HTTPServerAnswer, by caller: String, isKnown: Bool
    ) {
        // Strangers' parameters are not recorded. In a request that was not understood, a user's name may be anywhere.
        let isUnderstood = isKnown && answer.status != 400
        let isShown = isUnderstood && request.body.count <= Self.detailBytesMax
        let asked =
            request.method == "POST"
            ? try? JSONValue.parse(request.body) : Self.object(request.query)
        let names = request.path == "/forget" ? context.users.forgetful : context.users
        let query = request.query.isEmpty || request.method != "POST" ? "" : "?\(request.query)"
        context.record(
            Audit.Record(
                action: "\(request.method) \(request.path)\(isUnderstood ? query : "")",
                caller: caller, address: request.remote, status: answer.status,
                detail: isShown ? asked.map { names.recorded($0) } ?? .null : .null))
    }

    private static func object(_ query: String) -> JSONValue {
        .object(
            query.split(separator: "&").compactMap { pair in
                let parts = pair.split(separator: "=", maxSplits: 1)
                guard parts.count == 2, let value = PercentEncoding.decode(parts[1]) else {
                    return nil
                }
                return .init(String(parts[0]), .string(value))
            })
    }

    private static func plain(_ text: String, version: String = "") -> HTTPServerAnswer {
        HTTPServerAnswer(
            status: 200, headers: [Attribute("content-type", "text/plain\(version)")],
            body: Array(text.utf8))
    }

    private func metrics() async -> HTTPServerAnswer {
        await fleet.updateMetrics()
        return Self.plain(metricsText, version: "; version=0.0.4")
    }

    private func readiness() async -> HTTPServerAnswer {
        let report = await Readiness(
            context: context, lanes: lanes, sweep: sweep, sources: sources,
            isStopping: isStopping.isSet
        ).report()
        return .json(report.body, status: report.isReady ? 200 : 503)
    }

    private func fleetAnswer() async throws -> HTTPServerAnswer {
        .json(
            try await fleet.fleet().json.merging([
                "paused": .array(context.pauses.all.map(\.json))
            ]))
    }

    /// The current metrics; those of the fleet are as old as its last query.
    package var metricsText: String {
        MetricScrape(context: context, lanes: lanes, sweep: sweep, sources: sources).text()
    }
}

/// Something that becomes true once.
private final class Flag: Sendable {
    private let value = Atomic<Bool>(false)

    var isSet: Bool { value.load(ordering: .relaxed) }

    func set() { value.store(true, ordering: .relaxed) }
}
