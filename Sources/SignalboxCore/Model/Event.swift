/// A name with a value, as attributes and headers have them.
public struct Attribute: Sendable, Hashable {
    /// The name.
    public var key: String
    /// The value.
    public var value: String

    /// Makes an attribute.
    public init(_ key: String, _ value: String) {
        self.key = key
        self.value = value
    }
}

/// Who should get an event: a device with a token, or a user that the registry resolves.
public struct Recipient: Sendable, Hashable {
    /// The device, or only its `user`.
    public var device: Device
    /// What the source knows about this recipient: `unread`, `mentioned`, `online`.
    public var attributes: [Attribute]
    /// Why every route skips it; nil if it is usable.
    public internal(set) var fault: Fault?

    /// Makes a recipient.
    public init(device: Device, attributes: [Attribute] = []) {
        self.device = device
        self.attributes = attributes
    }
}

/// Something that happened at a source, as a plugin's ingest role emitted it.
///
/// A value behind one reference, because each step of its way keeps a copy. A change replaces the reference.
public struct Event: Sendable {
    private struct Fields: Sendable {
        var id: UInt64
        var source: String
        var type: String
        var subject: String
        var dedupe: String
        var dedupeWindowMs: UInt64
        var data: String
        var parsed: (any ParsedJSON)?
        var timeUnixMs: UInt64
        var recipients: [Recipient]
    }

    private var box: Shared<Fields>

    /// Makes an event.
    public init(
        id: UInt64 = 0, source: String = "", type: String, subject: String = "",
        dedupe: String = "", data: String = "{}", timeUnixMs: UInt64 = 0,
        recipients: [Recipient] = [], dedupeWindowMs: UInt64 = 0
    ) {
        box = Shared(
            Fields(
                id: id, source: source, type: type, subject: subject, dedupe: dedupe,
                dedupeWindowMs: dedupeWindowMs, data: data, parsed: nil, timeUnixMs: timeUnixMs,
                recipients: recipients))
    }

    private mutating func change(_ body: (inout Fields) -> Void) { box = box.changed(body) }
}

extension Event {
    /// The gateway's id of the event, unique in this process.
    public var id: UInt64 {
        get { box.fields.id }
        set { change { $0.id = newValue } }
    }
    /// The plugin instance that emitted it.
    public var source: String {
        get { box.fields.source }
        set { change { $0.source = newValue } }
    }
    /// `ticket.replied`: dotted, lower case, from a closed list of the plugin.
    public var type: String {
        get { box.fields.type }
        set { change { $0.type = newValue } }
    }
    /// What it is about: `ticket/5`.
    public var subject: String {
        get { box.fields.subject }
        set { change { $0.subject = newValue } }
    }
    /// Events with the same key are the same event; empty for none.
    public var dedupe: String {
        get { box.fields.dedupe }
        set { change { $0.dedupe = newValue } }
    }
    /// How long the source may send it again, in milliseconds; 0 if unknown.
    public var dedupeWindowMs: UInt64 {
        get { box.fields.dedupeWindowMs }
        set { change { $0.dedupeWindowMs = newValue } }
    }
    /// A JSON object that routes and templates read.
    ///
    /// Never logged.
    public var data: String {
        get { box.fields.data }
        set { change { ($0.data, $0.parsed) = (newValue, nil) } }
    }
    /// The data, parsed when the event was emitted; nil if it is `{}` or not parsed yet.
    public var parsed: (any ParsedJSON)? {
        get { box.fields.parsed }
        set { change { $0.parsed = newValue } }
    }
    /// When it happened, in Unix milliseconds.
    public var timeUnixMs: UInt64 {
        get { box.fields.timeUnixMs }
        set { change { $0.timeUnixMs = newValue } }
    }
    /// Who should get it. Many are changed in a copy of the array: in place, each change would copy all.
    public var recipients: [Recipient] {
        get { box.fields.recipients }
        set { change { $0.recipients = newValue } }
    }
}

/// A change of a device: registered, removed, invalid or tested.
public struct DeviceChange: Sendable {
    /// What happened to it; mirrors `SBX_CHANGE_*`.
    public enum Kind: UInt32, Sendable, CaseIterable {
        /// It was registered, or registered again.
        case registered = 1
        /// The user or the app removed it: logout.
        case unregistered = 2
        /// A provider reported its token as dead.
        case invalid = 3
        /// A dry run reached the device.
        case proven = 4
        /// A dry run failed permanently.
        case unproven = 5
    }
    /// What happened.
    public var kind: Kind
    /// The device.
    public var device: Device
    /// When, in Unix milliseconds.
    public var timeUnixMs: UInt64
    /// The provider's reason; may be empty.
    public var reason: String
    /// Subject of the event that asked for a dry run; else empty.
    public var subject: String
    /// A registration that leaves the token to the other users that have it, too.
    public var isShared = false
    /// The platforms on which the token is looked up; empty for the device's own, or all if it names none.
    public var platforms: Set<String> = []

    /// Makes a change.
    public init(
        kind: Kind, device: Device, timeUnixMs: UInt64 = 0, reason: String = "",
        subject: String = ""
    ) {
        self.subject = subject
        self.kind = kind
        self.device = device
        self.timeUnixMs = timeUnixMs
        self.reason = reason
    }

    /// Whether the change may apply to a device with its token on this platform.
    public func covers(platform: String) -> Bool {
        platforms.isEmpty
            ? device.platform.isEmpty || device.platform == platform : platforms.contains(platform)
    }
}
