internal import SignalboxCore
internal import SignalboxCrypto
internal import SignalboxHTTP
internal import SignalboxJSON
internal import Synchronization

/// The broadcast channels of apps, as Apple's management API makes and deletes them.
final class APNsChannels: Sendable {
    typealias Fault = (status: Int, reason: String)

    private struct Channel {
        var bundle: String
        /// `message-storage-policy`: 1 keeps the newest message.
        var policy: Int64
    }

    /// Channels of an app.
    private static let most = 10_000

    private let channels = Mutex<[String: Channel]>([:])
    /// Also takes channels that were not made here.
    private let takesAny: Bool

    init(takesAny: Bool) { self.takesAny = takesAny }

    /// What Apple refuses about a broadcast to `/4/broadcasts/apps/BUNDLE`.
    func fault(inBroadcast request: HTTP2ServerRequest, bundle: String) -> Fault? {
        guard let type = request.header("apns-push-type") else { return (400, "MissingPushType") }
        guard type == "liveactivity" else { return (400, "InvalidPushType") }
        guard let expiration = request.header("apns-expiration").flatMap({ UInt64($0) }) else {
            return (400, "BadExpirationDate")
        }
        guard ["1", "5", "10"].contains(request.header("apns-priority") ?? "") else {
            return (400, "BadPriority")
        }
        guard let id = request.header("apns-channel-id") else { return (400, "MissingChannelId") }
        guard Base64.decode(id) != nil, !id.isEmpty else { return (400, "BadChannelId") }
        guard let channel = channels.withLock({ $0[id] }), channel.bundle == bundle else {
            return takesAny ? nil : (400, "ChannelNotRegistered")
        }
        return channel.policy == 0 && expiration != 0 ? (400, "BadExpirationDate") : nil
    }

    /// Answers a request to `/1/apps/BUNDLE/channels` or `all-channels`.
    func manage(_ request: HTTP2ServerRequest, bundle: String, isAll: Bool) -> ProviderAnswer {
        let given = request.header("apns-channel-id")
        switch (request.method, isAll) {
        case ("POST", false): return made(request, bundle)
        case ("GET", true):
            let own = channels.withLock { all in
                all.filter { $0.value.bundle == bundle }.keys.sorted()
            }
            return json(200, ["channels": .array(own.map { .string($0) })])
        case ("GET", false), ("DELETE", false):
            guard let given else { return refusal(400, "MissingChannelId") }
            let found = channels.withLock { all -> Channel? in
                guard let found = all[given], found.bundle == bundle else { return nil }
                if request.method == "DELETE" { all[given] = nil }
                return found
            }
            guard let found else { return refusal(400, "ChannelNotRegistered") }
            guard request.method == "GET" else { return ProviderAnswer(status: 204) }
            return json(
                200,
                ["message-storage-policy": .integer(found.policy), "push-type": "LiveActivity"])
        default: return refusal(405, "MethodNotAllowed")
        }
    }

    private func made(_ request: HTTP2ServerRequest, _ bundle: String) -> ProviderAnswer {
        guard let body = try? JSONValue.parse(request.body) else {
            return refusal(400, "BadRequestPayload")
        }
        guard let policy = body["message-storage-policy"]?.integer, [0, 1].contains(policy) else {
            return refusal(400, "BadRequestParams")
        }
        guard body["push-type"]?.string == "LiveActivity" else {
            return refusal(400, "InvalidPushType")
        }
        let id = Base64.encode((0..<16).map { _ in UInt8.random(in: .min ... .max) })
        let isMade = channels.withLock { all in
            guard all.values.count(where: { $0.bundle == bundle }) < Self.most else { return false }
            all[id] = Channel(bundle: bundle, policy: policy)
            return true
        }
        guard isMade else { return refusal(400, "CannotCreateChannelConfig") }
        return ProviderAnswer(status: 201, headers: [Attribute("apns-channel-id", id)])
    }

    private func json(_ status: Int, _ body: JSONValue) -> ProviderAnswer {
        ProviderAnswer(status: status, body: Array(body.text.utf8))
    }

    private func refusal(_ status: Int, _ reason: String) -> ProviderAnswer {
        var answer = json(status, ["reason": .string(reason)])
        answer.reason = reason
        return answer
    }
}
