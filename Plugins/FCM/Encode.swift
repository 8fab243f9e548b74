import SignalboxPluginKit

/// Turns deliveries into requests; shared content is rendered once, around a gap for the
/// token.
struct Encoder: DeliveryEncoder {
    private struct Key: Hashable {
        var content: UInt
        var badge: Int32?
        var platform: String
        var deadlineUnixMs: UInt64
    }

    private typealias Rendered = Result<Message, Outcome>

    private let config: Config
    private let path: String
    private let authorization: String
    private let host: Host
    private var rendered: [Key: Rendered] = [:]
    /// The request of the last encoded delivery.
    private(set) var draft = RequestDraft()

    init(config: Config, projectID: String, authorization: String, host: Host) {
        self.config = config
        self.authorization = authorization
        self.host = host
        path = "/v1/projects/\(projectID)/messages:send"
    }

    /// Writes the request into `draft`, or returns the outcome if sending would be useless.
    mutating func encode(_ delivery: borrowing Delivery) -> Outcome? {
        guard !delivery.token.isEmpty else { return .malformedToken }
        switch content(of: delivery) {
        case .failure(let outcome): return outcome
        case .success(let message):
            draft.begin("POST", path: path)
            draft.header("authorization", authorization)
            draft.header("content-type", "application/json")
            draft.header("x-goog-api-format-version", "2")
            switch Audience(delivery.token) {
            case .malformed: return .malformedToken
            case .token:
                draft.appendBody(message.head.span)
                draft.appendBodyEscaped(delivery.token)
            case .topic(let name): append("topic", name, message)
            case .condition(let words): append("condition", words, message)
            }
            draft.appendBody(message.tail.span)
            return nil
        }
    }

    /// Names another audience than a token.
    private mutating func append(_ key: String, _ value: String, _ message: Message) {
        draft.appendBody(Array(message.head.dropLast(Message.tokenKey.utf8.count)).span)
        draft.appendBody(Array("\"\(key)\":\"".utf8).span)
        draft.appendBodyEscaped(Array(value.utf8).span)
        // Whatever the answer says, no token is dead.
        draft.setContext(Answer.group)
    }

    private mutating func content(of delivery: borrowing Delivery) -> Rendered {
        let key = Key(
            content: delivery.contentID, badge: delivery.badge, platform: delivery.platform,
            deadlineUnixMs: delivery.deadlineUnixMs)
        if let known = rendered[key] { return known }
        let value: Rendered
        do throws(Outcome) {
            value = .success(
                try Message(
                    delivery.notification(), badge: delivery.badge, platform: key.platform,
                    deadlineUnixMs: key.deadlineUnixMs, config: config, host: host))
        } catch {
            value = .failure(error)
        }
        rendered[key] = value
        return value
    }
}
