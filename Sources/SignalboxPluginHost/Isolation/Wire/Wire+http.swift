internal import SignalboxCore

/// Deliveries as a plugin sees them; a shared content is sent once.
struct WireDeliveries: WireValue {
    let deliveries: [Delivery]

    init(_ deliveries: [Delivery]) { self.deliveries = deliveries }

    func write(to writer: WireWriter) {
        var contents: [SharedNotification] = []
        var places: [ObjectIdentifier: UInt32] = [:]
        var last: (id: ObjectIdentifier, place: UInt32)?
        let chosen = deliveries.map { delivery -> UInt32 in
            let id = ObjectIdentifier(delivery.content)
            if let last, last.id == id { return last.place }
            let place = places[id] ?? UInt32(contents.count)
            if places[id] == nil {
                places[id] = place
                contents.append(delivery.content)
            }
            last = (id, place)
            return place
        }
        writer.put(contents.map(\.notification))
        for content in contents { writer.put(content.receivedUnixMs) }
        writer.put(UInt32(deliveries.count))
        for (delivery, place) in zip(deliveries, chosen) {
            writer.put(record: DeliveryRecord(delivery, content: place))
        }
    }

    init(from reader: inout WireReader) throws(WireFault) {
        let contents = try reader.list(PushNotification.self).map { note throws(WireFault) in
            (note, try reader.number(UInt64.self))
        }.map { SharedNotification($0, receivedUnixMs: $1) }
        deliveries = try reader.list(DeliveryRecord.self).map { record throws(WireFault) in
            guard record.content < contents.count else {
                throw WireFault("there is no such content")
            }
            return Delivery(
                id: record.id, eventID: 0, route: "", sender: "", stableID: record.stableID,
                attempt: record.attempt, badge: record.badge,
                deadlineUnixMs: record.deadlineUnixMs, content: contents[Int(record.content)],
                device: record.device)
        }
    }
}

extension HTTPResponse: WireValue {
    func write(to writer: WireWriter) {
        writer.put(status)
        writer.put(headers)
        writer.put(body)
        writer.put(UInt32(items.count))
        items.withUnsafeBytes { writer.append($0) }
        writer.put(context)
        writer.put(UInt32(trailerCount))
    }

    init(from reader: inout WireReader) throws(WireFault) {
        self.init(
            status: try reader.number(), headers: try reader.list(), body: try reader.bytes(),
            items: try reader.items())
        context = try reader.bytes()
        trailerCount = Int(try reader.number(UInt32.self))
        guard trailerCount <= headers.count else { throw WireFault("there are no such trailers") }
    }
}

extension Outcome: WireValue {
    func write(to writer: WireWriter) {
        writer.put(item)
        writer.put(kind.rawValue)
        writer.put(scope.rawValue)
        writer.put(reconnect)
        writer.put(suspectsToken)
        writer.put(retryAfterMs)
        writer.put(goneSinceUnixMs)
        writer.put(providerCode)
        for text in [reason, detail, providerID, newToken, credential] { writer.put(text) }
    }

    init(from reader: inout WireReader) throws(WireFault) {
        let item = try reader.number(UInt64.self)
        guard let kind = Kind(rawValue: try reader.number()),
            let scope = Scope(rawValue: try reader.number())
        else { throw WireFault("there is no such kind of outcome") }
        self.init(item: item, kind: kind)
        self.scope = scope
        reconnect = try reader.flag()
        suspectsToken = try reader.flag()
        retryAfterMs = try reader.number()
        goneSinceUnixMs = try reader.number()
        providerCode = try reader.number()
        reason = try reader.text()
        detail = try reader.text()
        providerID = try reader.text()
        newToken = try reader.text()
        credential = try reader.text()
    }
}

extension RequestBatch: WireValue {
    func write(to writer: WireWriter) {
        writer.put(bytes)
        writer.put(UInt32(headers.count))
        headers.withUnsafeBytes { writer.append($0) }
        writer.put(UInt32(items.count))
        items.withUnsafeBytes { writer.append($0) }
        writer.put(UInt32(requests.count))
        for request in requests {
            writer.put(request.method)
            writer.put(request.path)
            writer.put(request.headers)
            writer.put(request.body)
            writer.put(request.items)
            writer.put(request.unindexedHeaders)
            writer.put(request.origin)
            writer.put(request.context)
            writer.put(request.shortened.rawValue)
        }
    }

    init(from reader: inout WireReader) throws(WireFault) {
        let bytes = try reader.bytes()
        let count = try reader.count(least: MemoryLayout<Header>.stride)
        // A header is four numbers of any value; whether they are in range is checked below.
        let raw = try reader.raw(count: count * MemoryLayout<Header>.stride)
        let headers = [Header](unsafeUninitializedCapacity: count) { room, filled in
            UnsafeMutableRawBufferPointer(room).copyMemory(from: raw)
            filled = count
        }
        let items = try reader.items()
        var requests: [Request] = []
        let requestCount = try reader.count(least: 64)
        requests.reserveCapacity(requestCount)
        for _ in 0..<requestCount {
            var request = Request(
                method: try reader.slice(), path: try reader.slice(),
                headers: try reader.range(), body: try reader.slice(),
                items: try reader.range(), unindexedHeaders: try reader.number(),
                origin: try reader.slice(), context: try reader.slice())
            request.shortened = ShortenedTexts(rawValue: try reader.number())
            requests.append(request)
        }
        guard
            let batch = RequestBatch(
                bytes: bytes, headers: headers, items: items, requests: requests)
        else { throw WireFault("a request reaches beyond its batch") }
        self = batch
    }
}

extension WireWriter {
    func put(_ slice: RequestBatch.Slice) {
        put(slice.start)
        put(slice.count)
    }

    func put(_ range: Range<Int32>) {
        put(range.lowerBound)
        put(range.upperBound)
    }
}

extension WireReader {
    mutating func items() throws(WireFault) -> [UInt64] {
        let count = try count(least: 8)
        let raw = try raw(count: count * 8)
        return [UInt64](unsafeUninitializedCapacity: count) { room, filled in
            UnsafeMutableRawBufferPointer(room).copyMemory(from: raw)
            filled = count
        }
    }

    mutating func slice() throws(WireFault) -> RequestBatch.Slice {
        RequestBatch.Slice(start: try number(), count: try number())
    }

    mutating func range() throws(WireFault) -> Range<Int32> {
        let (low, high) = (try number(Int32.self), try number(Int32.self))
        guard low >= 0, low <= high else { throw WireFault("a range runs backwards") }
        return low..<high
    }
}
