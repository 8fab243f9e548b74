/// Requests rendered by a plugin, copied once into one buffer, so that a batch costs a
/// few allocations however many requests it holds.
///
/// Written by the plugin host, read by the push engine.
public struct RequestBatch: Sendable {
    /// A slice of `bytes`.
    public struct Slice: Sendable, Hashable, BitwiseCopyable {
        /// First byte.
        public var start: Int32
        /// Number of bytes.
        public var count: Int32

        /// Makes a slice.
        public init(start: Int32, count: Int32) {
            self.start = start
            self.count = count
        }

        /// An empty value.
        public static let empty = Slice(start: 0, count: 0)
    }

    /// A header field as two slices; names are in lower case.
    public struct Header: Sendable, BitwiseCopyable {
        /// The name.
        public var name: Slice
        /// The value.
        public var value: Slice

        /// Makes a field of slices of the same batch.
        public init(name: Slice, value: Slice) {
            self.name = name
            self.value = value
        }
    }

    /// One request.
    public struct Request: Sendable {
        /// `POST`.
        public var method: Slice
        /// Begins with `/`.
        public var path: Slice
        /// Range in `headers`.
        public var headers: Range<Int32>
        /// The body, already joined.
        public var body: Slice
        /// Range in `items`: the deliveries or changes it stands for.
        public var items: Range<Int32>
        /// Bit i is set if header i differs from request to request and should stay out of the peer's table.
        public var unindexedHeaders: UInt64
        /// Where it goes in place of the endpoint's origin; empty for that origin.
        public var origin: Slice
        /// What comes back in its response.
        public var context: Slice
        /// Texts that the host has shortened for it.
        public var shortened: ShortenedTexts = []

        /// Makes a request of slices and ranges of one batch.
        public init(
            method: Slice, path: Slice, headers: Range<Int32>, body: Slice, items: Range<Int32>,
            unindexedHeaders: UInt64 = 0, origin: Slice = .empty, context: Slice = .empty
        ) {
            self.method = method
            self.path = path
            self.headers = headers
            self.body = body
            self.items = items
            self.unindexedHeaders = unindexedHeaders
            self.origin = origin
            self.context = context
        }
    }

    /// Everything the slices point into.
    public private(set) var bytes: [UInt8] = []
    /// Header fields of all requests.
    public private(set) var headers: [Header] = []
    /// Items of all requests.
    public private(set) var items: [UInt64] = []
    /// The requests.
    public private(set) var requests: [Request] = []

    /// Makes an empty batch.
    public init() {}

    /// Makes a batch of existing parts; nil if a range or slice is out of bounds.
    public init?(
        bytes: [UInt8], headers: [Header], items: [UInt64], requests: [Request]
    ) {
        let end = Int64(bytes.count)
        func isInside(_ slice: Slice) -> Bool {
            slice.start >= 0 && slice.count >= 0 && Int64(slice.start) + Int64(slice.count) <= end
        }
        guard headers.allSatisfy({ isInside($0.name) && isInside($0.value) }),
            requests.allSatisfy({ request in
                isInside(request.method) && isInside(request.path) && isInside(request.body)
                    && isInside(request.origin) && isInside(request.context)
                    && request.headers.lowerBound >= 0
                    && Int(request.headers.upperBound) <= headers.count
                    && request.items.lowerBound >= 0
                    && Int(request.items.upperBound) <= items.count
            })
        else { return nil }
        self.bytes = bytes
        self.headers = headers
        self.items = items
        self.requests = requests
    }

    /// Reserves memory for a known number of requests.
    public mutating func reserve(requests count: Int, bytes byteCount: Int) {
        requests.reserveCapacity(count)
        items.reserveCapacity(count)
        headers.reserveCapacity(count * 8)
        bytes.reserveCapacity(byteCount)
    }

    /// Copies bytes into the batch and returns their slice.
    public mutating func append(bytes source: some Collection<UInt8>) -> Slice {
        let start = Int32(truncatingIfNeeded: bytes.count)
        bytes.append(contentsOf: source)
        return Slice(start: start, count: Int32(truncatingIfNeeded: source.count))
    }

    /// Copies bytes from borrowed memory into the batch and returns their slice.
    public mutating func append(bytes source: UnsafeBufferPointer<UInt8>) -> Slice {
        let start = Int32(truncatingIfNeeded: bytes.count)
        unsafe bytes.append(contentsOf: source)
        return Slice(start: start, count: Int32(truncatingIfNeeded: source.count))
    }

    /// Adds a header field for the next request.
    public mutating func append(header: Header) { headers.append(header) }

    /// Adds an item for the next request.
    public mutating func append(item: UInt64) { items.append(item) }

    /// Adds a request with the headers and items that were added since the previous one.
    public mutating func appendRequest(
        method: Slice, path: Slice, body: Slice, unindexedHeaders: UInt64 = 0,
        origin: Slice = .empty, context: Slice = .empty, shortened: ShortenedTexts = []
    ) {
        let firstHeader = requests.last?.headers.upperBound ?? 0
        let firstItem = requests.last?.items.upperBound ?? 0
        var request = Request(
            method: method, path: path,
            headers: firstHeader..<Int32(truncatingIfNeeded: headers.count), body: body,
            items: firstItem..<Int32(truncatingIfNeeded: items.count),
            unindexedHeaders: unindexedHeaders, origin: origin, context: context)
        request.shortened = shortened
        requests.append(request)
    }

    /// Adds all requests of another batch.
    public mutating func append(contentsOf other: RequestBatch) {
        let byte = Int32(truncatingIfNeeded: bytes.count)
        let header = Int32(truncatingIfNeeded: headers.count)
        let item = Int32(truncatingIfNeeded: items.count)
        func moved(_ slice: Slice) -> Slice {
            Slice(start: slice.start + byte, count: slice.count)
        }
        bytes += other.bytes
        headers += other.headers.map { Header(name: moved($0.name), value: moved($0.value)) }
        items += other.items
        requests += other.requests.map { request in
            var copy = Request(
                method: moved(request.method), path: moved(request.path),
                headers: request.headers.lowerBound + header..<request.headers.upperBound + header,
                body: moved(request.body),
                items: request.items.lowerBound + item..<request.items.upperBound + item,
                unindexedHeaders: request.unindexedHeaders, origin: moved(request.origin),
                context: moved(request.context))
            copy.shortened = request.shortened
            return copy
        }
    }

    /// The bytes of a slice.
    public subscript(slice: Slice) -> ArraySlice<UInt8> {
        bytes[Int(slice.start)..<Int(slice.start) + Int(slice.count)]
    }

    /// Whether a request goes elsewhere than to the endpoint's origin.
    public var namesOrigins: Bool { requests.contains { $0.origin.count > 0 } }

    /// A slice as text, for tests and for logging parts without secrets.
    public func text(_ slice: Slice) -> String { String(decoding: self[slice], as: UTF8.self) }
}

/// Why a request got no response.
public enum TransportFault: String, Sendable, Error {
    /// No connection was made, so nothing was sent.
    case unreachable
    /// The request waited too long to be sent.
    case timeoutUnsent = "timeout_unsent"
    /// It was sent, but no response came in time; its fate is unknown.
    case timeout
    /// The connection ended after it was sent; its fate is unknown.
    case lost
    /// The peer reset this request's stream while the connection went on; its fate is unknown.
    case reset
    /// The pool was shut down before it was sent.
    case stopping
    /// It was withdrawn before it was sent.
    case withdrawn
    /// No connection was made to the origin that this request names; others may be fine.
    case originUnreachable = "origin_unreachable"
    /// The origin that this request names has a private address, where it may not go.
    case originPrivate = "origin_private"
    /// The origin that this request names cannot exist.
    case originInvalid = "origin_invalid"
    /// There was no answer from the origin that this request names; its fate is unknown.
    case originLost = "origin_lost"

    /// Whether the peer may have acted on the request.
    public var isFateUnknown: Bool {
        self == .timeout || self == .lost || self == .reset || self == .originLost
    }

    /// Whether no byte of the request was sent.
    public var isNeverSent: Bool { !isFateUnknown }
}

/// A peer's response to one request: made once, and handed from the connection to the plugin by reference.
public final class HTTPResponse: Sendable {
    /// 200, 410, ...
    public let status: UInt32
    /// Names in lower case; without pseudo headers.
    public let headers: [Attribute]
    /// At most 1 MiB; a longer body is truncated and its stream reset.
    public let body: [UInt8]
    /// The items of the request.
    public let items: [UInt64]
    /// Id of the connection that answered, for `Outcome.reconnect`.
    public let connection: UInt64
    /// The context of the request.
    public let context: [UInt8]
    /// How many of `headers`, the last ones, came after the body.
    public let trailerCount: Int
    /// Texts of the request that the host had shortened.
    public let shortened: ShortenedTexts

    /// Makes a response.
    public init(
        status: UInt32, headers: [Attribute] = [], body: [UInt8] = [], items: [UInt64] = [],
        connection: UInt64 = 0, context: [UInt8] = [], trailerCount: Int = 0,
        shortened: ShortenedTexts = []
    ) {
        self.status = status
        self.headers = headers
        self.body = body
        self.items = items
        self.connection = connection
        self.context = context
        self.trailerCount = trailerCount
        self.shortened = shortened
    }
}
