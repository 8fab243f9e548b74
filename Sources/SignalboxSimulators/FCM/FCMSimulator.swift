internal import SignalboxCore
internal import SignalboxCrypto
internal import SignalboxHTTP
internal import SignalboxJSON
internal import Synchronization

/// The options of the FCM simulator.
public struct FCMSimulatorOptions: Sendable {
    /// The Firebase project.
    public var projectID = "signalbox-sim"
    /// The account that requests access tokens.
    public var clientEmail = "gateway@signalbox-sim.iam.gserviceaccount.com"
    /// The id of the service account's key.
    public var keyID = "sim-key-1"
    /// Lifetime of an access token, in seconds.
    public var tokenSeconds = 3599

    /// The defaults.
    public init() {}
}

/// Answers like FCM, and at `/token` like Google's token endpoint.
final class FCMHandler: HTTP2ServerHandler {
    private struct State {
        /// Access tokens with their expiry, in Unix milliseconds.
        var tokens: [String: UInt64] = [:]
        var messages = 0
        var granted = 0
        var origin = ""
    }

    private let options: FCMSimulatorOptions
    private let key: VerifyingKey
    private let answerer: Answerer
    private let clock: @Sendable () -> UInt64
    private let state = Mutex(State())

    init(
        options: FCMSimulatorOptions, key: VerifyingKey, state: SimulatorState,
        clock: @escaping @Sendable () -> UInt64
    ) {
        self.clock = clock
        self.options = options
        self.key = key
        answerer = Answerer(state: state, provider: "fcm")
    }

    /// Sets the simulator's origin, which is known once the server listens.
    func set(origin: String) { state.withLock { $0.origin = origin } }

    /// The number of access tokens issued.
    var grantedCount: Int { state.withLock { $0.granted } }

    /// Rejects all earlier access tokens.
    func expire() { state.withLock { $0.tokens = [:] } }

    func handle(_ request: HTTP2ServerRequest, on stream: HTTP2ServerStream) {
        if request.path == "/token" {
            let (status, body) = grant(request)
            stream.respond(
                status: status, headers: [Attribute("content-type", "application/json")],
                body: Array(body.text.utf8))
            return
        }
        let body = (try? JSONValue.parse(request.body)) ?? .null
        let message = body["message"]
        let token =
            message?["token"]?.string ?? message?["topic"]?.string.map { "topic:\($0)" }
            ?? message?["condition"]?.string.map { "condition:\($0)" } ?? ""
        answerer.answer(
            request, token: token, body: body, on: stream, serve: { serve(request, body) },
            failure: { status, code in
                FCMError(status: status, code: code, message: "by order").answer
            })
    }

    private func serve(_ request: HTTP2ServerRequest, _ body: JSONValue) -> ProviderAnswer {
        let bearer = request.header("authorization") ?? ""
        let now = clock()
        let isKnown = state.withLock { state in
            bearer.hasPrefix("Bearer ")
                && (state.tokens[String(bearer.dropFirst(7))].map { $0 > now } ?? false)
        }
        guard isKnown else {
            return FCMError(
                status: 401, code: "", message: "Request had invalid authentication credentials."
            ).answer
        }
        guard request.method == "POST",
            request.path == "/v1/projects/\(options.projectID)/messages:send"
        else {
            return FCMError(status: 404, code: "", message: "Requested entity was not found.")
                .answer
        }
        if let error = FCMRules.error(in: body) { return error.answer }
        let number = state.withLock { state in
            state.messages += 1
            return state.messages
        }
        let name = "projects/\(options.projectID)/messages/\(number)"
        return ProviderAnswer(
            status: 200, headers: [Attribute("content-type", "application/json")],
            body: Array(JSONValue.object([.init("name", .string(name))]).text.utf8))
    }

    /// Answers like the token endpoint.
    private func grant(_ request: HTTP2ServerRequest) -> (Int, JSONValue) {
        func refused(_ error: String, _ words: String) -> (Int, JSONValue) {
            (
                400,
                ["error": .string(error), "error_description": .string(words)]
            )
        }
        if case .fail(let status, let reason, _) = answerer.state.action(named: "/token") {
            return (status, ["error": .string(reason)])
        }
        let form = String(decoding: request.body, as: UTF8.self).split(separator: "&")
        let grant = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"
        guard request.method == "POST", form.contains(where: { $0 == grant }) else {
            return refused("unsupported_grant_type", "Invalid grant_type")
        }
        let mark = "assertion="
        guard let text = form.first(where: { $0.hasPrefix(mark) }),
            let jwt = JWT(text.dropFirst(mark.count)), jwt.header["alg"]?.string == "RS256",
            key.verifyRS256(jwt.signature, data: jwt.signed)
        else { return refused("invalid_grant", "Invalid JWT Signature.") }
        let now = Int64(clock() / 1000)
        let origin = state.withLock { $0.origin }
        guard jwt.header["kid"]?.string == options.keyID,
            jwt.claims["iss"]?.string == options.clientEmail,
            jwt.claims["aud"]?.string == "\(origin)/token",
            jwt.claims["scope"]?.string?.contains("firebase.messaging") == true
        else { return refused("invalid_grant", "Invalid issuer, audience or scope.") }
        guard let issued = jwt.claims["iat"]?.integer, let expires = jwt.claims["exp"]?.integer,
            issued <= now + 60, expires > now, expires <= issued + 3600
        else { return refused("invalid_grant", "Invalid JWT: token must be short-lived.") }
        guard let random = try? Digest.random(16) else {
            return refused("internal_failure", "no random bytes")
        }
        let token = "sim.\(Hex.encode(random))"
        state.withLock { state in
            state.granted += 1
            state.tokens[token] = clock() + UInt64(options.tokenSeconds) * 1000
        }
        return (
            200,
            [
                "access_token": .string(token), "token_type": "Bearer",
                "expires_in": .integer(Int64(options.tokenSeconds)),
            ]
        )
    }
}
