import SignalboxPluginKit

/// Turns deliveries into requests; shared content is rendered once, around a gap for the
/// token.
struct Encoder: DeliveryEncoder {
    private struct Key: Hashable {
        var content: UInt
        var badge: Int32?
        var deadlineUnixMs: UInt64
    }

    private typealias Rendered = Result<Message, Outcome>

    private let config: Config
    private let path: String
    private let isV3: Bool
    private let authorization: String
    private let host: Host
    private var rendered: [Key: Rendered] = [:]
    /// The request of the last encoded delivery.
    private(set) var draft = RequestDraft()
    /// Deliveries that Huawei only checks.
    private(set) var dryRuns: [UInt64] = []

    init(config: Config, account: ServiceAccount?, authorization: String, host: Host) {
        path = config.path(account)
        isV3 = account != nil
        self.config = config
        self.authorization = authorization
        self.host = host
    }

    /// Writes the request into `draft`, or returns the outcome if sending would be useless.
    mutating func encode(_ delivery: borrowing Delivery) -> Outcome? {
        guard !delivery.token.isEmpty else { return .malformedToken }
        switch content(of: delivery) {
        case .failure(let outcome): return outcome
        case .success(let message):
            if message.isDryRun { dryRuns.append(delivery.id) }
            draft.begin("POST", path: path)
            draft.header("authorization", authorization)
            draft.header("content-type", "application/json; charset=UTF-8")
            if let type = message.pushType { draft.header("push-type", type) }
            draft.appendBody(message.head.span)
            draft.appendBodyEscaped(delivery.token)
            draft.appendBody(message.tail.span)
            return nil
        }
    }

    private mutating func content(of delivery: borrowing Delivery) -> Rendered {
        let key = Key(
            content: delivery.contentID, badge: delivery.badge,
            deadlineUnixMs: delivery.deadlineUnixMs)
        if let known = rendered[key] { return known }
        let value: Rendered
        do throws(Outcome) {
            let content = delivery.notification()
            value = .success(
                !isV3
                    ? try Message(
                        content, badge: delivery.badge, deadlineUnixMs: key.deadlineUnixMs,
                        config: config, host: host)
                    : try Harmony.message(
                        content, badge: delivery.badge, deadlineUnixMs: key.deadlineUnixMs,
                        config: config, host: host))
        } catch {
            value = .failure(error)
        }
        rendered[key] = value
        return value
    }
}
