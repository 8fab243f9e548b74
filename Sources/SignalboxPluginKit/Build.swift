internal import CSignalbox

/// What a builder works on; lives during `build`.
public struct BuildInput: ~Copyable {
    private let raw: UnsafePointer<sbx_build_input>
    private let host: Host

    init(_ raw: UnsafePointer<sbx_build_input>, host: Host) {
        self.raw = raw
        self.host = host
    }

    /// The event's type.
    public var type: String { raw.pointee.event.pointee.type.text }
    /// What the event is about.
    public var subject: String { raw.pointee.event.pointee.subject.text }
    /// When it happened, in Unix milliseconds; 0: the time of receipt.
    public var timeUnixMs: UInt64 { raw.pointee.event.pointee.time_unix_ms }
    /// The event's dedupe key; empty: none.
    public var dedupe: String { raw.pointee.event.pointee.dedupe.text }
    /// The instance that emitted the event.
    public var instance: String { raw.pointee.instance.text }
    /// The route's name.
    public var route: String { raw.pointee.route.text }
    /// The number of recipients.
    public var recipientCount: Int { raw.pointee.recipient_count }

    /// The event's data, parsed.
    public func data() throws(PluginError) -> JSON {
        try host.parse(raw.pointee.event.pointee.data)
    }

    /// The route's options, parsed.
    public func options() throws(PluginError) -> JSON { try host.parse(raw.pointee.options) }

    /// A recipient with its attributes, and without its token: a builder does not need it.
    public func recipient(_ index: Int) -> Recipient {
        guard index >= 0, index < recipientCount, let start = raw.pointee.recipients else {
            return Recipient(Device())
        }
        let given = start.element(index, raw.pointee.recipient_stride).known(sbx_recipient())
        var device = given.device.map { Device($0) } ?? Device()
        device.token = ""
        device.sourceToken = ""
        return Recipient(device, attributes: texts(given.attributes, given.attribute_count))
    }
}

/// Neutral content, known to every sender; empty text: not given.
public struct Notification: Sendable {
    /// How urgent it is.
    public enum Priority: UInt32, Sendable {
        case low = 1
        case normal = 5
        case high = 10
    }

    /// Wake the app, show nothing.
    public var isSilent = false
    /// Where the provider can leave display to the app, let it.
    public var isDataOnly = false
    /// The app may change it before it is shown.
    public var isMutable = false
    /// Prove that the device can be reached, and show nothing.
    public var isDryRun = false
    /// Takes back what is shown under `collapse`, and shows nothing.
    public var isWithdrawn = false
    /// nil: leave alone; 0: clear.
    public var badge: Int32?
    /// nil: as the route says.
    public var priority: Priority?
    /// 0: as the route says.
    public var expiresUnixMs: UInt64 = 0
    /// First line.
    public var title = ""
    /// Second line.
    public var subtitle = ""
    /// Text.
    public var body = ""
    /// Name of a sound.
    public var sound = ""
    /// Groups notifications.
    public var thread = ""
    /// The app's set of actions.
    public var category = ""
    /// A newer one with the same key replaces the shown one.
    public var collapse = ""
    /// Picture.
    public var imageURL = ""
    /// What a tap opens.
    public var link = ""
    /// The provider's word for the kind of push.
    public var pushType = ""
    /// A JSON object or empty: the payload's custom keys.
    public var data = ""
    /// JSON objects laid over the payload at the end, by family of senders: `apns`, `fcm`.
    public var overrides: [(family: String, json: String)] = []

    /// Makes an empty one.
    public init() {}
}

/// Where notifications go; lives during `build`.
public struct BuildSink: ~Copyable {
    /// A recipient of a content, with what is his alone.
    public struct Target: Sendable {
        /// Index into the recipients.
        public var recipient: Int
        /// nil: the notification's.
        public var badge: Int32?

        /// Makes a target.
        public init(_ recipient: Int, badge: Int32? = nil) {
            self.recipient = recipient
            self.badge = badge
        }
    }

    private let raw: UnsafeMutablePointer<sbx_build_sink>

    init(_ raw: UnsafeMutablePointer<sbx_build_sink>) { self.raw = raw }

    /// This content goes to these recipients; emit a content once for all who share it.
    public func emit(_ note: Notification, to targets: [Target]) throws(PluginError) {
        let arena = Arena()
        let out = arena.array(sbx_notification.self, 1)
        out.pointee.struct_size = UInt32(MemoryLayout<sbx_notification>.size)
        if note.isSilent { out.pointee.flags |= SBX_N_SILENT }
        if note.isDataOnly { out.pointee.flags |= SBX_N_DATA_ONLY }
        if note.isMutable { out.pointee.flags |= SBX_N_MUTABLE }
        if note.isDryRun { out.pointee.flags |= SBX_N_DRY_RUN }
        if note.isWithdrawn { out.pointee.flags |= SBX_N_WITHDRAW }
        if let badge = note.badge {
            out.pointee.flags |= SBX_N_BADGE
            out.pointee.badge = badge
        }
        out.pointee.priority = note.priority?.rawValue ?? 0
        out.pointee.expires_unix_ms = note.expiresUnixMs
        out.pointee.title = arena.text(note.title)
        out.pointee.subtitle = arena.text(note.subtitle)
        out.pointee.body = arena.text(note.body)
        out.pointee.sound = arena.text(note.sound)
        out.pointee.thread = arena.text(note.thread)
        out.pointee.category = arena.text(note.category)
        out.pointee.collapse = arena.text(note.collapse)
        out.pointee.image_url = arena.text(note.imageURL)
        out.pointee.link = arena.text(note.link)
        out.pointee.push_type = arena.text(note.pushType)
        out.pointee.data = arena.text(note.data)
        out.pointee.overrides = arena.pairs(note.overrides.map { ($0.family, $0.json) })
        out.pointee.override_count = note.overrides.count
        let list = arena.array(sbx_target.self, targets.count)
        for (index, target) in targets.enumerated() {
            list[index].struct_size = UInt32(MemoryLayout<sbx_target>.size)
            list[index].recipient = UInt32(clamping: target.recipient)
            if let badge = target.badge {
                list[index].flags = SBX_T_BADGE
                list[index].badge = badge
            }
        }
        let status = raw.pointee.emit(
            raw, out, list, targets.count, MemoryLayout<sbx_target>.stride)
        guard status == SBX_OK else {
            throw PluginError(.init(code: status), "the notification was not taken")
        }
    }

    /// Left out on purpose; `reason` is from a closed list.
    public func skip(_ recipient: Int, _ reason: String) {
        let arena = Arena()
        _ = raw.pointee.skip(raw, UInt32(clamping: recipient), arena.text(reason))
    }
}
