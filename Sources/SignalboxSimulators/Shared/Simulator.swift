internal import SignalboxCore
internal import SignalboxCrypto
internal import SignalboxHTTP
internal import Synchronization

/// What all providers' simulators share: a server, orders, and a list of received requests.
public final class Simulator: Sendable {
    /// `apns`, `fcm`, `hms`, `airship`, `telegram` or `provider`.
    public let provider: String
    private let server: HTTP2Server
    private let state: SimulatorState
    private let expire: @Sendable () -> Void

    init(
        provider: String, server: HTTP2Server, state: SimulatorState,
        expire: @escaping @Sendable () -> Void
    ) {
        self.provider = provider
        self.server = server
        self.state = state
        self.expire = expire
    }

    /// The listening port.
    public var port: Int { server.port }
    /// `https://127.0.0.1:port`.
    public var origin: String { "https://127.0.0.1:\(server.port)" }
    /// The number of open connections.
    public var connectionCount: Int { server.connectionCount }
    /// The number of connections accepted since the start.
    public var acceptedCount: UInt64 { server.acceptedCount }
    /// The requests received since the last `forget`.
    public var received: [ReceivedPush] { state.received }

    /// Forgets the received requests.
    public func forget() { state.forget() }

    /// Waits until `count` requests were received or the time is up. Returns the received ones.
    public func wait(for count: Int, timeoutMs: UInt64 = 120_000) async -> [ReceivedPush] {
        await state.wait(for: count, timeoutMs: timeoutMs)
    }

    /// Takes an order, which applies to later requests.
    public func take(_ order: SimulatorOrder) async throws {
        switch order {
        case .streams(let max): server.setMaxConcurrentStreams(max)
        case .closeListener(let cut): await server.closeListener(droppingConnections: cut)
        case .openListener: try await server.reopenListener()
        case .expireCredentials: expire()
        default: state.take(order)
        }
    }

    func shutdown() async { await server.shutdown() }
}

/// Treats a stream as orders and provider say, and records it.
struct Answerer: Sendable {
    let state: SimulatorState
    let provider: String

    /// `serve` makes the provider's own answer; `failure` makes one for an order.
    func answer(
        _ request: HTTP2ServerRequest, token: String, body: JSONValue, on stream: HTTP2ServerStream,
        serve: () -> ProviderAnswer, failure: (Int, String) -> ProviderAnswer
    ) {
        switch state.action(for: token) {
        case .serve: respond(serve(), request, token, body, stream)
        case .fail(let status, let reason, let retryAfter):
            var answer = failure(status, reason)
            if let retryAfter {
                answer.headers.append(Attribute("retry-after", String(retryAfter)))
            }
            respond(answer, request, token, body, stream)
        case .goAway(let reason, let isAnswered):
            let debug = JSONValue.object([.init("reason", .string(reason))]).text
            stream.goAway(includingThis: isAnswered, debugData: debug)
            if isAnswered {
                respond(serve(), request, token, body, stream)
            } else {
                note(0, "order:goaway", request, token, body)
            }
        case .refuse:
            note(0, "order:refuse", request, token, body)
            stream.refuse()
        case .reset:
            note(0, "order:reset", request, token, body)
            stream.reset()
        case .stall: note(0, "order:stall", request, token, body)
        case .cut:
            note(0, "order:cut", request, token, body)
            stream.dropConnection()
        }
    }

    private func respond(
        _ answer: ProviderAnswer, _ request: HTTP2ServerRequest, _ token: String,
        _ body: JSONValue, _ stream: HTTP2ServerStream
    ) {
        note(answer.status, answer.reason, request, token, body)
        let delay = state.delayMs
        if delay > 0 {
            stream.respond(
                afterMs: delay, status: answer.status, headers: answer.headers, body: answer.body)
        } else {
            stream.respond(status: answer.status, headers: answer.headers, body: answer.body)
        }
    }

    private func note(
        _ status: Int, _ reason: String, _ request: HTTP2ServerRequest, _ token: String,
        _ body: JSONValue
    ) {
        let certificate = try? Certificate.read(der: request.clientCertificate)
        state.add(
            ReceivedPush(
                provider: provider, number: 0, token: token, path: request.path,
                headers: request.headers.filter { $0.key != "authorization" }, body: body,
                connection: request.connection,
                clientCertificate: certificate?.subject ?? "", status: status, reason: reason,
                unixMs: 0))
    }
}

/// A provider's answer.
struct ProviderAnswer {
    var status: Int
    var reason = ""
    var headers: [Attribute] = []
    var body: [UInt8] = []
}
