internal import SignalboxCore
internal import SignalboxCrypto
internal import SignalboxHTTP
internal import SignalboxJSON
internal import Synchronization

/// The options of the Airship simulator.
public struct AirshipSimulatorOptions: Sendable {
    /// The project's app key.
    public var appKey = "sim-airship-app-key"
    /// The project's master secret.
    public var masterSecret = "sim-airship-secret"
    /// An access token of the project.
    public var token = "sim-airship-token"

    /// The defaults.
    public init() {}
}

/// Answers like Airship's API for pushes.
final class AirshipHandler: HTTP2ServerHandler {
    private let options: AirshipSimulatorOptions
    private let answerer: Answerer
    private let count = Mutex(0)

    init(options: AirshipSimulatorOptions, state: SimulatorState) {
        self.options = options
        answerer = Answerer(state: state, provider: "airship")
    }

    func handle(_ request: HTTP2ServerRequest, on stream: HTTP2ServerStream) {
        let body = (try? JSONValue.parse(request.body)) ?? .null
        answerer.answer(
            request, token: AirshipRules.target(of: body), body: body, on: stream,
            serve: { serve(request, body) },
            failure: { status, code in
                AirshipRefusal(status: status, code: Int64(code) ?? 0, error: "by order").answer
            })
    }

    private func serve(_ request: HTTP2ServerRequest, _ body: JSONValue) -> ProviderAnswer {
        let pair = Base64.encode(Array("\(options.appKey):\(options.masterSecret)".utf8))
        let given = request.header("authorization")
        let hasToken =
            given == "Bearer \(options.token)" && request.header("x-ua-appkey") == options.appKey
        guard given == "Basic \(pair)" || hasToken else {
            return AirshipRefusal(status: 401, code: 40101, error: "Unauthorized").answer
        }
        guard ["/api/push", "/api/push/validate"].contains(request.path) else {
            return AirshipRefusal(status: 404, code: 40400, error: "Not Found").answer
        }
        guard request.method == "POST" else {
            return AirshipRefusal(status: 405, code: 40500, error: "Method Not Allowed").answer
        }
        guard request.header("accept") == "application/vnd.urbanairship+json; version=3" else {
            return AirshipRefusal(status: 406, code: 40600, error: "Not Acceptable").answer
        }
        if let refusal = AirshipRules.refusal(of: body) { return refusal.answer }
        let isPush = request.path == "/api/push"
        let number = count.withLock { count in
            count += 1
            return count
        }
        var members: [JSONValue.Member] = [.init("ok", .bool(true))]
        if isPush {
            members += [
                .init("operation_id", .string("operation-\(number)")),
                .init("push_ids", [.string("push-\(number)")]),
            ]
        }
        return ProviderAnswer(
            status: isPush ? 202 : 200, headers: [Attribute("content-type", "application/json")],
            body: Array(JSONValue.object(members).text.utf8))
    }
}
