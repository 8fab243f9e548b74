import SignalboxPluginKit

/// The paths under which a backend manages the broadcast channels of the instance's apps; Apple keeps them.
struct Channels: Sendable {
    private static let timeoutMs: UInt32 = 10_000

    let path: String
    /// Name of the secret.
    private let bearer: String
    let endpoint: String

    init(_ keys: Keys) {
        path = keys.text(
            "path", bytes: ...256, pattern: "^(/[A-Za-z0-9._~-]+)+$",
            "such as /apns/channels; below it are /{app} and /{app}/{channel}")
        bearer = keys.secret(
            "bearer", bytes: 16..., isRequired: true,
            "what your backend sends as Authorization: Bearer")
        endpoint = keys.endpoint("", "another origin than Apple's api-manage-broadcast")
    }

    private var all: String { "\(path)/{app}" }
    private var one: String { "\(path)/{app}/{channel}" }

    var paths: [IngestPath] {
        [
            IngestPath(all, methods: ["GET", "POST"]), IngestPath(one, methods: ["GET", "DELETE"]),
        ]
    }

    /// Passes the request to Apple and Apple's answer to the caller.
    func handle(
        _ request: borrowing Request, _ sink: borrowing IngestSink, config: Config, host: Host
    ) throws(PluginError) {
        let given = request.header("authorization") ?? ""
        let isBearer = given.lowercased().hasPrefix("bearer ")
        let isKnown = try host.secretEquals(
            bearer, isBearer ? String(given.dropFirst("bearer ".count)) : "")
        guard isKnown else { throw PluginError(.auth, "the bearer token is not channels.bearer") }
        let app = request.param("app") ?? ""
        guard let account = config.account(for: app) else {
            throw PluginError(.notFound, "\"\(app)\" is neither topic nor one of topics")
        }
        guard account.usesToken else {
            throw PluginError(.invalid, "channels need a key; \"\(app)\" has a certificate")
        }
        var call = HTTPCall(request.method, origin(account))
        call.url += "/1/apps/\(app)/"
        call.url += request.pattern == all && request.method == "GET" ? "all-channels" : "channels"
        call.headers = [("authorization", "bearer " + (try host.credential(account.providerToken)))]
        if request.pattern == one {
            let channel = request.param("channel") ?? ""
            guard Audience.isChannelID(channel) else {
                throw PluginError(.invalid, "the channel's id is not base64")
            }
            call.headers.append(("apns-channel-id", channel))
        }
        if request.method == "POST" {
            let policy = try Self.storagePolicy(request, account, host)
            call.headers.append(("content-type", "application/json"))
            call.body = Array(
                #"{"message-storage-policy":\#(policy),"push-type":"LiveActivity"}"#.utf8)
        }
        call.caFile = config.connections.caFile
        call.timeoutMs = Self.timeoutMs
        try send(call, try sink.deferred(timeoutMs: Self.timeoutMs + 5_000), host)
    }

    private func origin(_ account: Account) -> String {
        guard endpoint.isEmpty else { return endpoint }
        return account.keys.isProduction
            ? "https://api-manage-broadcast.push.apple.com:2196"
            : "https://api-manage-broadcast.sandbox.push.apple.com:2195"
    }

    /// What a message to a device that is away becomes: 0: nothing, 1: the newest is kept.
    private static func storagePolicy(
        _ request: borrowing Request, _ account: Account, _ host: Host
    ) throws(PluginError) -> Int {
        guard !request.bodyBytes.isEmpty else { return account.keys.channelsStore ? 1 : 0 }
        switch try host.parse(bodyOf: request)["storage"]?.string {
        case nil: return account.keys.channelsStore ? 1 : 0
        case "none": return 0
        case "most_recent": return 1
        default: throw PluginError(.invalid, "storage must be none or most_recent")
        }
    }

    private func send(_ call: HTTPCall, _ open: DeferredIngest, _ host: Host) throws(PluginError) {
        host.send(call) { result in
            open.attempt { () throws(PluginError) in
                let answer = try result.mapError { PluginError(.again, $0.message) }.get()
                let (status, body) = Self.answer(answer, host)
                try open.respond(
                    status, headers: body.isEmpty ? [] : [("content-type", "application/json")],
                    body: body)
                open.finish()
            }
        }
    }

    /// Apple's refusal of our own credentials is no fault of the caller.
    private static func answer(_ answer: HTTPAnswer, _ host: Host) -> (status: Int, body: [UInt8]) {
        switch answer.status {
        case 201:
            var body = JSONWriter()
            body.object { $0.member("channel", answer.header("apns-channel-id") ?? "") }
            return (201, body.bytes)
        case 200, 204: return (answer.status, answer.body)
        case 401, 403: return (502, answer.body)
        case 400...499: return (answer.status, answer.body)
        default: return (502, answer.body)
        }
    }
}
