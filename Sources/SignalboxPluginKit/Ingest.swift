internal import CSignalbox

/// A path that an instance serves; a segment `{name}` matches one segment.
public struct IngestPath: Sendable {
    /// `/in/zendesk/s3cret`.
    public var pattern: String
    /// `POST`, ...
    public var methods: [String]

    /// Makes a path.
    public init(_ pattern: String, methods: [String] = ["POST"]) {
        self.pattern = pattern
        self.methods = methods
    }
}

/// An inbound request; valid during `handle`.
public struct Request: ~Copyable {
    private let raw: UnsafePointer<sbx_request>

    init(_ raw: UnsafePointer<sbx_request>) { self.raw = raw }

    /// `POST`.
    public var method: String { raw.pointee.method.text }
    /// Without query.
    public var path: String { raw.pointee.path.text }
    /// The part after the `?`, or empty.
    public var query: String { raw.pointee.query.text }
    /// The peer's address.
    public var remote: String { raw.pointee.remote.text }
    /// The pattern of `paths` that matched.
    public var pattern: String { raw.pointee.pattern.text }
    /// Subject of the client's certificate under mutual TLS, or empty.
    public var clientCertificate: String { raw.pointee.client_certificate.text }
    /// When it was received, in Unix milliseconds.
    public var receivedUnixMs: UInt64 { raw.pointee.received_unix_ms }

    /// The raw bytes; check signatures on these.
    public var body: Span<UInt8> {
        @_lifetime(borrow self) get {
            let span = Span(_unsafeElements: raw.pointee.body.buffer)
            return _overrideLifetime(span, borrowing: self)
        }
    }

    /// A copy of the raw bytes, for signatures and for use after a deferral.
    public var bodyBytes: [UInt8] { Array(raw.pointee.body.raw) }

    /// The first value of a header field, or nil.
    public func header(_ name: String) -> String? {
        pairs(raw.pointee.headers, raw.pointee.header_count, name)
    }

    /// The value of a path segment `{name}`, or nil.
    public func param(_ name: String) -> String? {
        pairs(raw.pointee.params, raw.pointee.param_count, name)
    }

    private func pairs(_ start: UnsafePointer<sbx_kv>?, _ count: Int, _ name: String) -> String? {
        guard let start else { return nil }
        for index in 0..<count where start[index].key.text == name {
            return start[index].value.text
        }
        return nil
    }
}

extension Device {
    /// Makes a device.
    public init(platform: String = "", token: String = "") {
        self.platform = platform
        self.token = token
    }

    /// The value of an attribute, or nil.
    public func attribute(_ name: String) -> String? {
        attributes.first { $0.0 == name }?.1
    }
}

/// Copies key-value pairs of the host.
func texts(_ start: UnsafePointer<sbx_kv>?, _ count: Int) -> [(String, String)] {
    guard let start else { return [] }
    return (0..<count).map { (start[$0].key.text, start[$0].value.text) }
}

/// The target of an event: a device with a token, or a user whose devices the host looks up.
public struct Recipient: Sendable {
    /// The device, or only its `user` (and `app`).
    public var device: Device
    /// What the source knows about this recipient.
    public var attributes: [(String, String)] = []

    /// A recipient with a device.
    public init(_ device: Device, attributes: [(String, String)] = []) {
        self.device = device
        self.attributes = attributes
    }

    /// The value of an attribute, or nil.
    public func attribute(_ name: String) -> String? {
        attributes.first { $0.0 == name }?.1
    }

    /// A user, on all their devices of an app; an empty `app` means every app.
    public init(user: String, app: String = "", attributes: [(String, String)] = []) {
        device = Device()
        device.user = user
        device.app = app
        self.attributes = attributes
    }
}

/// Something that happened.
public struct Event: Sendable {
    /// `ticket.replied`; from a fixed list.
    public var type: String
    /// `ticket/5`.
    public var subject = ""
    /// Events with the same key are the same event; empty for none.
    public var dedupe = ""
    /// How long the source may send this event again, in milliseconds; 0 for the host's own window.
    ///
    /// A host of contract 1.0 always uses its own.
    public var dedupeWindowMs: UInt64 = 0
    /// A JSON object.
    public var data: String
    /// In Unix milliseconds; 0 for the time of receipt.
    public var timeUnixMs: UInt64 = 0
    /// The targets of the event.
    public var recipients: [Recipient] = []

    /// Makes an event.
    public init(type: String, data: String) {
        self.type = type
        self.data = data
    }

    func write(to out: UnsafeMutablePointer<sbx_event>, _ arena: Arena) {
        out.pointee.struct_size = UInt32(MemoryLayout<sbx_event>.size)
        out.pointee.type = arena.text(type)
        out.pointee.subject = arena.text(subject)
        out.pointee.dedupe = arena.text(dedupe)
        out.pointee.dedupe_window_ms = dedupeWindowMs
        out.pointee.data = arena.text(data)
        out.pointee.time_unix_ms = timeUnixMs
        let places = arena.array(sbx_recipient.self, recipients.count)
        let devices = arena.array(sbx_device.self, recipients.count)
        for (index, recipient) in recipients.enumerated() {
            recipient.device.write(to: devices + index, arena)
            places[index].struct_size = UInt32(MemoryLayout<sbx_recipient>.size)
            places[index].device = UnsafePointer(devices + index)
            places[index].attributes = arena.pairs(recipient.attributes)
            places[index].attribute_count = recipient.attributes.count
        }
        out.pointee.recipients = UnsafePointer(places)
        out.pointee.recipient_count = recipients.count
        out.pointee.recipient_stride = MemoryLayout<sbx_recipient>.stride
    }
}
