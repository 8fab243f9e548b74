internal import CSignalbox
internal import SignalboxCore

/// Where one `prepare()` or `classify()` writes; used by one thread, for one call.
final class HTTPSink {
    private(set) var requests = RequestBatch()
    private(set) var outcomes: [Outcome] = []
    private(set) var faults: [String] = []
    private var ledger: ItemLedger

    /// `items`: what has to be taken care of.
    init(items: [UInt64]) {
        ledger = ItemLedger(items)
        requests.reserve(requests: items.count, bytes: items.count * 768)
    }

    /// Nothing was taken care of.
    var isUntouched: Bool { outcomes.isEmpty && requests.requests.isEmpty }

    /// Settles what the plugin forgot, as a passing fault.
    func settleForgotten() {
        let forgotten = ledger.left
        outcomes += forgotten.map { Outcome(item: $0, kind: .retry, reason: "plugin_forgot") }
        if !forgotten.isEmpty {
            faults.append("forgot \(forgotten.count) of \(ledger.items.count) items")
        }
    }

    /// A failing call takes none of its array.
    private func undo(_ places: [Int]) -> sbx_status {
        for place in places { ledger.undo(place) }
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
            guard let place = ledger.take(raw.pointee.item) else { return undo(places) }
            places.append(place)
            if let outcome = CRead.outcome(raw) {
                taken.append(outcome)
            } else {
                faults.append("gave an outcome of the unknown kind \(raw.pointee.kind)")
                taken.append(
                    Outcome(item: ledger.items[place], kind: .retry, reason: "plugin_bad_kind"))
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
            guard Self.isSound(raw), let start = raw.items, raw.item_count > 0 else {
                return undo(places)
            }
            for item in 0..<raw.item_count {
                guard let place = ledger.take(start[item]) else { return undo(places) }
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

    /// Whether a request can go onto a wire without harm to its neighbours.
    private static func isSound(_ raw: sbx_http_request) -> Bool {
        guard RequestRules.isMethod(raw.method.buffer), RequestRules.isPath(raw.path.buffer),
            raw.header_count == 0 || raw.headers != nil,
            raw.body_segments == 0 || raw.body != nil
        else { return false }
        for index in 0..<raw.header_count {
            guard let header = raw.headers?[index],
                RequestRules.isHeader(header.key.buffer, header.value.buffer)
            else { return false }
        }
        return true
    }

    private static func from(_ sink: UnsafeMutablePointer<sbx_http_sink>?) -> HTTPSink? {
        guard let state = sink?.pointee.state else { return nil }
        return Unmanaged<HTTPSink>.fromOpaque(state).takeUnretainedValue()
    }

    /// The struct for the plugin; lives as long as the arena's call.
    func table(in arena: CArena) -> UnsafeMutablePointer<sbx_http_sink> {
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
