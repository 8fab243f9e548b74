package import CSignalbox
package import SignalboxCore

/// Where one `prepare()` or `classify()` writes; used by one thread, for one call.
package final class HTTPSink {
    /// Requests that were taken.
    package private(set) var requests = RequestBatch()
    /// Outcomes that were taken.
    package private(set) var outcomes: [Outcome] = []
    /// What the plugin did against the contract.
    package private(set) var faults: [String] = []
    /// Why the last call that was refused was refused.
    package private(set) var refusal = ""
    private let items: [UInt64]
    private var isTaken: [Bool]
    private var cursor = 0

    /// `items`: what has to be taken care of.
    package init(items: [UInt64]) {
        self.items = items
        isTaken = [Bool](repeating: false, count: items.count)
        requests.reserve(requests: items.count, bytes: items.count * 768)
    }

    /// Nothing was taken care of.
    package var isUntouched: Bool { outcomes.isEmpty && requests.requests.isEmpty }

    /// Settles what the plugin forgot, as a passing fault.
    package func settleForgotten() {
        var count = 0
        for (index, taken) in isTaken.enumerated() where !taken {
            outcomes.append(Outcome(item: items[index], kind: .retry, reason: "plugin_forgot"))
            count += 1
        }
        if count > 0 { faults.append("forgot \(count) of \(items.count) items") }
    }

    /// The place of an item that is not taken care of; plugins go through them in order, so the
    /// search mostly ends at once.
    private func place(_ item: UInt64) -> Int? {
        for step in 0..<items.count {
            let index = (cursor + step) % items.count
            if items[index] == item {
                guard !isTaken[index] else { return nil }
                return index
            }
        }
        return nil
    }

    /// Marks an item as taken care of; nil: it is unknown or was marked before.
    private func take(_ item: UInt64) -> Int? {
        guard let place = place(item) else {
            refusal =
                items.contains(item)
                ? "item \(item) was taken care of before" : "there is no item \(item)"
            return nil
        }
        isTaken[place] = true
        cursor = (place + 1) % items.count
        return place
    }

    /// A failing call takes none of its array.
    private func undo(_ places: [Int]) -> sbx_status {
        for place in places { isTaken[place] = false }
        return SBX_E_INVALID
    }

    private func settle(
        _ given: UnsafePointer<sbx_outcome>?, _ count: Int, _ stride: Int
    ) -> sbx_status {
        guard let given else { return count == 0 ? SBX_OK : SBX_E_INVALID }
        var places: [Int] = []
        var taken: [Outcome] = []
        for index in 0..<count {
            let raw = given.element(index, stride: stride)
            guard let place = take(raw.pointee.item) else { return undo(places) }
            places.append(place)
            if let outcome = CRead.outcome(raw) {
                taken.append(outcome)
            } else {
                faults.append("gave an outcome of the unknown kind \(raw.pointee.kind)")
                taken.append(Outcome(item: items[place], kind: .retry, reason: "plugin_bad_kind"))
            }
        }
        outcomes += taken
        return SBX_OK
    }

    private func request(
        _ given: UnsafePointer<sbx_http_request>?, _ count: Int, _ stride: Int
    ) -> sbx_status {
        guard let given else { return count == 0 ? SBX_OK : SBX_E_INVALID }
        // All are checked before any is taken.
        var places: [Int] = []
        for index in 0..<count {
            let raw = given.element(index, stride: stride).pointee
            let fault = Self.fault(of: raw)
            guard fault == nil, let start = raw.items, raw.item_count > 0 else {
                refusal = fault ?? "a request stands for no item"
                return undo(places)
            }
            for item in 0..<raw.item_count {
                guard let place = take(start[item]) else { return undo(places) }
                places.append(place)
            }
        }
        for index in 0..<count { append(given.element(index, stride: stride).pointee) }
        return SBX_OK
    }

    private func append(_ raw: sbx_http_request) {
        let method = requests.append(bytes: raw.method.buffer)
        let path = requests.append(bytes: raw.path.buffer)
        for index in 0..<raw.header_count {
            guard let header = raw.headers?[index] else { break }
            let name = requests.append(bytes: header.key.buffer)
            let value = requests.append(bytes: header.value.buffer)
            requests.append(header: .init(name: name, value: value))
        }
        var body = RequestBatch.Slice.empty
        for index in 0..<raw.body_segments {
            guard let segment = raw.body?[index] else { break }
            let part = requests.append(bytes: segment.buffer)
            // Segments are copied one behind the other, so the body is one slice.
            if index == 0 { body = part } else { body.count += part.count }
        }
        for index in 0..<raw.item_count {
            if let item = raw.items?[index] { requests.append(item: item) }
        }
        requests.appendRequest(method: method, path: path, body: body)
    }

    /// Why a request cannot go onto a wire without harm to its neighbours; nil: it can.
    private static func fault(of raw: sbx_http_request) -> String? {
        guard !raw.method.isEmpty, raw.method.buffer.allSatisfy({ isToken($0) }) else {
            return "the method is not a word"
        }
        guard raw.path.buffer.first == UInt8(ascii: "/") else {
            return "the path does not begin with /"
        }
        guard raw.path.buffer.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            return "the path has characters that must be percent-encoded"
        }
        guard raw.header_count == 0 || raw.headers != nil,
            raw.body_segments == 0 || raw.body != nil
        else { return "an array is NULL and has a length" }
        for index in 0..<raw.header_count {
            guard let header = raw.headers?[index] else { continue }
            guard !header.key.isEmpty,
                header.key.buffer.allSatisfy({
                    isToken($0) && !(UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0)
                })
            else { return "the name of a header is not a word in lower case" }
            guard header.value.buffer.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
                return "the value of a header has control characters"
            }
        }
        return nil
    }

    private static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
            UInt8(ascii: "."):
            true
        default: false
        }
    }

    private static func from(_ sink: UnsafeMutablePointer<sbx_http_sink>?) -> HTTPSink? {
        guard let state = sink?.pointee.state else { return nil }
        return Unmanaged<HTTPSink>.fromOpaque(state).takeUnretainedValue()
    }

    /// The struct for the plugin; lives as long as the arena's call.
    package func table(in arena: CArena) -> UnsafeMutablePointer<sbx_http_sink> {
        let table = arena.make(sbx_http_sink.self)
        table.pointee.struct_size = UInt32(MemoryLayout<sbx_http_sink>.size)
        table.pointee.state = Unmanaged.passUnretained(self).toOpaque()
        table.pointee.request = { sink, requests, count, stride in
            HTTPSink.from(sink)?.request(requests, count, stride) ?? SBX_E_INVALID
        }
        table.pointee.settle = { sink, outcomes, count, stride in
            HTTPSink.from(sink)?.settle(outcomes, count, stride) ?? SBX_E_INVALID
        }
        return table
    }
}
