internal import SignalboxCore

/// The items to handle in one call, and those that were handled; each exactly once.
struct ItemLedger {
    let items: [UInt64]
    /// Bits of the first 64 items, which are all that most calls have.
    private var firstTaken: UInt64 = 0
    private var restTaken: [Bool] = []
    private var cursor = 0
    private var takenCount = 0

    init(_ items: [UInt64]) {
        self.items = items
        if items.count > 64 { restTaken = Array(repeating: false, count: items.count - 64) }
    }

    private subscript(isTaken place: Int) -> Bool {
        get { place < 64 ? firstTaken >> UInt64(place) & 1 == 1 : restTaken[place - 64] }
        set {
            guard place < 64 else { return restTaken[place - 64] = newValue }
            let bit = UInt64(1) << UInt64(place)
            firstTaken = newValue ? firstTaken | bit : firstTaken & ~bit
        }
    }

    /// Items that were not handled.
    var left: [UInt64] {
        takenCount == items.count
            ? [] : items.indices.filter { !self[isTaken: $0] }.map { items[$0] }
    }

    /// Marks an item as handled and returns its place; nil if it is unknown or was marked before.
    mutating func take(_ item: UInt64) -> Int? {
        guard let place = place(item) else { return nil }
        self[isTaken: place] = true
        takenCount += 1
        cursor = place + 1 == items.count ? 0 : place + 1
        return place
    }

    /// Marks an item as not handled after all.
    mutating func undo(_ place: Int) {
        self[isTaken: place] = false
        takenCount -= 1
    }

    /// Plugins go through items in order, so the search usually ends at once.
    private func place(_ item: UInt64) -> Int? {
        for step in 0..<items.count {
            let index = (cursor + step) % items.count
            if items[index] == item { return self[isTaken: index] ? nil : index }
        }
        return nil
    }
}

/// The rules for requests, so that one does no harm to others on its connection.
enum RequestRules {
    /// Most bytes of a request, all parts together.
    static let bytesMax = 1 << 20
    /// Most bytes of its path and headers: peers end a connection that brings more.
    private static let fieldBytesMax = 1 << 16

    /// Which limit of a request is exceeded; nil if none is.
    static func excess(headers: Int, segments: Int) -> String? {
        headers <= 1_000 && segments <= 10_000 ? nil : "1000 headers, or 10000 segments of the body"
    }

    static func excess(fieldBytes: Int, bodyBytes: Int) -> String? {
        if fieldBytes > fieldBytesMax { return "\(fieldBytesMax) bytes of path and headers" }
        return fieldBytes + bodyBytes > bytesMax ? "\(bytesMax) bytes" : nil
    }

    static func isMethod(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        (1...32).contains(bytes.count) && bytes.allSatisfy { isToken($0) }
    }

    static func isPath(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var bad: UInt8 = bytes.first == UInt8(ascii: "/") ? 0 : 1
        for byte in bytes { bad |= byte &- 0x21 < 0x5E ? 0 : 1 }
        return bad == 0
    }

    /// Whether a text is `https://` with a host and perhaps a port, and nothing else.
    static func isOrigin(_ text: String) -> Bool {
        guard text.hasPrefix("https://") else { return false }
        let rest = text.utf8.dropFirst("https://".utf8.count)
        guard let first = rest.first, let last = rest.last, first != UInt8(ascii: ":"),
            last != UInt8(ascii: ":")
        else { return false }
        return rest.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"),
                UInt8(ascii: ":"), UInt8(ascii: "["), UInt8(ascii: "]"):
                true
            default: false
            }
        }
    }

    static func isHeader(
        _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>
    ) -> Bool {
        isHeaderName(name) && isHeaderValue(value)
    }

    static func isHeaderName(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        !name.isEmpty
            && name.allSatisfy {
                isToken($0) && !(UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0)
            }
    }

    static func isHeaderValue(_ value: UnsafeBufferPointer<UInt8>) -> Bool {
        // No early exit, so that many bytes are checked in one step.
        var bad: UInt8 = 0
        for byte in value {
            bad |= (byte < 0x20 ? 1 : 0) & (byte == 0x09 ? 0 : 1) | (byte == 0x7F ? 1 : 0)
        }
        return bad == 0
    }

    /// A field value without the white space at its ends, for which peers reset the stream (RFC 9113, 8.2.1).
    static func trimmed(
        _ slice: RequestBatch.Slice, _ value: UnsafeBufferPointer<UInt8>
    ) -> RequestBatch.Slice {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
        guard let first = value.first, let last = value.last, isSpace(first) || isSpace(last)
        else { return slice }
        let start = value.firstIndex { !isSpace($0) } ?? value.count
        let end = value.lastIndex { !isSpace($0) }.map { $0 + 1 } ?? start
        return RequestBatch.Slice(
            start: slice.start + Int32(start), count: Int32(max(0, end - start)))
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

    /// Headers may share their bytes, so that many would take little of a message.
    private static func isWithinBounds(
        _ request: RequestBatch.Request, _ batch: RequestBatch
    ) -> Bool {
        guard excess(headers: request.headers.count, segments: 0) == nil else { return false }
        let fieldBytes = request.headers.reduce(Int(request.path.count)) { bytes, index in
            let header = batch.headers[Int(index)]
            return bytes + Int(header.name.count) + Int(header.value.count)
        }
        return excess(fieldBytes: fieldBytes, bodyBytes: Int(request.body.count)) == nil
    }

    /// Checks a result from another process: requests must be valid, and each item handled once.
    static func check(
        _ batch: RequestBatch, _ settled: [Outcome], of items: [UInt64]
    ) throws(WireFault) {
        var ledger = ItemLedger(items)
        let isSound = batch.bytes.withUnsafeBufferPointer { bytes -> Bool in
            func part(_ slice: RequestBatch.Slice) -> UnsafeBufferPointer<UInt8> {
                let start = Int(slice.start)
                return UnsafeBufferPointer(rebasing: bytes[start..<start + Int(slice.count)])
            }
            return batch.requests.allSatisfy { request in
                !request.items.isEmpty && isWithinBounds(request, batch)
                    && isMethod(part(request.method))
                    && request.context.count <= 256
                    && (request.origin.count == 0 || isOrigin(batch.text(request.origin)))
                    && isPath(part(request.path))
                    && request.headers.allSatisfy { index in
                        let header = batch.headers[Int(index)]
                        let value = part(header.value)
                        return isHeader(part(header.name), value)
                            && trimmed(header.value, value) == header.value
                    }
                    && request.items.allSatisfy { ledger.take(batch.items[Int($0)]) != nil }
            }
        }
        guard isSound else { throw WireFault("a request is malformed, or not of this call") }
        for outcome in settled where ledger.take(outcome.item) == nil {
            throw WireFault("an outcome is not of this call")
        }
        guard ledger.left.isEmpty else { throw WireFault("items were forgotten") }
    }
}

/// The limits of a request's result that comes from another process.
enum IngestRules {
    private static let rejectsMax = 10_000

    static func check(
        _ result: inout IngestResult, _ limits: Limits, source: String
    ) throws(WireFault) {
        guard result.events.count <= limits.eventsPerRequestMax,
            result.changes.count <= limits.eventsPerRequestMax,
            result.rejects.count <= rejectsMax,
            result.events.allSatisfy({ event in
                !event.type.isEmpty && event.recipients.count <= limits.devicesPerEventMax
            }), result.changes.allSatisfy(\.isSound),
            result.answer.map({ (200...599).contains($0.status) }) ?? true,
            result.fault == nil || result.events.isEmpty && result.changes.isEmpty
        else { throw WireFault("the result of a request is out of bounds") }
        for index in result.events.indices {
            result.events[index].source = source
            let data = result.events[index].data
            result.events[index].parsed = JSONKinds.object(data)
            guard data.isEmpty || result.events[index].parsed != nil else {
                throw WireFault("the data of an event is not a JSON object")
            }
        }
    }
}
