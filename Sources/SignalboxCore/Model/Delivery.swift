/// One notification on its way to one device.
///
/// A value behind one reference, since it is handed on from queue to queue many times; a change makes a new
/// one.
public struct Delivery: Sendable {
    private var box: Box

    /// Unique among deliveries of this process.
    public var id: UInt64 {
        get { box.id }
        set { box = box.with { $0.id = newValue } }
    }
    /// The event it came from.
    public var eventID: UInt64 {
        get { box.eventID }
        set { box = box.with { $0.eventID = newValue } }
    }
    /// The plugin instance that emitted the event; it is told if the token is dead.
    public var source: String {
        get { box.source }
        set { box = box.with { $0.source = newValue } }
    }
    /// What the event was about.
    public var subject: String {
        get { box.subject }
        set { box = box.with { $0.subject = newValue } }
    }
    /// Name of the route that made it.
    public var route: String {
        get { box.route }
        set { box = box.with { $0.route = newValue } }
    }
    /// The sender's plugin instance.
    public var sender: String {
        get { box.sender }
        set { box = box.with { $0.sender = newValue } }
    }
    /// A UUID, the same on every attempt.
    public var stableID: String {
        get { box.stableID }
        set { box = box.with { $0.stableID = newValue } }
    }
    /// 1, 2, ...
    public var attempt: UInt32 {
        get { box.attempt }
        set { box = box.with { $0.attempt = newValue } }
    }
    /// This device's badge; nil: the notification's.
    public var badge: Int32? {
        get { box.badge }
        set { box = box.with { $0.badge = newValue } }
    }
    /// Worthless afterwards, in Unix milliseconds; 0: none.
    public var deadlineUnixMs: UInt64 {
        get { box.deadlineUnixMs }
        set { box = box.with { $0.deadlineUnixMs = newValue } }
    }
    /// Shared by all deliveries of the same content.
    public var content: SharedNotification {
        get { box.content }
        set { box = box.with { $0.content = newValue } }
    }
    /// Where it goes.
    public var device: Device {
        get { box.device }
        set { box = box.with { $0.device = newValue } }
    }

    /// Makes a delivery.
    public init(
        id: UInt64, eventID: UInt64, source: String = "", subject: String = "", route: String,
        sender: String, stableID: String,
        attempt: UInt32 = 1, badge: Int32? = nil, deadlineUnixMs: UInt64,
        content: SharedNotification, device: Device
    ) {
        box = Box(
            Fields(
                id: id, eventID: eventID, source: source, subject: subject, route: route,
                sender: sender, stableID: stableID, attempt: attempt, badge: badge,
                deadlineUnixMs: deadlineUnixMs, content: content, device: device))
    }

    private struct Fields {
        var id: UInt64
        var eventID: UInt64
        var source: String
        var subject: String
        var route: String
        var sender: String
        var stableID: String
        var attempt: UInt32
        var badge: Int32?
        var deadlineUnixMs: UInt64
        var content: SharedNotification
        var device: Device
    }

    /// Never changes, so that reading it needs no check of who else does.
    private final class Box: Sendable {
        let id: UInt64
        let eventID: UInt64
        let source: String
        let subject: String
        let route: String
        let sender: String
        let stableID: String
        let attempt: UInt32
        let badge: Int32?
        let deadlineUnixMs: UInt64
        let content: SharedNotification
        let device: Device

        init(_ fields: Fields) {
            id = fields.id
            eventID = fields.eventID
            source = fields.source
            subject = fields.subject
            route = fields.route
            sender = fields.sender
            stableID = fields.stableID
            attempt = fields.attempt
            badge = fields.badge
            deadlineUnixMs = fields.deadlineUnixMs
            content = fields.content
            device = fields.device
        }

        func with(_ change: (inout Fields) -> Void) -> Box {
            var fields = Fields(
                id: id, eventID: eventID, source: source, subject: subject, route: route,
                sender: sender, stableID: stableID, attempt: attempt, badge: badge,
                deadlineUnixMs: deadlineUnixMs, content: content, device: device)
            change(&fields)
            return Box(fields)
        }
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
