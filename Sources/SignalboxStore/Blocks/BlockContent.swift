internal import SignalboxCore

/// A content in a block, with what its deliveries share.
struct BlockContent {
    var event: UInt64
    var source: String
    var type: String
    var subject: String
    var receivedUnixMs: UInt64
    var route: String
    var note: SharedNotification
}

extension BlockContent: RecordValue {
    func write(to out: inout RecordWriter) {
        out.put(0, event)
        out.put(1, source)
        out.put(2, type)
        out.put(3, subject)
        out.put(4, receivedUnixMs)
        out.put(5, route)
        out.put(6, note.eventKey)
        out.put(7, note.notification)
    }

    init(from record: inout RecordReader) throws(RecordFault) {
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
