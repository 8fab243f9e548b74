internal import CSignalbox

/// Where requests of an app go; a number of 0 means the host's default.
public struct Endpoint: Sendable {
    /// `https://api.push.apple.com`.
    public var origin: String
    /// PEM file of trusted roots; empty for the system's.
    public var caFile = ""
    /// Name of a secret with a PEM chain or PKCS#12; empty for none.
    public var clientCertificate = ""
    /// Name of a secret with a PEM key; empty if it is in `clientCertificate`.
    public var clientKey = ""
    /// Name of the secret with the password for these; empty for none.
    public var clientPassword = ""
    /// Refuse a peer that does not choose `h2`.
    public var isALPNRequired = false
    /// One request at a time on a connection until its first 2xx.
    public var isOneStreamFirst = false
    /// A request whose outcome is unknown is not retried.
    public var isAtMostOnce = false
    /// Over a pool that also speaks HTTP/1.1, where requests may have origins of their own.
    public var isREST = false
    /// Those may be on private networks, too.
    public var allowsPrivateOrigins = false
    /// Apps with this and an equal endpoint share connections; for the apps of one credential.
    public var isShared = false
    /// From submit to answer.
    public var requestTimeoutMs: UInt32 = 0
    /// TCP, TLS and the peer's SETTINGS together.
    public var connectTimeoutMs: UInt32 = 0
    /// A PING is sent after this long without traffic.
    public var pingIdleMs: UInt32 = 0
    /// A connection that has not answered a PING for this long is closed.
    public var pingTimeoutMs: UInt32 = 0
    /// Most connections.
    public var connectionsMax: UInt32 = 0
    /// Most streams per connection; the peer's SETTINGS can only lower it.
    public var streamsMax: UInt32 = 0

    /// Makes an endpoint.
    public init(origin: String) { self.origin = origin }
}

/// Deliveries of one app; valid during `prepare`.
public struct DeliveryBatch: ~Copyable {
    private let raw: UnsafePointer<sbx_delivery>?
    private let stride: Int
    /// The app; empty for the default app.
    public let app: String
    /// The number of deliveries.
    public let count: Int

    init(_ raw: UnsafePointer<sbx_delivery>?, count: Int, stride: Int, app: String) {
        self.raw = raw
        self.count = raw == nil ? 0 : count
        self.stride = stride
        self.app = app
    }

    /// A delivery.
    public subscript(index: Int) -> Delivery {
        @_lifetime(borrow self) get {
            precondition(index >= 0 && index < count, "there is no such delivery")
            guard let raw else { preconditionFailure("an empty batch has no deliveries") }
            return Delivery(owner: self, raw: raw.element(index, stride))
        }
    }
}

/// One notification on its way to one device.
public struct Delivery: ~Escapable {
    private let raw: UnsafePointer<sbx_delivery>

    @_lifetime(borrow owner)
    init(owner: borrowing DeliveryBatch, raw: UnsafePointer<sbx_delivery>) { self.raw = raw }

    /// The id to name in requests and outcomes.
    public var id: UInt64 { raw.pointee.id }
    /// 1, 2, ...
    public var attempt: UInt32 { raw.pointee.attempt }
    /// This device's badge; nil for the notification's.
    public var badge: Int32? {
        raw.pointee.flags & SBX_D_BADGE != 0 ? raw.pointee.badge : nil
    }
    /// When it expires, in Unix milliseconds; 0 for never.
    public var deadlineUnixMs: UInt64 { raw.pointee.deadline_unix_ms }
    /// When its event arrived, in Unix milliseconds, the same on every attempt; 0 if the host does not say.
    public var eventUnixMs: UInt64 { UnsafePointer(raw).known(sbx_delivery()).event_unix_ms }
    /// `ios`, `android`, ...
    public var platform: String { raw.pointee.device.pointee.platform.text }
    /// Equal for deliveries with equal content, which needs to be rendered only once.
    public var contentID: UInt { UInt(bitPattern: raw.pointee.notification) }
    /// A UUID, the same on every attempt.
    public var stableID: Span<UInt8> {
        @_lifetime(copy self) get {
            _overrideLifetime(Span(_unsafeElements: raw.pointee.stable_id.buffer), copying: self)
        }
    }
    /// The device's token.
    public var token: Span<UInt8> {
        @_lifetime(copy self) get {
            let text = raw.pointee.device.pointee.token
            return _overrideLifetime(Span(_unsafeElements: text.buffer), copying: self)
        }
    }

    /// The device, copied.
    public func device() -> Device { Device(raw.pointee.device) }

    /// The content, copied.
    public func notification() -> PushNotification {
        PushNotification(raw.pointee.notification)
    }
}

/// Responses to requests of one app; valid during `classify`.
public struct ResponseBatch: ~Copyable {
    private let raw: UnsafePointer<sbx_http_response>?
    private let stride: Int
    /// The number of responses.
    public let count: Int

    init(_ raw: UnsafePointer<sbx_http_response>?, count: Int, stride: Int) {
        self.raw = raw
        self.count = raw == nil ? 0 : count
        self.stride = stride
    }

    /// A response.
    public subscript(index: Int) -> Response {
        @_lifetime(borrow self) get {
            precondition(index >= 0 && index < count, "there is no such response")
            guard let raw else { preconditionFailure("an empty batch has no responses") }
            return Response(owner: self, raw: raw.element(index, stride))
        }
    }
}

/// One response.
public struct Response: ~Escapable {
    private let raw: UnsafePointer<sbx_http_response>

    @_lifetime(borrow owner)
    init(owner: borrowing ResponseBatch, raw: UnsafePointer<sbx_http_response>) { self.raw = raw }

    /// 200, 410, ...
    public var status: Int { Int(raw.pointee.http_status) }
    /// The app that the request was for.
    public var app: String { raw.pointee.app.text }
    /// The context of the request.
    public var context: String { raw.known(sbx_http_response()).context.text }
    /// The deliveries it answers.
    public var items: [UInt64] {
        (0..<raw.pointee.item_count).map { raw.pointee.items[$0] }
    }
    var rawItems: UnsafeBufferPointer<UInt64> {
        UnsafeBufferPointer(start: raw.pointee.items, count: raw.pointee.item_count)
    }
    /// The body.
    public var body: Span<UInt8> {
        @_lifetime(copy self) get {
            _overrideLifetime(Span(_unsafeElements: raw.pointee.body.buffer), copying: self)
        }
    }

    /// The first value of a header field, or nil. Trailers count as header fields, behind all others.
    public func header(_ name: String) -> String? { field(name, from: 0) }

    /// The first value of a field that came after the body, or nil.
    public func trailer(_ name: String) -> String? {
        let trailers = Int(clamping: raw.known(sbx_http_response()).trailer_count)
        return field(name, from: max(0, raw.pointee.header_count - trailers))
    }

    private func field(_ name: String, from first: Int) -> String? {
        let count = name.utf8.count
        for index in first..<raw.pointee.header_count {
            let key = raw.pointee.headers[index].key
            guard key.len == count, key.buffer.elementsEqual(name.utf8) else { continue }
            return raw.pointee.headers[index].value.text
        }
        return nil
    }
}
