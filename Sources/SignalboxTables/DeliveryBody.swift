public import SignalboxCore
internal import SignalboxJSON

/// A delivery in a row of its own.
extension Delivery {
    /// High priority is 0.
    public var rank: Int64 {
        switch content.notification.priority ?? .normal {
        case .high: 0
        case .normal: 1
        case .low: 2
        }
    }

    /// What is stored of its event.
    public var event: Event {
        Event(id: eventID, source: source, type: content.eventType, subject: subject)
    }

    /// A block of its own.
    public func body(receivedUnixMs: UInt64) -> [UInt8] {
        var writer = BlockWriter()
        writer.add(self, of: event, receivedUnixMs: receivedUnixMs)
        return writer.bytes
    }

    /// From a body and columns beside it, which say what has changed since; nil if it is damaged.
    public init?(
        body: UnsafeRawBufferPointer, of lane: LaneKey, receivedUnixMs: UInt64,
        deadlineUnixMs: UInt64, attempt: Int64 = 1, free: Int64 = 0
    ) {
        guard var delivery = BlockReader(body, lane: lane).deliveries.first?.delivery else {
            return nil
        }
        delivery.receive(atUnixMs: receivedUnixMs)
        let attempts = StoredNumber.attempts(attempt, free: free)
        delivery.attempt = attempts.attempt
        delivery.freeAttempts = attempts.free
        delivery.deadlineUnixMs = deadlineUnixMs
        self = delivery
    }

    /// It counts as received then. When it was accepted first stays known.
    public mutating func receive(atUnixMs receivedUnixMs: UInt64) {
        guard content.receivedUnixMs != receivedUnixMs else { return }
        let accepted = acceptedUnixMs
        content = SharedNotification(
            content.notification, eventType: content.eventType, eventKey: content.eventKey,
            receivedUnixMs: receivedUnixMs)
        setAccepted(accepted)
    }
}

extension Attempt {
    /// JSON as it is stored. PostgreSQL's JSON holds no zero byte.
    public var record: String {
        JSONValue.object([
            .init("number", .integer(Int64(number))),
            .init("unix_ms", .integer(Int64(clamping: unixMs))), .init("reason", .string(reason)),
            .init("code", .integer(Int64(code))),
            .init("detail", .string(detail.replacing("\0", with: ""))),
            .init("gateway", .string(owner)),
        ]).text
    }
}

extension [Attempt] {
    /// JSON as it is stored.
    public var record: String { "[\(map(\.record).joined(separator: ","))]" }

    /// From `record`; what cannot be read is left out.
    public init(record text: String) {
        guard case .array(let items) = try? JSONValue.parse(text) else {
            self = []
            return
        }
        self = items.map { item in
            func number(_ name: String) -> Int64 { item[name]?.integer ?? 0 }
            var attempt = Attempt(
                number: StoredNumber.attempts(number("number"), free: 0).attempt,
                unixMs: UInt64(clamping: number("unix_ms")), reason: item["reason"]?.string ?? "",
                code: UInt32(clamping: number("code")), detail: item["detail"]?.string ?? "")
            attempt.owner = item["gateway"]?.string ?? ""
            return attempt
        }
    }
}
