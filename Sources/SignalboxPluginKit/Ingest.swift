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

/// An inbound request; lives during `handle`.
public struct Request: ~Copyable {
    private let raw: UnsafePointer<sbx_request>

    init(_ raw: UnsafePointer<sbx_request>) { self.raw = raw }

    /// `POST`.
    public var method: String { raw.pointee.method.text }
    /// Without query.
    public var path: String { raw.pointee.path.text }
    /// Behind the `?`, or empty.
    public var query: String { raw.pointee.query.text }
    /// The peer's address.
    public var remote: String { raw.pointee.remote.text }
    /// When it came in.
    public var receivedUnixMs: UInt64 { raw.pointee.received_unix_ms }

    /// The raw bytes: check signatures on these.
    public var body: Span<UInt8> {
        @_lifetime(borrow self) get {
            let span = Span(_unsafeElements: raw.pointee.body.buffer)
            return _overrideLifetime(span, borrowing: self)
        }
    }

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

/// A device that should get an event, or a user whose devices should.
public struct Recipient: Sendable {
    /// Bundle id or project; empty: the default app of the sender.
    public var app = ""
    /// `ios`, `android`, ...: chooses the sender in a route.
    public var platform: String
    /// Fit for the provider.
    public var token: String
    /// Exactly as the source delivered it; empty: same as `token`.
    public var sourceToken = ""
    /// The source's user id.
    public var user = ""
    /// BCP 47.
    public var locale = ""
    /// What the source knows of this recipient.
    public var attributes: [(String, String)] = []

    /// Makes a recipient.
    public init(platform: String, token: String) {
        self.platform = platform
        self.token = token
    }
}

/// Something that happened.
public struct Event: Sendable {
    /// `ticket.replied`: from a closed list.
    public var type: String
    /// `ticket/5`.
    public var subject = ""
    /// Same key, same event; empty: none.
    public var dedupe = ""
    /// A JSON object.
    public var data: String
    /// 0: the time of receipt.
    public var timeUnixMs: UInt64 = 0
    /// Who should get it.
    public var recipients: [Recipient] = []

    /// Makes an event.
    public init(type: String, data: String) {
        self.type = type
        self.data = data
    }
}

/// Where a request's results go; lives during `handle`.
public struct IngestSink: ~Copyable {
    private let raw: UnsafeMutablePointer<sbx_ingest_sink>

    init(_ raw: UnsafeMutablePointer<sbx_ingest_sink>) { self.raw = raw }

    /// This happened.
    public func emit(_ event: Event) throws(PluginError) {
        let arena = Arena()
        let out = arena.array(sbx_event.self, 1)
        out.pointee.struct_size = UInt32(MemoryLayout<sbx_event>.size)
        out.pointee.type = arena.text(event.type)
        out.pointee.subject = arena.text(event.subject)
        out.pointee.dedupe = arena.text(event.dedupe)
        out.pointee.data = arena.text(event.data)
        out.pointee.time_unix_ms = event.timeUnixMs
        let recipients = arena.array(sbx_recipient.self, event.recipients.count)
        let devices = arena.array(sbx_device.self, event.recipients.count)
        for (index, recipient) in event.recipients.enumerated() {
            let device = devices + index
            device.pointee.struct_size = UInt32(MemoryLayout<sbx_device>.size)
            device.pointee.app = arena.text(recipient.app)
            device.pointee.platform = arena.text(recipient.platform)
            device.pointee.token = arena.text(recipient.token)
            device.pointee.source_token = arena.text(recipient.sourceToken)
            device.pointee.user = arena.text(recipient.user)
            device.pointee.locale = arena.text(recipient.locale)
            recipients[index].struct_size = UInt32(MemoryLayout<sbx_recipient>.size)
            recipients[index].device = UnsafePointer(device)
            recipients[index].attributes = arena.pairs(recipient.attributes)
            recipients[index].attribute_count = recipient.attributes.count
        }
        out.pointee.recipients = UnsafePointer(recipients)
        out.pointee.recipient_count = event.recipients.count
        out.pointee.recipient_stride = MemoryLayout<sbx_recipient>.stride
        let status = raw.pointee.emit(raw, out, 1, MemoryLayout<sbx_event>.stride)
        guard status == SBX_OK else {
            let words =
                status == SBX_E_TOO_LARGE
                ? "too many devices or events in one request" : "the event was not taken"
            throw PluginError(.init(code: status), words)
        }
    }

    /// One item is unusable and was left out; its neighbours live.
    ///
    /// `reason` is from a closed list, `detail` holds no token or body.
    public func reject(_ reason: String, _ detail: String) {
        let arena = Arena()
        _ = raw.pointee.reject(raw, arena.text(reason), arena.text(detail))
    }

    /// The answer, at most once; without it 200, or 202 if nothing was emitted.
    public func respond(
        _ status: Int, headers: [(String, String)] = [], body: [UInt8] = []
    ) throws(PluginError) {
        let arena = Arena()
        let code = raw.pointee.respond(
            raw, UInt32(clamping: status), arena.pairs(headers), headers.count, arena.bytes(body))
        guard code == SBX_OK else { throw PluginError(.init(code: code), "a second answer") }
    }
}
