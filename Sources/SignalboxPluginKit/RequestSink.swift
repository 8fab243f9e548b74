internal import CSignalbox

/// A request that is being written: one run of bytes, reused for the next request, so that a request
/// costs no allocation.
public struct RequestDraft {
    private struct Slice {
        var start: Int
        var count: Int
    }

    private var bytes: [UInt8] = []
    private var method = Slice(start: 0, count: 0)
    private var path = Slice(start: 0, count: 0)
    private var headers: [(name: Slice, value: Slice)] = []
    private var unindexed: UInt64 = 0
    private var body = Slice(start: 0, count: 0)
    private var origin: [UInt8] = []
    private var context: [UInt8] = []

    /// Makes an empty draft; use one for a whole batch.
    public init() {
        bytes.reserveCapacity(8192)
        headers.reserveCapacity(8)
    }

    /// Starts the next request.
    public mutating func begin(_ method: String, path: String) {
        bytes.removeAll(keepingCapacity: true)
        headers.removeAll(keepingCapacity: true)
        unindexed = 0
        origin.removeAll(keepingCapacity: true)
        context.removeAll(keepingCapacity: true)
        self.method = append(method)
        self.path = append(path)
        body = Slice(start: 0, count: 0)
    }

    /// Sends it to this origin in place of the endpoint's, which has `isREST`: `https://push.example.org`.
    public mutating func setOrigin(_ origin: String) { self.origin = Array(origin.utf8) }

    /// Has these bytes, at most 256, come back in the response.
    public mutating func setContext(_ context: String) { self.context = Array(context.utf8) }

    /// Adds to the path; the bytes must already be percent-encoded.
    public mutating func appendPath(_ part: Span<UInt8>) {
        let more = append(part)
        path.count += more.count
    }

    /// Adds a header field; the name is in lower case.
    ///
    /// Set `isIndexed` to false for a value that differs from request to request (an id, an expiry), so that
    /// the provider's HPACK table does not keep it.
    public mutating func header(_ name: String, _ value: String, isIndexed: Bool = true) {
        if !isIndexed, headers.count < 64 { unindexed |= 1 << UInt64(headers.count) }
        headers.append((append(name), append(value)))
    }

    /// Adds a header field with a value of bytes.
    public mutating func header(_ name: String, _ value: Span<UInt8>, isIndexed: Bool = true) {
        if !isIndexed, headers.count < 64 { unindexed |= 1 << UInt64(headers.count) }
        headers.append((append(name), append(value)))
    }

    /// Adds to the body; nothing else may be added afterwards.
    public mutating func appendBody(_ part: Span<UInt8>) {
        let more = append(part)
        if body.count == 0 { body = more } else { body.count += more.count }
    }

    /// Adds text to the inside of a JSON string in the body.
    public mutating func appendBodyEscaped(_ part: Span<UInt8>) {
        let start = bytes.count
        for index in part.indices { JSONWriter.append(part[index], to: &bytes) }
        let more = Slice(start: start, count: bytes.count - start)
        if body.count == 0 { body = more } else { body.count += more.count }
    }

    private mutating func append(_ text: String) -> Slice {
        let start = bytes.count
        text.utf8.span.withUnsafeBufferPointer { bytes.append(contentsOf: $0) }
        return Slice(start: start, count: bytes.count - start)
    }

    private mutating func append(_ part: Span<UInt8>) -> Slice {
        let start = bytes.count
        part.withUnsafeBufferPointer { bytes.append(contentsOf: $0) }
        return Slice(start: start, count: part.count)
    }

    func withRaw<Result>(items: [UInt64], _ call: (UnsafePointer<sbx_http_request>) -> Result)
        -> Result
    {
        bytes.withUnsafeBytes { all in
            func text(_ slice: Slice) -> sbx_str {
                let start = all.baseAddress.map { $0 + slice.start }
                return sbx_str(
                    ptr: start?.assumingMemoryBound(to: CChar.self), len: slice.count)
            }
            return withUnsafeTemporaryAllocation(of: sbx_kv.self, capacity: headers.count) { list in
                for (index, header) in headers.enumerated() {
                    list[index] = sbx_kv(key: text(header.name), value: text(header.value))
                }
                var segment = text(body)
                var raw = sbx_http_request()
                raw.struct_size = UInt32(MemoryLayout<sbx_http_request>.size)
                raw.method = text(method)
                raw.path = text(path)
                raw.headers = UnsafePointer(list.baseAddress)
                raw.header_count = headers.count
                raw.body_segments = 1
                raw.item_count = items.count
                raw.unindexed_headers = unindexed
                return withUnsafePointer(to: &segment) { segment in
                    items.withUnsafeBufferPointer { ids in
                        origin.borrowed { origin in
                            context.borrowed { context in
                                raw.body = segment
                                raw.items = ids.baseAddress
                                raw.origin = origin
                                raw.context = context
                                return withUnsafePointer(to: &raw) { call($0) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Receives requests and outcomes; valid during `prepare` or `classify`.
public struct RequestSink: ~Copyable {
    private let raw: UnsafeMutablePointer<sbx_http_sink>
    /// Reused for each settlement.
    private let arena = Arena()

    init(_ raw: UnsafeMutablePointer<sbx_http_sink>) { self.raw = raw }

    /// Sends a request for one delivery.
    public func send(_ draft: RequestDraft, for item: UInt64) throws(PluginError) {
        try send(draft, for: [item])
    }

    /// Sends a request for several items.
    public func send(_ draft: RequestDraft, for items: [UInt64]) throws(PluginError) {
        let status = draft.withRaw(items: items) { request in
            raw.pointee.request(raw, request, 1, MemoryLayout<sbx_http_request>.stride)
        }
        try PluginError.check(status, "the host rejected the request")
    }

    /// Settles deliveries.
    public func settle(_ items: [UInt64], _ outcome: Outcome) throws(PluginError) {
        try items.withUnsafeBufferPointer { items throws(PluginError) in
            try settle(items, outcome)
        }
    }

    /// Settles the deliveries that a response answers.
    public func settle(_ response: borrowing Response, _ outcome: Outcome) throws(PluginError) {
        try settle(response.rawItems, outcome)
    }

    private func settle(
        _ items: UnsafeBufferPointer<UInt64>, _ outcome: Outcome
    ) throws(PluginError) {
        arena.reset()
        let list = arena.array(sbx_outcome.self, items.count)
        for (index, item) in items.enumerated() {
            outcome.write(item: item, to: list + index, arena)
        }
        let status = raw.pointee.settle(
            raw, list, items.count, MemoryLayout<sbx_outcome>.stride)
        try PluginError.check(status, "the host rejected the outcome")
    }
}

extension [UInt8] {
    /// Lends the bytes for one call.
    fileprivate func borrowed<Result>(_ body: (sbx_str) -> Result) -> Result {
        withUnsafeBytes {
            body(
                sbx_str(
                    ptr: $0.baseAddress?.assumingMemoryBound(to: CChar.self), len: $0.count))
        }
    }
}
