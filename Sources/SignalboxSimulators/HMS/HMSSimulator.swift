internal import SignalboxCore
internal import SignalboxCrypto
internal import SignalboxHTTP
internal import SignalboxJSON
internal import Synchronization

/// The options of the HMS simulator.
public struct HMSSimulatorOptions: Sendable {
    /// The OAuth client, whose app has this id in API v1.
    public var clientID = "100000001"
    /// The client's secret.
    public var clientSecret = "sim-hms-secret"
    /// The project of API v2 and v3.
    public var projectID = "200000002"
    /// The service account of API v3.
    public var subAccount = "300000003"
    /// The id of the service account's key.
    public var keyID = "sim-hms-key"
    /// Lifetime of an access token, in seconds.
    public var tokenSeconds = 3600

    /// The defaults.
    public init() {}
}

/// Answers like Huawei Push Kit v1, v2 and v3, and at `/oauth2/v3/token` like Huawei's token endpoint.
final class HMSHandler: HTTP2ServerHandler {
    static let tokenPath = "/oauth2/v3/token"

    private struct State {
        /// Access tokens with their expiry, in Unix milliseconds.
        var tokens: [String: UInt64] = [:]
        var requests = 0
        /// Signed tokens that were issued before this time are expired, in Unix seconds.
        var issuedSince: Int64 = 0
    }

    private let options: HMSSimulatorOptions
    private let key: VerifyingKey
    private let answerer: Answerer
    private let clock: @Sendable () -> UInt64
    private let state = Mutex(State())

    init(
        options: HMSSimulatorOptions, key: VerifyingKey, state: SimulatorState,
        clock: @escaping @Sendable () -> UInt64
    ) {
        self.options = options
        self.key = key
        self.clock = clock
        answerer = Answerer(state: state, provider: "hms")
    }

    /// Makes all earlier access tokens expired.
    func expire() {
        state.withLock { state in
            for token in state.tokens.keys { state.tokens[token] = 0 }
            // Tokens say whole seconds: one of this second is old, too.
            state.issuedSince = Int64(clock() / 1000) + 1
        }
    }

    func handle(_ request: HTTP2ServerRequest, on stream: HTTP2ServerStream) {
        if request.path == Self.tokenPath {
            let (status, body) = grant(request)
            stream.respond(
                status: status, headers: [Attribute("content-type", "application/json")],
                body: Array(body.text.utf8))
            return
        }
        let body = (try? JSONValue.parse(request.body)) ?? .null
        let token = (body["message"] ?? body["target"])?["token"]?[0]?.string ?? ""
        answerer.answer(
            request, token: token, body: body, on: stream,
            serve: { serve(request, body).answer(number()) },
            failure: { status, code in
                HMSAnswer(status: status, code: code, message: "by order").answer(number())
            })
    }

    private func number() -> Int {
        state.withLock { state in
            state.requests += 1
            return state.requests
        }
    }

    private func serve(_ request: HTTP2ServerRequest, _ body: JSONValue) -> HMSAnswer {
        let paths = [options.clientID, options.projectID, options.projectID].enumerated().map {
            "/v\($0.offset + 1)/\($0.element)/messages:send"
        }
        guard request.method == "POST", let version = paths.firstIndex(of: request.path) else {
            return HMSAnswer(status: 404, code: "", message: "Not Found")
        }
        if version == 2 {
            return signedError(request)
                ?? HMSScenarioRules.error(
                    in: body, type: request.header("push-type"), bytes: request.body.count)
                ?? HMSAnswer(status: 200, code: "80000000", message: "Success")
        }
        let bearer = request.header("authorization") ?? ""
        let expiry = state.withLock { state in
            bearer.hasPrefix("Bearer ") ? state.tokens[String(bearer.dropFirst(7))] : nil
        }
        guard let expiry else {
            return HMSAnswer(status: 401, code: "80200001", message: "Oauth authentication error")
        }
        guard expiry > clock() else {
            return HMSAnswer(status: 401, code: "80200003", message: "Oauth Token expired")
        }
        return HMSRules.error(in: body, bytes: request.body.count)
            ?? HMSAnswer(status: 200, code: "80000000", message: "Success")
    }

    /// What is wrong with the signed token of a request by API v3.
    private func signedError(_ request: HTTP2ServerRequest) -> HMSAnswer? {
        let now = Int64(clock() / 1000)
        guard let bearer = request.header("authorization"), bearer.hasPrefix("Bearer "),
            let jwt = JWT(bearer.dropFirst(7)), jwt.header["alg"]?.string == "PS256",
            jwt.header["kid"]?.string == options.keyID,
            jwt.claims["iss"]?.string == options.subAccount,
            jwt.claims["aud"]?.string == "https://oauth-login.cloud.huawei.com/oauth2/v3/token",
            key.verifyPS256(jwt.signature, data: jwt.signed),
            let issued = jwt.claims["iat"]?.integer, let expires = jwt.claims["exp"]?.integer,
            issued <= now + 60, expires <= issued + 3600
        else {
            return HMSAnswer(status: 401, code: "80200001", message: "JWT authentication error")
        }
        guard expires > now, issued >= state.withLock({ $0.issuedSince }) else {
            return HMSAnswer(status: 401, code: "80200005", message: "JWT expired")
        }
        return nil
    }

    /// Answers like the token endpoint.
    private func grant(_ request: HTTP2ServerRequest) -> (Int, JSONValue) {
        func refused(_ error: Int64, _ detail: Int64, _ words: String) -> (Int, JSONValue) {
            (
                400,
                [
                    "error": .integer(error), "sub_error": .integer(detail),
                    "error_description": .string(words),
                ]
            )
        }
        if case .fail(let status, let reason, _) = answerer.state.action(named: Self.tokenPath) {
            return (status, ["error": .string(reason)])
        }
        let form = Set(String(decoding: request.body, as: UTF8.self).split(separator: "&"))
        guard request.method == "POST", form.contains("grant_type=client_credentials") else {
            return refused(1101, 20_151, "invalid grant_type")
        }
        guard form.contains("client_id=\(options.clientID)"[...]) else {
            return refused(1101, 20_044, "invalid client_id")
        }
        guard form.contains("client_secret=\(options.clientSecret)"[...]) else {
            return refused(1101, 20_043, "invalid client_secret")
        }
        guard let random = try? Digest.random(16) else {
            return refused(1301, 0, "no random bytes")
        }
        // As Huawei's tokens: characters that JSON and URLs may escape.
        let token = "sim/\(Hex.encode(random))=="
        state.withLock { state in
            state.tokens[token] = clock() + UInt64(options.tokenSeconds) * 1000
        }
        return (
            200,
            [
                "access_token": .string(token), "expires_in": .integer(Int64(options.tokenSeconds)),
                "token_type": "Bearer",
            ]
        )
    }
}
