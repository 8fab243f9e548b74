/// One notification on its way to one device.
public struct Delivery: Sendable {
    /// Unique among deliveries of this process.
    public var id: UInt64
    /// The event it came from.
    public var eventID: UInt64
    /// The plugin instance that emitted the event; it is told if the token is dead.
    public var source: String
    /// What the event was about.
    public var subject: String
    /// Name of the route that made it.
    public var route: String
    /// The sender's plugin instance.
    public var sender: String
    /// A UUID, the same on every attempt.
    public var stableID: String
    /// 1, 2, ...
    public var attempt: UInt32
    /// This device's badge; nil: the notification's.
    public var badge: Int32?
    /// Worthless afterwards, in Unix milliseconds; 0: none.
    public var deadlineUnixMs: UInt64
    /// Shared by all deliveries of the same content.
    public var content: SharedNotification
    /// Where it goes.
    public var device: Device

    /// Makes a delivery.
    public init(
        id: UInt64, eventID: UInt64, source: String = "", subject: String = "", route: String,
        sender: String, stableID: String,
        attempt: UInt32 = 1, badge: Int32? = nil, deadlineUnixMs: UInt64,
        content: SharedNotification, device: Device
    ) {
        self.id = id
        self.eventID = eventID
        self.source = source
        self.subject = subject
        self.route = route
        self.sender = sender
        self.stableID = stableID
        self.attempt = attempt
        self.badge = badge
        self.deadlineUnixMs = deadlineUnixMs
        self.content = content
        self.device = device
    }
}

extension Delivery {
    /// It only proves that its device can be reached.
    public var isDryRun: Bool { content.notification.isDryRun }
}

/// A notification that many deliveries point to; equal identity means equal content.
public final class SharedNotification: Sendable {
    /// The content.
    public let notification: Notification

    /// Wraps a content for sharing.
    public init(_ notification: Notification) { self.notification = notification }
}
