/// A content in a block, with what its deliveries share.
public struct BlockContent: Sendable {
    /// The event it came from.
    public var event: UInt64
    /// The plugin instance that emitted the event.
    public var source: String
    /// The event's type.
    public var type: String
    /// What the event was about.
    public var subject: String
    /// When the gateway received the event, in Unix milliseconds.
    public var receivedUnixMs: UInt64
    /// The route's name; empty for a report.
    public var route: String
    /// The content.
    public var note: SharedNotification

    /// Makes a content.
    public init(
        event: UInt64, source: String, type: String, subject: String, receivedUnixMs: UInt64,
        route: String, note: SharedNotification
    ) {
        self.event = event
        self.source = source
        self.type = type
        self.subject = subject
        self.receivedUnixMs = receivedUnixMs
        self.route = route
        self.note = note
    }
}

extension BlockContent: RecordValue {
    /// Writes the fields.
    public func write(to out: inout RecordWriter) {
        out.put(0, event)
        out.put(1, source)
        out.put(2, type)
        out.put(3, subject)
        out.put(4, receivedUnixMs)
        out.put(5, route)
        out.put(6, note.eventKey)
        out.put(7, note.notification)
    }

    /// Reads the fields.
    public init(from record: inout RecordReader) throws(RecordFault) {
        event = record.number(0)
        source = try record.text(1)
        type = try record.text(2)
        subject = try record.text(3)
        receivedUnixMs = record.number(4)
        route = try record.text(5)
        let key = try record.text(6)
        note = SharedNotification(
            try record.record(7) ?? PushNotification(), eventType: type, eventKey: key,
            receivedUnixMs: receivedUnixMs)
    }
}
