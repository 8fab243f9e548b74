internal import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxHTTP
internal import SignalboxObservability
internal import Synchronization

/// The admin listener: `/healthz`, `/readyz`, `/metrics`, `/fleet`, `/dead`.
final class AdminService: AsyncHTTPServerHandler {
    private static let paths: Set = ["/healthz", "/readyz", "/metrics", "/fleet"]
    private let context: DispatchContext
    private let lanes: LaneTable
    private let sweep: LaneSweep
    private let dead: DeadAdmin
    private let fleet: FleetWatch
    private let isStopping = Atomic<Bool>(false)

    init(context: DispatchContext, lanes: LaneTable, sweep: LaneSweep) {
        self.context = context
        self.lanes = lanes
        self.sweep = sweep
        dead = DeadAdmin(store: context.store)
        fleet = FleetWatch(context, lanes)
    }

    /// Makes `/readyz` answer 503, so that load balancers send nothing more.
    func stopping() { isStopping.store(true, ordering: .relaxed) }

    func refusal(method: String, path: String) -> HTTPServerAnswer? {
        if path == "/dead" || path.hasPrefix("/dead/") {
            return dead.refusal(method: method, path: path)
        }
        guard Self.paths.contains(path) else {
            return Problem(404, "known: /healthz, /readyz, /metrics, /fleet, /dead").answer
        }
        guard method == "GET" || method == "HEAD" else {
            var answer = Problem(405, "this path takes GET").answer
            answer.headers.append(Attribute("allow", "GET, HEAD"))
            return answer
        }
        return nil
    }

    func answer(_ request: HTTPServerRequest) async -> HTTPServerAnswer {
        if let refusal = context.live.now.admin.refusal(request) { return refusal }
        if request.path.hasPrefix("/dead") { return await dead.answer(request) }
        var answer: HTTPServerAnswer
        switch request.path {
        case "/healthz":
            answer = HTTPServerAnswer(
                status: 200, headers: [Attribute("content-type", "text/plain")],
                body: Array("ok\n".utf8))
        case "/readyz": answer = await readiness()
        case "/fleet": answer = await fleetAnswer()
        default:
            await fleet.updateMetrics()
            answer = HTTPServerAnswer(
                status: 200, headers: [Attribute("content-type", "text/plain; version=0.0.4")],
                body: Array(metricsText.utf8))
        }
        if request.method == "HEAD" { answer.body = [] }
        return answer
    }

    private func fleetAnswer() async -> HTTPServerAnswer {
        do {
            return .json(try await fleet.fleet().json)
        } catch {
            return Problem(503, "\(error)").answer
        }
    }

    /// The current metrics; those of the fleet are as old as the last answer that needed them.
    var metricsText: String {
        let metrics = context.metrics
        for lane in lanes.all { metrics.inMemory(lane.key, count: lane.count) }
        metrics.waiting(context.store.waitingCount)
        metrics.storeFailing(context.store.isFailing)
        metrics.nameTaken(context.store.stop == .nameTaken)
        metrics.store(context.store.figures)
        for sender in context.outcomes.senders {
            metrics.outcomesWaiting(sender.name, count: sender.waitingCount)
        }
        return metrics.registry.text
    }

    private static func members(_ key: LaneKey, _ state: String) -> [JSONValue.Member] {
        [
            .init("sender", .string(key.name)), .init("app", .string(key.app)),
            .init("state", .string(state)),
        ]
    }

    /// Ready as long as webhooks are accepted. A provider that is down or refuses a key is reported as `degraded`,
    /// and webhooks still come in, since their pushes wait on disk.
    private func readiness() async -> HTTPServerAnswer {
        let isStopping = isStopping.load(ordering: .relaxed)
        let store = context.store
        let isDiskFull = store.isDiskFull
        var senders: [JSONValue] = []
        var isDegraded = false
        for lane in lanes.all.sorted(by: {
            $0.key < $1.key
        }) {
            let status = await lane.carrier.connections()
            let held = lane.hold
            let cause = held?.cause
            let isFailing = status.isFailing || cause == .down
            let state =
                isFailing
                ? "failing" : cause?.rawValue ?? (status.readyCount > 0 ? "connected" : "idle")
            if isFailing || cause != nil { isDegraded = true }
            var members = Self.members(lane.key, state)
            if let held {
                members.append(.init("reason", .string(held.reason)))
                members.append(
                    .init("held_since_unix_ms", .integer(Int64(clamping: held.sinceUnixMs))))
            }
            members.append(.init("connections", .integer(Int64(status.readyCount))))
            members.append(.init("in_memory", .integer(Int64(lane.count))))
            senders.append(.object(members))
        }
        // A plugin that a reload took away cannot start either, but that is not its fault.
        let instances = context.live.now.instances
        let refusals = lanes.refusals
        for (key, reason) in refusals where instances.serves(key) {
            isDegraded = true
            senders.append(
                .object(Self.members(key, "cannot_start") + [.init("reason", .string(reason))]))
        }
        let orphans = sweep.waitingOrphans.union(
            refusals.keys.filter { !instances.serves($0) })
        for key in orphans.sorted() {
            isDegraded = true
            senders.append(.object(Self.members(key, "not_configured")))
        }
        let receivers = context.outcomes.senders
        if receivers.contains(where: { $0.hold != nil }) { isDegraded = true }
        let isFileGone = store.isFileGone
        let isFailing = store.isFailing
        let stop = store.stop
        let status =
            if isStopping {
                "stopping"
            } else if isFileGone {
                "database_gone"
            } else if let stop {
                stop.rawValue
            } else if isDiskFull {
                "disk_full"
            } else {
                isDegraded || isFailing ? "degraded" : "ready"
            }
        let words =
            store.trouble ?? "writes to the database fail: the log says why (store failed to write)"
        let reason: [JSONValue.Member] = isFailing ? [.init("reason", .string(words))] : []
        let body = JSONValue.object(
            [.init("status", .string(status))] + reason + [
                .init("gateway", .string(context.machinery.name)),
                .init("waiting", .integer(Int64(store.waitingCount))),
                .init("senders", .array(senders)),
                .init("outcomes", .array(receivers.map(\.readiness))),
            ])
        let isReady = !isStopping && !isFileGone && !isDiskFull && stop == nil
        return .json(body, status: isReady ? 200 : 503)
    }
}
