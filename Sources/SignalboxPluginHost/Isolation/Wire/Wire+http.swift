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
        writer.put(deliveries.count)
        for (delivery, place) in zip(deliveries, chosen) {
            writer.put(record: DeliveryRecord(delivery, content: place))
        }
    }

    init(from reader: inout WireReader) throws(WireFault) {
        let contents = try reader.value([PushNotification].self).map { note throws(WireFault) in
            (note, try reader.value(UInt64.self))
        }.map { SharedNotification($0, receivedUnixMs: $1) }
        deliveries = try reader.value([DeliveryRecord].self).map { record throws(WireFault) in
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
        writer.put(items)
        writer.put(context)
        writer.put(trailerCount)
    }

    convenience init(from reader: inout WireReader) throws(WireFault) {
        self.init(
            status: try reader.value(), headers: try reader.value(), body: try reader.value(),
            items: try reader.value(), context: try reader.value(),
            trailerCount: try reader.value())
        guard trailerCount <= headers.count else { throw WireFault("there are no such trailers") }
    }
}

/// By hand, as with the other values of which there is one per delivery: key paths cost 100 ns a field.
extension Outcome: WireValue {
    func write(to writer: WireWriter) {
        writer.put(item)
        writer.put(kind)
        writer.put(scope)
        writer.put(reconnect)
        writer.put(suspectsToken)
        writer.put(retryAfterMs)
        writer.put(goneSinceUnixMs)
        writer.put(providerCode)
        for text in [reason, detail, providerID, newToken, credential] { writer.put(text) }
    }

    init(from reader: inout WireReader) throws(WireFault) {
        self.init(item: try reader.value(), kind: try reader.value())
        scope = try reader.value()
        reconnect = try reader.value()
        suspectsToken = try reader.value()
        retryAfterMs = try reader.value()
        goneSinceUnixMs = try reader.value()
        providerCode = try reader.value()
        reason = try reader.value()
        detail = try reader.value()
        providerID = try reader.value()
        newToken = try reader.value()
        credential = try reader.value()
    }
}

extension Outcome.Kind: WireValue {}
extension Outcome.Scope: WireValue {}

extension RequestBatch: WireValue {
    func write(to writer: WireWriter) {
        writer.put(bytes)
        writer.put(headers)
        writer.put(items)
        writer.put(requests)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        guard
            let batch = RequestBatch(
                bytes: try reader.value(), headers: try reader.value(), items: try reader.value(),
                requests: try reader.value())
        else { throw WireFault("a request reaches beyond its batch") }
        self = batch
    }
}

extension RequestBatch.Slice: WireBits {}
extension RequestBatch.Header: WireBits {}

extension RequestBatch.Request: WireValue {
    func write(to writer: WireWriter) {
        writer.put(method)
        writer.put(path)
        writer.put(headers)
        writer.put(body)
        writer.put(items)
        writer.put(unindexedHeaders)
        writer.put(origin)
        writer.put(context)
        writer.put(shortened)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        self.init(
            method: try reader.value(), path: try reader.value(), headers: try reader.value(),
            body: try reader.value(), items: try reader.value(),
            unindexedHeaders: try reader.value(), origin: try reader.value(),
            context: try reader.value())
        shortened = try reader.value()
    }
}

extension ShortenedTexts: WireValue {}

/// Places in a list of the same batch.
extension Range: WireValue where Bound == Int32 {
    func write(to writer: WireWriter) {
        writer.put(lowerBound)
        writer.put(upperBound)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        let (low, high) = (try reader.value(Int32.self), try reader.value(Int32.self))
        guard low >= 0, low <= high else { throw WireFault("a range runs backwards") }
        self = low..<high
    }
}
