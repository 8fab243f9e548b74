internal import SignalboxCore
internal import SignalboxCrypto
internal import SignalboxHTTP
internal import SignalboxJSON
internal import Synchronization

/// The options of the APNs simulator.
public struct APNsSimulatorOptions: Sendable {
    /// The key's team id.
    public var teamID = "SIMTEAM001"
    /// The key's id.
    public var keyID = "SIMKEY0001"
    /// Bundle ids that the key may send to; empty: all.
    public var topics: Set<String> = []
    /// Accepts tokens that are not hexadecimal.
    public var takesAnyToken = true
    /// How often one connection may change its provider token, in milliseconds.
    public var tokenUpdateMs: UInt64 = 20 * 60_000
    /// The stream limit of a connection after its first success.
    public var streams: UInt32 = 1000

    /// The defaults.
    public init() {}
}

/// Answers like APNs: checks signature, time, topic, push type, priority and size.
final class APNsHandler: HTTP2ServerHandler {
    private struct Connection {
        var authorization: String
        var sinceMs: UInt64
        var isProven = false
    }

    private struct State {
        var connections: [UInt64: Connection] = [:]
        /// Verified tokens with their time of issue.
        var verified: [String: UInt64] = [:]
        /// Tokens issued up to this time count as expired.
        var expiredBeforeSeconds: UInt64 = 0
    }

    private let options: APNsSimulatorOptions
    private let key: VerifyingKey
    private let answerer: Answerer
    private let clock: @Sendable () -> UInt64
    private let channels: APNsChannels
    private let state = Mutex(State())

    init(
        options: APNsSimulatorOptions, key: VerifyingKey, state: SimulatorState,
        clock: @escaping @Sendable () -> UInt64
    ) {
        self.clock = clock
        self.options = options
        self.key = key
        answerer = Answerer(state: state, provider: "apns")
        channels = APNsChannels(takesAny: options.takesAnyToken)
    }

    /// Rejects all earlier provider tokens.
    func expire() {
        state.withLock { state in
            // Only a token newer than the newest one seen is accepted.
            state.expiredBeforeSeconds = state.verified.values.max() ?? 0
            state.verified = [:]
        }
    }

    func handle(_ request: HTTP2ServerRequest, on stream: HTTP2ServerStream) {
        let target = Target(request)
        let body = (try? JSONValue.parse(request.body)) ?? .null
        answerer.answer(
            request, token: target.token, body: body, on: stream,
            serve: {
                if let fault = fault(in: request, target, body: body) {
                    return answer(request, fault.status, fault.reason)
                }
                prove(request.connection, stream)
                if case .channels(let bundle, let isAll) = target {
                    return channels.manage(request, bundle: bundle, isAll: isAll)
                }
                return answer(request, 200, "")
            },
            failure: { status, reason in answer(request, status, reason) })
    }

    /// What a request's path names.
    private enum Target {
        case device(String)
        case broadcast(bundle: String, channel: String)
        /// The management of an app's channels.
        case channels(bundle: String, isAll: Bool)
        case nothing

        init(_ request: HTTP2ServerRequest) {
            let parts = request.path.split(separator: "/", omittingEmptySubsequences: false)
                .map { String($0) }
            switch (parts.count, parts.dropFirst().prefix(2).joined(separator: "/")) {
            case (4, "3/device"): self = .device(parts[3])
            case (5, "4/broadcasts") where parts[3] == "apps":
                self = .broadcast(
                    bundle: parts[4], channel: request.header("apns-channel-id") ?? "")
            case (5, "1/apps") where ["channels", "all-channels"].contains(parts[4]):
                self = .channels(bundle: parts[3], isAll: parts[4] == "all-channels")
            default: self = .nothing
            }
        }

        /// As the gateway calls it.
        var token: String {
            switch self {
            case .device(let token): token
            case .broadcast(_, let channel): "channel:\(channel)"
            case .channels, .nothing: ""
            }
        }
    }

    /// Allows one stream until a request with a valid token has succeeded, then many.
    private func prove(_ connection: UInt64, _ stream: HTTP2ServerStream) {
        let isFirst = state.withLock { state in
            guard state.connections[connection]?.isProven == false else { return false }
            state.connections[connection]?.isProven = true
            return true
        }
        if isFirst { stream.setMaxConcurrentStreams(options.streams) }
    }

    private func answer(
        _ request: HTTP2ServerRequest, _ status: Int, _ reason: String
    ) -> ProviderAnswer {
        let id = request.header("apns-id") ?? "00000000-0000-4000-8000-000000000000"
        guard status != 200 else {
            return ProviderAnswer(status: 200, headers: [Attribute("apns-id", id)])
        }
        var members = [JSONValue.Member("reason", .string(reason))]
        if status == 410 {
            members.append(.init("timestamp", .integer(Int64(clock()))))
        }
        return ProviderAnswer(
            status: status, reason: reason, headers: [Attribute("apns-id", id)],
            body: Array(JSONValue.object(members).text.utf8))
    }

    private typealias Fault = (status: Int, reason: String)

    private func fault(
        in request: HTTP2ServerRequest, _ target: Target, body: JSONValue
    ) -> Fault? {
        switch target {
        case .nothing: return (404, "BadPath")
        case .channels: return authorizationFault(request)
        case .device(let token):
            guard request.method == "POST" else { return (405, "MethodNotAllowed") }
            guard !token.isEmpty else { return (400, "MissingDeviceToken") }
            if let fault = authorizationFault(request) { return fault }
            if let fault = APNsRules.fault(in: request, topics: options.topics) { return fault }
            guard options.takesAnyToken || token.allSatisfy(\.isHexDigit) else {
                return (400, "BadDeviceToken")
            }
            let isVoIP = request.header("apns-push-type") == "voip"
            return bodyFault(request, body, bytesMax: isVoIP ? 5120 : 4096)
        case .broadcast(let bundle, _):
            guard request.method == "POST" else { return (405, "MethodNotAllowed") }
            if let fault = authorizationFault(request) { return fault }
            guard options.topics.isEmpty || options.topics.contains(bundle) else {
                return (400, "TopicDisallowed")
            }
            if let fault = channels.fault(inBroadcast: request, bundle: bundle) { return fault }
            return bodyFault(request, body, bytesMax: 5120)
        }
    }

    private func bodyFault(
        _ request: HTTP2ServerRequest, _ body: JSONValue, bytesMax: Int
    ) -> Fault? {
        guard !request.body.isEmpty else { return (400, "PayloadEmpty") }
        guard request.body.count <= bytesMax else { return (413, "PayloadTooLarge") }
        // Apple names no reason for this case.
        guard case .object = body else { return (400, "BadPayload") }
        return nil
    }

    private func authorizationFault(_ request: HTTP2ServerRequest) -> Fault? {
        guard let authorization = request.header("authorization") else {
            if !request.clientCertificate.isEmpty { return nil }
            return (403, "MissingProviderToken")
        }
        guard authorization.hasPrefix("bearer ") else { return (403, "InvalidProviderToken") }
        let known = state.withLock { $0.verified[authorization] }
        guard let issued = known ?? verified(String(authorization.dropFirst(7))) else {
            return (403, "InvalidProviderToken")
        }
        let now = clock()
        guard issued <= now / 1000 + 60 else { return (403, "InvalidProviderToken") }
        return state.withLock { state in
            guard issued + 3600 > now / 1000, issued > state.expiredBeforeSeconds else {
                return (403, "ExpiredProviderToken")
            }
            state.verified[authorization] = issued
            guard let before = state.connections[request.connection] else {
                state.connections[request.connection] = Connection(
                    authorization: authorization, sinceMs: now)
                return nil
            }
            if before.authorization != authorization {
                guard now >= before.sinceMs + options.tokenUpdateMs else {
                    return (429, "TooManyProviderTokenUpdates")
                }
                state.connections[request.connection]?.authorization = authorization
                state.connections[request.connection]?.sinceMs = now
            }
            return nil
        }
    }

    /// When a valid token was issued, in seconds; nil if its signature or its names are wrong.
    private func verified(_ text: String) -> UInt64? {
        guard let jwt = JWT(text), jwt.header["alg"]?.string == "ES256",
            jwt.header["kid"]?.string == options.keyID,
            jwt.claims["iss"]?.string == options.teamID, let issued = jwt.claims["iat"]?.integer,
            key.verifyES256(jwt.signature, data: jwt.signed)
        else { return nil }
        return UInt64(clamping: issued)
    }
}
