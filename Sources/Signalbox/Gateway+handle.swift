internal import SignalboxAdmin
public import SignalboxCore
internal import SignalboxHTTP

/// An HTTP request received by the program's own server.
public struct GatewayRequest: Sendable {
    /// `POST`.
    public var method: String
    /// Without the query.
    public var path: String
    /// The part after the `?`; may be empty.
    public var query = ""
    /// Names in lower case.
    public var headers: [Attribute]
    /// Raw bytes, as needed to check signatures.
    public var body: [UInt8]
    /// The peer's address; may be empty.
    public var remote = ""

    /// Makes a request.
    public init(
        method: String, path: String, headers: [Attribute] = [], body: [UInt8] = []
    ) {
        self.method = method
        self.path = path
        self.headers = headers
        self.body = body
    }
}

/// The answer to a `GatewayRequest`.
public struct GatewayAnswer: Sendable {
    /// 200, 401, ...
    public let status: Int
    /// Names in lower case.
    public let headers: [Attribute]
    /// May be empty.
    public let body: [UInt8]
}

extension Gateway {
    /// Answers a request as the gateway's own listener would: webhooks of plugins and `/v1/devices`. A 2xx means that
    /// the request's events are on disk.
    public func handle(_ request: GatewayRequest) async -> GatewayAnswer {
        let answer = await httpAnswer(request)
        return GatewayAnswer(status: answer.status, headers: answer.headers, body: answer.body)
    }

    private func httpAnswer(_ request: GatewayRequest) async -> HTTPServerAnswer {
        guard isTaking else { return Problem.busy("the gateway is stopping") }
        if let refusal = ingestService.refusal(method: request.method, path: request.path) {
            return refusal
        }
        let most = HTTPServerOptions(host: "", port: 0).bodyBytesMax
        guard request.body.count <= most else {
            return Problem(413, "the body is over \(most) bytes").answer
        }
        let inbound = HTTPServerRequest(
            method: request.method, path: request.path, query: request.query,
            headers: request.headers, body: request.body, remote: request.remote)
        return await withCheckedContinuation { continuation in
            ingestService.answer(inbound) { continuation.resume(returning: $0) }
        }
    }

    /// Answers a request as the admin listener would, even without one: `GET /trace`, `POST /pause`.
    ///
    /// Ignores headers and needs no token; changes are audited as "program".
    public func admin(_ request: GatewayRequest) async -> GatewayAnswer {
        let answer = await adminService.answer(
            toProgram: HTTPServerRequest(
                method: request.method, path: request.path, query: request.query,
                headers: request.headers, body: request.body, remote: ""))
        return GatewayAnswer(status: answer.status, headers: answer.headers, body: answer.body)
    }

    /// The current metrics, in the text format of Prometheus.
    public var metricsText: String { adminService.metricsText }

    /// Deliveries that wait or are in progress.
    public var waitingCount: Int { engine.context.store.waitingCount }
}
