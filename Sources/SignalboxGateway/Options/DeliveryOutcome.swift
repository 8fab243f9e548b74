package import SignalboxCore

/// The outcome of one attempt at a delivery, for a program that embeds the gateway.
public struct DeliveryOutcome: Sendable {
    /// The state after the attempt.
    public enum Result: UInt32, Sendable {
        /// The provider took it.
        case delivered = 1
        /// It failed and is retried later.
        case retried = 2
        /// It failed for good and is a dead letter.
        case failed = 3
    }

    /// The state after the attempt.
    public let result: Result
    /// The id of its event, as `submit` returned it.
    public let eventID: UInt64
    /// What the event was about.
    public let subject: String
    /// The source of the event.
    public let source: String
    /// The route that made it; empty for a report about a device.
    public let route: String
    /// The sender's name in gateway.yaml.
    public let sender: String
    /// Bundle id or project; empty for the default app.
    public let app: String
    /// The device's user; may be empty.
    public let user: String
    /// The device's token.
    ///
    /// Never log it.
    public let token: String
    /// A UUID, the same for every attempt.
    public let stableID: String
    /// 1, 2, ...
    public let attempt: UInt32
    /// `ok`, `throttled`, `BadDeviceToken`: from a closed list per sender.
    public let reason: String
    /// HTTP status or the provider's own code; 0 without an answer.
    public let providerCode: UInt32
    /// The provider's id of the message; may be empty.
    public let providerID: String

    package init(
        _ result: Result, _ delivery: Delivery, reason: String, code: UInt32,
        providerID: String = ""
    ) {
        self.result = result
        eventID = delivery.eventID
        subject = delivery.subject
        source = delivery.source
        route = delivery.route
        sender = delivery.sender
        app = delivery.device.app
        user = delivery.device.user
        token = delivery.device.token
        stableID = delivery.stableID
        attempt = delivery.attempt
        self.reason = reason
        providerCode = code
        self.providerID = providerID
    }
}
