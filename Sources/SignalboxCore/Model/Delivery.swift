/// Kind of a delivery's content.
public enum DeliveryKind: UInt8, Sendable {
    /// A notification, to a device.
    case push = 0
    /// News about a device, for the system that supplied it. It belongs to no route.
    case report = 1
}

/// One notification on its way to one device, or one report on its way to a source's system.
///
/// A value behind one reference, because it moves through many queues. A change
/// replaces the reference.
public struct Delivery: Sendable {
    private var box: Shared<Fields>

    /// Kind of its content.
    public var kind: DeliveryKind { box.fields.kind }
    /// Unique among deliveries of this process.
    public var id: UInt64 {
        get { box.fields.id }
        set { box = box.with(\.id, newValue) }
    }
    /// The event it came from.
    public var eventID: UInt64 {
        get { box.fields.eventID }
        set { box = box.with(\.eventID, newValue) }
    }
    /// The plugin instance that emitted the event; it gets a report if the token is dead.
    public var source: String {
        get { box.fields.source }
        set { box = box.with(\.source, newValue) }
    }
    /// What the event was about.
    public var subject: String {
        get { box.fields.subject }
        set { box = box.with(\.subject, newValue) }
    }
    /// Name of the route that made it; empty for a report.
    public var route: String {
        get { box.fields.route }
        set { box = box.with(\.route, newValue) }
    }
    /// The plugin instance that sends it; for a report, the one that reports to its system.
    public var sender: String {
        get { box.fields.sender }
        set { box = box.with(\.sender, newValue) }
    }
    /// A UUID, the same on every attempt.
    public var stableID: String {
        get { box.fields.stableID }
        set { box = box.with(\.stableID, newValue) }
    }
    /// 1, 2, ...
    public var attempt: UInt32 {
        get { box.fields.attempt }
        set { box = box.with(\.attempt, newValue) }
    }
    /// How many of its earlier attempts do not count: the provider was unreachable or down.
    public var freeAttempts: UInt32 {
        get { box.fields.freeAttempts }
        set { box = box.with(\.freeAttempts, newValue) }
    }
    /// This device's badge; nil for the notification's.
    public var badge: Int32? {
        get { box.fields.badge }
        set { box = box.with(\.badge, newValue) }
    }
    /// Expiry, in Unix milliseconds; 0 for none.
    public var deadlineUnixMs: UInt64 {
        get { box.fields.deadlineUnixMs }
        set { box = box.with(\.deadlineUnixMs, newValue) }
    }
    /// When its event was accepted, in Unix milliseconds: of a replay, in its first life.
    public var acceptedUnixMs: UInt64 {
        get {
            let own = box.fields.acceptedUnixMs
            return own == 0 ? box.fields.content.receivedUnixMs : own
        }
        set { box = box.with(\.acceptedUnixMs, newValue) }
    }
    /// The content, shared by all deliveries that have the same.
    public var content: SharedNotification {
        get { box.fields.content }
        set { box = box.with(\.content, newValue) }
    }
    /// The device it goes to.
    public var device: Device {
        get { box.fields.device }
        set { box = box.with(\.device, newValue) }
    }

    /// Makes a delivery.
    public init(
        kind: DeliveryKind = .push, id: UInt64, eventID: UInt64, source: String = "",
        subject: String = "", route: String,
        sender: String, stableID: String,
        attempt: UInt32 = 1, freeAttempts: UInt32 = 0, badge: Int32? = nil, deadlineUnixMs: UInt64,
        content: SharedNotification, device: Device
    ) {
        box = Shared(
            Fields(
                kind: kind, id: id, eventID: eventID, source: source, subject: subject,
                route: route,
                sender: sender, stableID: stableID, attempt: attempt, freeAttempts: freeAttempts,
                badge: badge,
                deadlineUnixMs: deadlineUnixMs, acceptedUnixMs: 0, content: content, device: device)
        )
    }

    private struct Fields: Sendable {
        var kind: DeliveryKind
        var id: UInt64
        var eventID: UInt64
        var source: String
        var subject: String
        var route: String
        var sender: String
        var stableID: String
        var attempt: UInt32
        var freeAttempts: UInt32
        var badge: Int32?
        var deadlineUnixMs: UInt64
        var acceptedUnixMs: UInt64
        var content: SharedNotification
        var device: Device
    }
}

extension Delivery {
    /// Whether it only tests that its device can be reached.
    public var isDryRun: Bool { content.notification.isDryRun }
}
