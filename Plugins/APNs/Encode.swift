import SignalboxPluginKit

/// Turns deliveries into requests; shared content is rendered once.
struct Encoder: DeliveryEncoder {
    private struct Key: Hashable {
        var content: UInt
        var badge: Int32?
        var isBroadcast: Bool
    }

    private typealias Rendered = Result<Payload, Outcome>

    private let takesAnyToken: Bool
    private let account: Account
    private let topic: String
    private let authorization: String
    private let host: Host
    private var rendered: [Key: Rendered] = [:]
    private var last: (key: Key, value: Rendered)?
    /// The request of the last encoded delivery.
    private(set) var draft = RequestDraft()

    init(
        config: Config, account: Account, topic: String, authorization: String, host: Host
    ) {
        takesAnyToken = config.takesAnyToken
        self.account = account
        self.topic = topic
        self.authorization = authorization
        self.host = host
    }

    /// Writes the request into `draft`, or returns the outcome if sending would be useless.
    mutating func encode(_ delivery: borrowing Delivery) -> Outcome? {
        let audience = Audience(delivery.token, takesAnyToken: takesAnyToken)
        let channel: String?
        switch audience {
        case .malformed: return .malformedToken
        case .token: channel = nil
        case .channel(let id): channel = id
        }
        switch content(of: delivery, isBroadcast: channel != nil) {
        case .failure(let outcome): return outcome
        case .success(let payload):
            if let channel {
                broadcast(delivery, payload, channel: channel)
            } else {
                write(delivery, payload)
            }
            return nil
        }
    }

    /// To everybody who follows a channel: another path, another id, no topic and no collapse key.
    private mutating func broadcast(
        _ delivery: borrowing Delivery, _ payload: Payload, channel: String
    ) {
        draft.begin("POST", path: "/4/broadcasts/apps/\(topic)")
        if !authorization.isEmpty { draft.header("authorization", authorization) }
        draft.header("apns-channel-id", channel, isIndexed: false)
        draft.header("apns-push-type", payload.pushType)
        draft.header("apns-request-id", delivery.stableID, isIndexed: false)
        draft.header("apns-priority", payload.priority)
        let seconds = account.keys.channelsStore ? delivery.deadlineUnixMs / 1000 : 0
        draft.header("apns-expiration", String(seconds), isIndexed: false)
        let body = payload.bytes
        draft.appendBody(body.span)
    }

    private mutating func write(_ delivery: borrowing Delivery, _ payload: Payload) {
        draft.begin("POST", path: "/3/device/")
        draft.appendPath(delivery.token)
        if !authorization.isEmpty { draft.header("authorization", authorization) }
        draft.header("apns-topic", payload.topic)
        draft.header("apns-push-type", payload.pushType)
        draft.header("apns-id", delivery.stableID, isIndexed: false)
        draft.header("apns-priority", payload.priority)
        if delivery.deadlineUnixMs > 0 {
            let seconds = payload.expiresAtOnce ? 0 : delivery.deadlineUnixMs / 1000
            draft.header("apns-expiration", String(seconds), isIndexed: false)
        }
        if !payload.collapse.isEmpty {
            draft.header("apns-collapse-id", payload.collapse, isIndexed: false)
        }
        let body = payload.bytes
        draft.appendBody(body.span)
    }

    private mutating func content(
        of delivery: borrowing Delivery, isBroadcast: Bool
    ) -> Rendered {
        let key = Key(
            content: delivery.contentID, badge: delivery.badge, isBroadcast: isBroadcast)
        if let last, last.key == key { return last.value }
        let value: Rendered
        if let known = rendered[key] {
            value = known
        } else {
            value = render(delivery, isBroadcast: isBroadcast)
            rendered[key] = value
        }
        last = (key, value)
        return value
    }

    private func render(_ delivery: borrowing Delivery, isBroadcast: Bool) -> Rendered {
        let eventUnixMs = delivery.eventUnixMs > 0 ? delivery.eventUnixMs : host.nowUnixMs
        do throws(Outcome) {
            return .success(
                try Payload(
                    delivery.notification(), badge: delivery.badge, account: account, topic: topic,
                    isBroadcast: isBroadcast, eventUnixMs: eventUnixMs, host: host))
        } catch {
            return .failure(error)
        }
    }
}
