import SignalboxPluginKit

/// Turns deliveries into requests; shared content is rendered once, behind a gap for the audience.
struct Encoder: DeliveryEncoder {
    private struct Key: Hashable {
        var content: UInt
        var badge: Int32?
        var platform: String
        var deadlineUnixMs: UInt64
    }

    private typealias Rendered = Result<Push, Outcome>

    private let config: Config
    private let authorization: String
    private let host: Host
    private var rendered: [Key: Rendered] = [:]
    /// The request of the last encoded delivery.
    private(set) var draft = RequestDraft()

    init(config: Config, authorization: String, host: Host) {
        self.config = config
        self.authorization = authorization
        self.host = host
    }

    /// Writes the request into `draft`, or returns the outcome if sending would be useless.
    mutating func encode(_ delivery: borrowing Delivery) -> Outcome? {
        guard !delivery.token.isEmpty else { return .malformedToken }
        switch content(of: delivery) {
        case .failure(let outcome): return outcome
        case .success(let push):
            let device = delivery.device()
            let own = device.attributes.first { $0.0 == "airship" }?.1
            let audience = own.flatMap { Audience(rawValue: $0) } ?? config.audience
            let selector = audience.selector(platform: device.platform)
            draft.begin("POST", path: push.isDryRun ? "/api/push/validate" : "/api/push")
            draft.header("authorization", authorization)
            if config.hasToken { draft.header("x-ua-appkey", config.appKey) }
            draft.header("accept", "application/vnd.urbanairship+json; version=3")
            draft.header("content-type", "application/json")
            draft.appendBody(Array("{\"audience\":{\"\(selector)\":\"".utf8).span)
            if selector == "device_token" {
                // Airship knows Apple's tokens in upper case.
                draft.appendBodyEscaped(Array(device.token.uppercased().utf8).span)
            } else {
                draft.appendBodyEscaped(delivery.token)
            }
            draft.appendBody(push.tail.span)
            return nil
        }
    }

    private mutating func content(of delivery: borrowing Delivery) -> Rendered {
        let key = Key(
            content: delivery.contentID, badge: delivery.badge, platform: delivery.platform,
            deadlineUnixMs: delivery.deadlineUnixMs)
        if let known = rendered[key] { return known }
        let value: Rendered
        do throws(Outcome) {
            value = .success(
                try Push(
                    delivery.notification(), badge: delivery.badge, platform: key.platform,
                    deadlineUnixMs: key.deadlineUnixMs, config: config, host: host))
        } catch {
            value = .failure(error)
        }
        rendered[key] = value
        return value
    }
}
