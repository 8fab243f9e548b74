/// One notification on its way to one device.
///
/// A value behind one reference, since it is handed on from queue to queue many times; whoever changes a
/// copy gets one of his own.
public struct Delivery: Sendable {
    private var box: Box

    /// Unique among deliveries of this process.
    public var id: UInt64 {
        get { box.id }
        set { own().id = newValue }
    }
    /// The event it came from.
    public var eventID: UInt64 {
        get { box.eventID }
        set { own().eventID = newValue }
    }
    /// The plugin instance that emitted the event; it is told if the token is dead.
    public var source: String {
        get { box.source }
        set { own().source = newValue }
    }
    /// What the event was about.
    public var subject: String {
        get { box.subject }
        set { own().subject = newValue }
    }
    /// Name of the route that made it.
    public var route: String {
        get { box.route }
        set { own().route = newValue }
    }
    /// The sender's plugin instance.
    public var sender: String {
        get { box.sender }
        set { own().sender = newValue }
    }
    /// A UUID, the same on every attempt.
    public var stableID: String {
        get { box.stableID }
        set { own().stableID = newValue }
    }
    /// 1, 2, ...
    public var attempt: UInt32 {
        get { box.attempt }
        set { own().attempt = newValue }
    }
    /// This device's badge; nil: the notification's.
    public var badge: Int32? {
        get { box.badge }
        set { own().badge = newValue }
    }
    /// Worthless afterwards, in Unix milliseconds; 0: none.
    public var deadlineUnixMs: UInt64 {
        get { box.deadlineUnixMs }
        set { own().deadlineUnixMs = newValue }
    }
    /// Shared by all deliveries of the same content.
    public var content: SharedNotification {
        get { box.content }
        set { own().content = newValue }
    }
    /// Where it goes.
    public var device: Device {
        get { box.device }
        set { own().device = newValue }
    }

    /// Makes a delivery.
    public init(
        id: UInt64, eventID: UInt64, source: String = "", subject: String = "", route: String,
        sender: String, stableID: String,
        attempt: UInt32 = 1, badge: Int32? = nil, deadlineUnixMs: UInt64,
        content: SharedNotification, device: Device
    ) {
        box = Box(
            id: id, eventID: eventID, source: source, subject: subject, route: route,
            sender: sender, stableID: stableID, attempt: attempt, badge: badge,
            deadlineUnixMs: deadlineUnixMs, content: content, device: device)
    }

    /// The fields, for this copy alone.
    private mutating func own() -> Box {
        if !isKnownUniquelyReferenced(&box) { box = box.copy }
        return box
    }

    /// `@unchecked Sendable`: it is changed by the only copy that refers to it.
    private final class Box: @unchecked Sendable {
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

        init(
            id: UInt64, eventID: UInt64, source: String, subject: String, route: String,
            sender: String, stableID: String, attempt: UInt32, badge: Int32?,
            deadlineUnixMs: UInt64, content: SharedNotification, device: Device
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

        var copy: Box {
            Box(
                id: id, eventID: eventID, source: source, subject: subject, route: route,
                sender: sender, stableID: stableID, attempt: attempt, badge: badge,
                deadlineUnixMs: deadlineUnixMs, content: content, device: device)
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
