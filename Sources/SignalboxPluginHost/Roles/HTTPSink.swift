package import CSignalbox
internal import Glibc
package import SignalboxCore

/// The sink of one `prepare()` or `classify()` call; used by one thread.
package final class HTTPSink: HostSink {
    /// Requests that were accepted.
    package private(set) var requests = RequestBatch()
    /// Outcomes that were accepted.
    package private(set) var outcomes: [Outcome] = []
    /// How the plugin broke the contract.
    package private(set) var faults: [String] = []
    /// Why the last rejected call was rejected.
    package private(set) var refusal = ""
    /// The same for people; nil if none was.
    var refusedWords: String? {
        refusal.isEmpty ? nil : "a call of its sink was refused: \(refusal)"
    }
    private var ledger: ItemLedger
    /// The deliveries of the items, in their order, if texts of theirs may be shortened.
    private let deliveries: [Delivery]
    /// Texts that were shortened, by content: a plugin may fit a content once for many deliveries.
    private var shortened: [ObjectIdentifier: ShortenedTexts] = [:]
    private let structs: StructReader
    private var hasBadStruct = false

    /// `items` must all be handled; `makesRequests` means most of them by a request.
    package init(
        items: [UInt64], of deliveries: [Delivery] = [], makesRequests: Bool = false,
        structs: StructReader
    ) {
        self.deliveries = deliveries
        ledger = ItemLedger(items)
        self.structs = structs
        if makesRequests { requests.reserve(requests: items.count, bytes: items.count * 768) }
    }

    /// Whether no item was handled.
    package var isUntouched: Bool { outcomes.isEmpty && requests.requests.isEmpty }

    /// Settles the items that the plugin forgot, or whose request was refused, as retries. Those whose `responses` are 2xx
    /// count as delivered, as do those that it gave an unknown kind: their provider would get them twice.
    package func settleForgotten(of responses: [HTTPResponse] = []) {
        let forgotten = ledger.left
        guard !forgotten.isEmpty || !faults.isEmpty else { return }
        let taken = Set(responses.lazy.filter { $0.status / 100 == 2 }.flatMap(\.items))
        for place in outcomes.indices
        where outcomes[place].reason == Outcome.unknownKind && taken.contains(outcomes[place].item)
        {
            outcomes[place].kind = .delivered
        }
        guard !forgotten.isEmpty else { return }
        let reason =
            hasBadStruct
            ? "plugin_bad_struct" : refusal.isEmpty ? "plugin_forgot" : "plugin_bad_request"
        outcomes += forgotten.map {
            Outcome(item: $0, kind: taken.contains($0) ? .delivered : .retry, reason: reason)
        }
        let count = "\(forgotten.count) of \(ledger.items.count) items"
        // A bad struct is reported where it is read.
        faults.append(
            refusal.isEmpty || hasBadStruct
                ? "forgot \(count)" : "left \(count), since a call was refused: \(refusal)")
    }

    /// Marks an item as handled; nil if it is unknown or was marked before.
    private func take(_ item: UInt64) -> Int? {
        if let place = ledger.take(item) { return place }
        refusal =
            ledger.items.contains(item)
            ? "item \(item) was taken care of before" : "there is no item \(item)"
        return nil
    }

    /// A failed call takes no item of its array.
    private func undo(_ places: [Int]) -> sbx_status {
        for place in places { ledger.undo(place) }
        return SBX_E_INVALID
    }

    /// Runs `body`, which reads the arguments of a call; a rejected call takes none of its items.
    private func reading<Result>(
        _ call: String, _ body: () throws(StructFault) -> Result
    ) -> Result? {
        if let result = structs.reading(call, body) { return result }
        hasBadStruct = true
        refusal = "a struct is malformed"
        return nil
    }

    private func settle(
        _ given: UnsafePointer<sbx_outcome>?, _ count: Int, _ stride: Int
    ) -> sbx_status {
        guard let given, count > 0 else { return count == 0 ? SBX_OK : SBX_E_INVALID }
        if outcomes.capacity == 0 { outcomes.reserveCapacity(ledger.items.count) }
        var places: [Int] = []
        let taken = outcomes.count
        for index in 0..<count {
            let read = reading("settle()") { () throws(StructFault) in
                try structs.read(given, index, stride: stride)
            }
            guard let raw = read, let place = take(raw.item) else {
                outcomes.removeLast(outcomes.count - taken)
                return undo(places)
            }
            // Most calls settle one item and need no list.
            if count > 1 { places.append(place) }
            outcomes.append(Outcome(settling: ledger.items[place], raw, faults: &faults))
        }
        return SBX_OK
    }

    private func request(
        _ given: UnsafePointer<sbx_http_request>?, _ count: Int, _ stride: Int
    ) -> sbx_status {
        guard let given, count > 0 else { return count == 0 ? SBX_OK : SBX_E_INVALID }
        func read(_ index: Int) -> sbx_http_request? {
            reading("request()") { () throws(StructFault) in
                try structs.read(given, index, stride: stride)
            }
        }
        // All are checked before any is taken.
        var places: [Int] = []
        for index in 0..<count {
            guard let raw = read(index) else { return undo(places) }
            guard raw.origin.len <= 300, raw.context.len <= 256 else {
                refusal = "an origin is over 300 bytes, or a context over 256"
                return undo(places)
            }
            if let excess = Self.excess(of: raw) {
                refusal = "a request is over \(excess)"
                faults.append("wrote a request of over \(excess)")
                return undo(places)
            }
            let fault = fault(of: raw)
            guard fault == nil, let start = raw.items, raw.item_count > 0 else {
                refusal = fault ?? "a request stands for no item"
                return undo(places)
            }
            for item in 0..<raw.item_count {
                guard let place = take(start[item]) else { return undo(places) }
                // Most calls make one request for one item and need no list.
                if count > 1 || raw.item_count > 1 { places.append(place) }
            }
        }
        for index in 0..<count {
            if let raw = read(index) { append(raw) }
        }
        return SBX_OK
    }

    private func append(_ raw: sbx_http_request) {
        // One copy if the parts are adjacent in memory, otherwise one per part.
        var run = RequestRun.bytes(of: raw).map { requests.append(bytes: $0) }
        func put(_ text: sbx_str) -> RequestBatch.Slice {
            let count = text.buffer.count
            guard let start = run?.start else { return requests.append(bytes: text.buffer) }
            run?.start += Int32(count)
            return RequestBatch.Slice(start: start, count: Int32(count))
        }
        let method = put(raw.method)
        let path = put(raw.path)
        for index in 0..<raw.header_count {
            guard let header = raw.headers?[index] else { break }
            let name = put(header.key)
            let value = RequestRules.trimmed(put(header.value), header.value.buffer)
            requests.append(header: .init(name: name, value: value))
        }
        var body = RequestBatch.Slice.empty
        for index in 0..<raw.body_segments {
            guard let segment = raw.body?[index] else { break }
            let part = put(segment)
            // Segments are copied back to back, so the body is one slice.
            if index == 0 { body = part } else { body.count += part.count }
        }
        for index in 0..<raw.item_count {
            if let item = raw.items?[index] { requests.append(item: item) }
        }
        let hasMore = raw.origin.len > 0 || raw.context.len > 0
        requests.appendRequest(
            method: method, path: path, body: body, unindexedHeaders: raw.unindexed_headers,
            origin: hasMore ? requests.append(bytes: raw.origin.buffer) : .empty,
            context: hasMore ? requests.append(bytes: raw.context.buffer) : .empty,
            shortened: deliveries.isEmpty ? [] : shortened(for: raw.items?[0]))
    }

    /// What was shortened for a request that is being made.
    private func shortened(for item: UInt64?) -> ShortenedTexts {
        let fit = CallScope.current?.takeFit()
        // Nearly always nothing.
        guard fit?.isEmpty == false || !shortened.isEmpty, let item,
            let place = ledger.items.firstIndex(of: item)
        else { return [] }
        let content = ObjectIdentifier(deliveries[place].content)
        if let fit { shortened[content] = fit }
        return shortened[content] ?? []
    }

    /// Why a request would harm others on its connection; nil if it would not.
    private func fault(of raw: sbx_http_request) -> String? {
        guard RequestRules.isMethod(raw.method.buffer) else { return "the method is not a word" }
        guard raw.path.buffer.first == UInt8(ascii: "/") else {
            return "the path does not begin with /"
        }
        guard RequestRules.isPath(raw.path.buffer) else {
            return "the path has characters that must be percent-encoded"
        }
        guard raw.header_count == 0 || raw.headers != nil,
            raw.body_segments == 0 || raw.body != nil
        else { return "an array is NULL and has a length" }
        guard raw.origin.isEmpty || RequestRules.isOrigin(raw.origin.text) else {
            return "an origin is not https:// with a host, and nothing else but a port"
        }
        for index in 0..<raw.header_count {
            guard let header = raw.headers?[index] else { continue }
            guard
                isOfLastRequest(header.key.buffer, index)
                    || RequestRules.isHeaderName(header.key.buffer)
            else {
                return "the name of a header is not a word in lower case"
            }
            guard RequestRules.isHeaderValue(header.value.buffer) else {
                return "the value of a header has control characters"
            }
        }
        return nil
    }

    /// Whether the previous request had the same name in the same place, so that it is already checked.
    private func isOfLastRequest(_ name: UnsafeBufferPointer<UInt8>, _ index: Int) -> Bool {
        guard let last = requests.requests.last, index < last.headers.count,
            let start = name.baseAddress
        else { return false }
        let known = requests.headers[Int(last.headers.lowerBound) + index].name
        guard Int(known.count) == name.count else { return false }
        return requests.bytes.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return false }
            return memcmp(base + Int(known.start), start, name.count) == 0
        }
    }

    private static func excess(of raw: sbx_http_request) -> String? {
        // A length may be any number.
        func size(_ text: sbx_str) -> Int { min(RequestRules.bytesMax, text.raw.count) }
        let (headers, segments) = (raw.header_count, raw.body_segments)
        if let excess = RequestRules.excess(headers: headers, segments: segments) { return excess }
        var (fieldBytes, bodyBytes) = (size(raw.path), 0)
        for index in 0..<headers {
            guard let header = raw.headers?[index] else { break }
            fieldBytes += size(header.key) + size(header.value)
        }
        for index in 0..<segments {
            guard let segment = raw.body?[index] else { break }
            bodyBytes += size(segment)
        }
        return RequestRules.excess(fieldBytes: fieldBytes, bodyBytes: bodyBytes)
    }

    package static let slots: SinkSlots<sbx_http_sink> = SinkSlots { functions }

    /// Lead to the sink.
    package static var functions: sbx_http_sink {
        var table = sbx_http_sink()
        table.struct_size = UInt32(MemoryLayout<sbx_http_sink>.size)
        table.request = { sink, requests, count, stride in
            HTTPSink.from(sink)?.request(requests, count, stride) ?? HTTPSink.slots.late(sink)
        }
        table.settle = { sink, outcomes, count, stride in
            HTTPSink.from(sink)?.settle(outcomes, count, stride) ?? HTTPSink.slots.late(sink)
        }
        return table
    }
}
