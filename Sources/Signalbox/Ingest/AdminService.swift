internal import SignalboxCore
internal import SignalboxHTTP
internal import SignalboxObservability
internal import Synchronization

/// The admin listener: `/healthz`, `/readyz`, `/metrics`.
final class AdminService: HTTPServerHandler {
    private static let paths: Set = ["/healthz", "/readyz", "/metrics"]
    private let lanes: LaneTable
    private let metrics: GatewayMetrics
    private let isStopping = Atomic<Bool>(false)

    init(lanes: LaneTable, metrics: GatewayMetrics) {
        self.lanes = lanes
        self.metrics = metrics
    }

    /// From now on `/readyz` answers 503, so that load balancers send nothing more.
    func stopping() { isStopping.store(true, ordering: .relaxed) }

    func refusal(method: String, path: String) -> HTTPServerAnswer? {
        guard Self.paths.contains(path) else {
            return Problem(404, "known: /healthz, /readyz, /metrics").answer
        }
        guard method == "GET" || method == "HEAD" else {
            var answer = Problem(405, "this path takes GET").answer
            answer.headers.append(Attribute("allow", "GET, HEAD"))
            return answer
        }
        return nil
    }

    func answer(_ request: HTTPServerRequest) async -> HTTPServerAnswer {
        var answer: HTTPServerAnswer
        switch request.path {
        case "/healthz":
            answer = HTTPServerAnswer(
                status: 200, headers: [Attribute("content-type", "text/plain")],
                body: Array("ok\n".utf8))
        case "/readyz": answer = await readiness()
        default:
            for lane in lanes.all {
                metrics.waiting(sender: lane.sender, app: lane.app, count: lane.count)
            }
            answer = HTTPServerAnswer(
                status: 200, headers: [Attribute("content-type", "text/plain; version=0.0.4")],
                body: Array(metrics.registry.text.utf8))
        }
        if request.method == "HEAD" { answer.body = [] }
        return answer
    }

    /// Ready as long as webhooks are taken: a provider that is down is reported here, but must not
    /// keep webhooks away.
    private func readiness() async -> HTTPServerAnswer {
        let isStopping = isStopping.load(ordering: .relaxed)
        var senders: [JSONValue] = []
        for lane in lanes.all.sorted(by: { ($0.sender, $0.app) < ($1.sender, $1.app) }) {
            let status = await lane.status()
            let state = status.isFailing ? "failing" : status.ready > 0 ? "connected" : "idle"
            senders.append(
                .object([
                    .init("sender", .string(lane.sender)), .init("app", .string(lane.app)),
                    .init("state", .string(state)),
                    .init("connections", .integer(Int64(status.ready))),
                    .init("waiting", .integer(Int64(lane.count))),
                ]))
        }
        let body = JSONValue.object([
            .init("status", .string(isStopping ? "stopping" : "ready")),
            .init("senders", .array(senders)),
        ])
        return HTTPServerAnswer(
            status: isStopping ? 503 : 200,
            headers: [Attribute("content-type", "application/json")],
            body: Array((body.text + "\n").utf8))
    }
}
