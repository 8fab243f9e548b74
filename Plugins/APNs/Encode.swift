import SignalboxPluginKit

/// Turns deliveries into requests; shared content is rendered once.
struct Encoder {
    private struct Key: Hashable {
        var content: UInt
        var badge: Int32?
    }

    private enum Rendered {
        case payload(Payload)
        case refused(Outcome)
    }

    private let config: Config
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
        self.config = config
        self.account = account
        self.topic = topic
        self.authorization = authorization
        self.host = host
    }

    /// Writes the request into `draft`, or returns the outcome if sending would be useless.
    mutating func encode(_ delivery: borrowing Delivery) -> Outcome? {
        guard isToken(delivery.token) else { return Reasons.local(.malformedToken) }
        switch content(of: delivery) {
        case .refused(let outcome): return outcome
        case .payload(let payload):
            write(delivery, payload)
            return nil
        }
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
        draft.appendBody(payload.bytes.span)
    }

    private mutating func content(of delivery: borrowing Delivery) -> Rendered {
        let key = Key(content: delivery.contentID, badge: delivery.badge)
        if let last, last.key == key { return last.value }
        let value: Rendered
        if let known = rendered[key] {
            value = known
        } else {
            value = render(delivery.notification(), badge: delivery.badge)
            rendered[key] = value
        }
        last = (key, value)
        return value
    }

    private func render(_ note: PushNotification, badge: Int32?) -> Rendered {
        do throws(RenderFault) {
            let payload = try Payload(
                note, badge: badge, topic: topic, usesToken: account.usesToken, host: host)
            guard account.allowed.isEmpty || account.allowed.contains(payload.topic) else {
                return .refused(Reasons.local(.topicNotInCertificate))
            }
            return .payload(payload)
        } catch {
            return .refused(Reasons.local(error))
        }
    }

    /// Hexadecimal or, for simulators, any characters that are valid in a path.
    private func isToken(_ token: Span<UInt8>) -> Bool {
        guard !token.isEmpty, token.count <= 512 else { return false }
        for index in token.indices {
            switch token[index] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
                UInt8(ascii: "A")...UInt8(ascii: "F"):
                continue
            case UInt8(ascii: "g")...UInt8(ascii: "z"), UInt8(ascii: "G")...UInt8(ascii: "Z"),
                UInt8(ascii: "-"), UInt8(ascii: "_"):
                guard config.takesAnyToken else { return false }
            default: return false
            }
        }
        return true
    }
}
