import SignalboxPluginKit
import Synchronization

/// Forwards devices of the registry to the Platform API.
enum TokenAPI {
    /// Most tokens of one type that Sendbird keeps per user; the oldest is removed first.
    static let tokensMax = 20

    /// `gcm`, `apns` or `huawei`; nil if Sendbird does not support the device.
    static func type(of device: Device) -> String? {
        switch (device.provider, device.platform) {
        case ("apns", _), ("", "ios"): "apns"
        case ("fcm", _), ("gcm", _), ("", "android"): "gcm"
        case ("hms", _), ("huawei", _), ("", "huawei"): "huawei"
        default: nil
        }
    }

    private static let field = [
        "apns": "apns_device_token", "gcm": "gcm_reg_token", "huawei": "huawei_device_token",
    ]

    static func registration(
        _ device: Device, type: String, isUnique: Bool, token: String
    ) -> RequestDraft {
        var body = JSONWriter()
        body.object { out in
            out.member(field[type] ?? "", device.token)
            if isUnique {
                out.member("is_unique", true)
            }
        }
        var draft = RequestDraft()
        draft.begin("POST", path: path(user: device.user, type: type))
        draft.header("api-token", token)
        draft.header("content-type", "application/json; charset=utf8")
        draft.appendBody(body.bytes.span)
        return draft
    }

    static func removal(_ device: Device, type: String, token: String) -> RequestDraft {
        let name = PathSegment.encode(device.token)
        let path =
            device.user.isEmpty
            ? "/v3/push/device_tokens/\(type)/\(name)"
            : path(user: device.user, type: type) + "/" + name
        var draft = RequestDraft()
        draft.begin("DELETE", path: path)
        draft.header("api-token", token)
        return draft
    }

    static func list(user: String, type: String, token: String) -> RequestDraft {
        var draft = RequestDraft()
        draft.begin("GET", path: path(user: user, type: type))
        draft.header("api-token", token)
        return draft
    }

    private static func path(user: String, type: String) -> String {
        "/v3/users/\(PathSegment.encode(user))/push/\(type)"
    }
}

extension Sendbird: RegisterPlugin {
    static var maxChanges: Int { 100 }
    static var changeKinds: Set<ChangeKind> { [.registered, .unregistered, .invalid] }

    func registerEndpoint(app: String) throws(PluginError) -> Endpoint {
        guard config.register != nil else {
            throw PluginError(.notFound, "config.register is missing, so nothing is forwarded")
        }
        var endpoint = Endpoint(origin: config.origin)
        endpoint.caFile = config.caFile
        return endpoint
    }

    func prepare(_ changes: borrowing ChangeBatch, _ sink: borrowing RequestSink)
        throws(PluginError)
    {
        guard let register = config.register else { return }
        let token = try apiToken()
        for index in 0..<changes.count {
            let change = changes[index]
            guard let type = TokenAPI.type(of: change.device),
                config.app.isEmpty || change.device.app == config.app
            else {
                try sink.settle([change.id], Outcome(.delivered, "ignored"))
                continue
            }
            switch change.kind {
            case .registered where !change.device.user.isEmpty:
                remember(change.id, .registering(user: change.device.user, type: type))
                try sink.send(
                    TokenAPI.registration(
                        change.device, type: type, isUnique: register.isUnique, token: token),
                    for: change.id)
            case .unregistered, .invalid:
                remember(change.id, .removing)
                try sink.send(
                    TokenAPI.removal(change.device, type: type, token: token), for: change.id)
            default: try sink.settle([change.id], Outcome(.delivered, "ignored"))
            }
        }
    }

    func classifyChanges(
        _ batch: borrowing ResponseBatch, _ sink: borrowing RequestSink
    ) throws(PluginError) {
        for index in 0..<batch.count {
            let response = batch[index]
            guard let item = response.items.first else { continue }
            let step = underWay.withLock { $0.removeValue(forKey: item) }
            let answer = try? host.parse(response.body)
            if case .counting(let isAtLimit) = step.map({ Self.count($0, answer) }) {
                try sink.settle([item], counted(response.status, isAtLimit: isAtLimit))
                continue
            }
            let wait = host.retryAfterMs(response)
            var isRemoval = false
            if case .removing = step { isRemoval = true }
            let outcome = Answer.outcome(
                response.status, code: answer?["code"]?.integer, isRemoval: isRemoval,
                retryAfterMs: wait)
            guard outcome.kind == .delivered, config.register?.checksLimit == true,
                case .registering(let user, let type) = step
            else {
                try sink.settle([item], outcome)
                continue
            }
            remember(item, .listing)
            try sink.send(
                TokenAPI.list(user: user, type: type, token: try apiToken()), for: item)
        }
    }

    /// The plugin does not learn of abandoned reports. Ids only grow, so these have the lowest ones.
    private func remember(_ id: UInt64, _ step: Step) {
        underWay.withLock { steps in
            steps[id] = step
            guard steps.count > 50_000 else { return }
            for old in steps.keys.sorted().prefix(10_000) { steps[old] = nil }
        }
    }

    private enum Counted {
        case counting(isAtLimit: Bool)
        case other
    }

    private static func count(_ step: Step, _ answer: JSON?) -> Counted {
        guard case .listing = step else { return .other }
        // `tokens` in current documentation, `token` in older one.
        let list = answer?["tokens"] ?? answer?["token"]
        return .counting(isAtLimit: (list?.count ?? 0) >= TokenAPI.tokensMax)
    }

    /// The token is registered regardless of the count. A full list is logged, because the next token removes
    /// the oldest.
    private func counted(_ status: Int, isAtLimit: Bool) -> Outcome {
        guard isAtLimit else { return Outcome(.delivered, "registered") }
        counters.atLimit.add()
        host.write(
            .warn, "user is at Sendbird's token limit, the next token removes the oldest",
            [("tokens", String(TokenAPI.tokensMax))])
        return Outcome(.delivered, "registered_at_limit")
    }
}
