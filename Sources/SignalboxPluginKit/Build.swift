internal import CSignalbox

/// The input of a builder; valid during `build`.
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
    /// When it happened, in Unix milliseconds; 0 for the time of receipt.
    public var timeUnixMs: UInt64 { raw.pointee.event.pointee.time_unix_ms }
    /// The event's dedupe key; empty for none.
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

    /// A recipient with its attributes, but without its token, which builders do not need.
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

extension PushNotification {
    /// How urgent it is.
    public enum Priority: UInt32, Sendable {
        case low = 1
        case normal = 5
        case high = 10
    }

    /// A neutral part next to the content, as JSON: `shorten`, `localized`; nil if not given.
    public func part(_ name: String) -> String? {
        overrides.last { $0.family == name }?.json
    }

    /// The payload with the overrides of a family of senders merged into it.
    public func overridden(
        _ payload: consuming JSONWriter, family: String, _ host: Host
    ) throws(PluginError) -> JSONWriter {
        var writer = payload
        for override in overrides where override.family == family {
            let base = try host.parse(writer.bytes.span)
            let patch = try host.parse(override.json.utf8.span)
            var merged = JSONWriter()
            merged.merged(base, with: patch)
            writer = merged
        }
        return writer
    }
}

/// Receives notifications; valid during `build`.
public struct BuildSink: ~Copyable {
    /// A recipient of a content, with the recipient's own badge.
    public struct Target: Sendable {
        /// Index into the recipients.
        public var recipient: Int
        /// The recipient's own badge; nil for the notification's.
        public var badge: Int32?

        /// Makes a target.
        public init(_ recipient: Int, badge: Int32? = nil) {
            self.recipient = recipient
            self.badge = badge
        }
    }

    private let raw: UnsafeMutablePointer<sbx_build_sink>

    init(_ raw: UnsafeMutablePointer<sbx_build_sink>) { self.raw = raw }

    /// Emits a content for these recipients; emit a content once for all recipients that share it.
    public func emit(_ note: PushNotification, to targets: [Target]) throws(PluginError) {
        let arena = Arena()
        let out = arena.array(sbx_notification.self, 1)
        note.write(to: out, arena)
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
        try PluginError.check(status, "the host rejected the notification")
    }

    /// Leaves a recipient out on purpose; `reason` is from a fixed list.
    public func skip(_ recipient: Int, _ reason: String) {
        let arena = Arena()
        _ = raw.pointee.skip(raw, UInt32(clamping: recipient), arena.text(reason))
    }
}
