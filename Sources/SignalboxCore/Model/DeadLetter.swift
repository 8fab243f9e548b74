/// A delivery that failed permanently, with everything needed to understand or resend it.
public struct DeadLetter: Sendable {
    /// Kind of its content.
    public var kind: DeliveryKind
    /// The delivery's id.
    public var id: UInt64
    /// When the delivery became a dead letter, in Unix milliseconds.
    public var unixMs: UInt64
    /// From a closed list.
    public var reason: String
    /// The sender's plugin instance.
    public var sender: String
    /// The route's name.
    public var route: String
    /// The event's id.
    public var eventID: UInt64
    /// The plugin instance that the event came from.
    public var source: String
    /// The event's type.
    public var type: String
    /// What the event was about.
    public var subject: String
    /// When the gateway received the event, in Unix milliseconds.
    public var receivedUnixMs: UInt64
    /// The stable id that every attempt carried.
    public var stableID: String
    /// The content.
    public var notification: PushNotification
    /// The device it was meant for.
    public var device: Device
    /// The attempts with their results, in order.
    public var attempts: [Attempt]

    /// Makes a dead letter.
    public init(
        kind: DeliveryKind = .push, id: UInt64, unixMs: UInt64, reason: String, sender: String,
        route: String, eventID: UInt64,
        source: String, type: String, subject: String, receivedUnixMs: UInt64, stableID: String,
        notification: PushNotification, device: Device, attempts: [Attempt]
    ) {
        self.kind = kind
        self.id = id
        self.unixMs = unixMs
        self.reason = reason
        self.sender = sender
        self.route = route
        self.eventID = eventID
        self.source = source
        self.type = type
        self.subject = subject
        self.receivedUnixMs = receivedUnixMs
        self.stableID = stableID
        self.notification = notification
        self.device = device
        self.attempts = attempts
    }

    /// JSON for people and scripts. Only the end of the token: a whole token is an address.
    public var json: JSONValue {
        [
            "id": .integer(Int64(clamping: id)), "unix_ms": .integer(Int64(clamping: unixMs)),
            "reason": .string(reason), "route": .string(route), "sender": .string(sender),
            "app": .string(device.app), "platform": .string(device.platform),
            "token": .string(Self.redacted(device.token)), "user": .string(device.user),
            "event_id": .integer(Int64(clamping: eventID)), "source": .string(source),
            "type": .string(type), "subject": .string(subject),
            "received_unix_ms": .integer(Int64(clamping: receivedUnixMs)),
            "stable_id": .string(stableID), "title": .string(notification.title),
            "body": .string(notification.body), "attempts": .array(attempts.map(\.json)),
        ]
    }

    /// The last four characters of a token.
    public static func redacted(_ token: String) -> String {
        let bytes = token.utf8.span
        let last = bytes.extracting(last: 9)
        // To find the characters of other texts is slow.
        if last.indices.allSatisfy({ last[$0] < 0x80 }) {
            guard bytes.count > 8 else { return "…" }
            return unsafe last.extracting(last: 4).withUnsafeBufferPointer {
                unsafe "…" + String(decoding: $0, as: UTF8.self)
            }
        }
        return token.count > 8 ? "…\(token.suffix(4))" : "…"
    }
}

extension Attempt {
    var json: JSONValue {
        let gateway: [JSONValue.Member] = owner.isEmpty ? [] : [.init("gateway", .string(owner))]
        return .object(
            [
                .init("number", .integer(Int64(number))),
                .init("unix_ms", .integer(Int64(clamping: unixMs))),
                .init("reason", .string(reason)),
                .init("code", .integer(Int64(code))), .init("detail", .string(detail)),
            ] + gateway)
    }
}
