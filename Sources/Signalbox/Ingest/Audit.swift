internal import SignalboxCore
internal import SignalboxDispatch

/// Who has changed what: admin requests that change something, changes of the device registry, and reloads.
///
/// With `gateway.audit` each is a line of JSON in that file, else a line of the log.
final class Audit: Sendable {
    /// One change, done or refused.
    struct Record: Sendable {
        /// `POST /pause`.
        var action: String
        /// The name of the token; empty: it was not accepted.
        var caller: String
        /// The peer's IP address; empty: the gateway's own process.
        var address: String
        /// Of the answer.
        var status: Int
        /// What was asked for; holds no secret and no token of a device.
        var detail: JSONValue = .null
        /// How many requests like this it stands for.
        var count = 1
    }

    private struct Request {
        let record: Record
        let path: String?
    }

    private let writer: AuditWriter
    /// Who has no token may ask as often as they like.
    private let strangers: CountedLines<String, Request>

    init(_ machinery: Machinery) {
        let writer = AuditWriter(machinery)
        self.writer = writer
        strangers = CountedLines(machinery.alarms) { line in
            var record = line.detail.record
            record.count = line.count
            writer.write(record, path: line.detail.path)
        }
    }

    /// Writes a record; `path`: of `gateway.audit`, or nil.
    func write(_ record: Record, path: String?) {
        guard record.caller.isEmpty else { return writer.write(record, path: path) }
        strangers.note(record.action, Request(record: record, path: path))
    }

    /// Writes what strangers have asked for since.
    func flush() { strangers.flush() }
}
