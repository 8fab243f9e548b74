package import SignalboxCore
internal import SignalboxDispatch

/// Who has changed what: admin requests that change something, changes of the device registry, and reloads.
///
/// With `gateway.audit` each is a line of JSON in that file, else a line of the log.
package final class Audit: Sendable {
    /// One change, done or refused.
    package struct Record: Sendable {
        /// `POST /pause`.
        package var action: String
        /// The name of the token; empty: it was not accepted.
        package var caller: String
        /// The peer's IP address; empty: the gateway's own process.
        package var address: String
        /// Of the answer.
        package var status: Int
        /// What was asked for; holds no secret and no token of a device.
        package var detail: JSONValue = .null
        /// How many requests like this it stands for.
        package var count = 1

        package init(
            action: String, caller: String, address: String, status: Int,
            detail: JSONValue = .null, count: Int = 1
        ) {
            self.action = action
            self.caller = caller
            self.address = address
            self.status = status
            self.detail = detail
            self.count = count
        }
    }

    private struct Request {
        let record: Record
        let path: String?
    }

    private let writer: AuditWriter
    /// Who has no token may ask as often as they like.
    private let strangers: CountedLines<String, Request>

    package init(_ machinery: Machinery) {
        let writer = AuditWriter(machinery)
        self.writer = writer
        strangers = CountedLines(machinery.alarms) { line in
            var record = line.detail.record
            record.count = line.count
            writer.write(record, path: line.detail.path)
        }
    }

    /// Writes a record; `path`: of `gateway.audit`, or nil.
    package func write(_ record: Record, path: String?) {
        guard record.caller.isEmpty else { return writer.write(record, path: path) }
        strangers.note(record.action, Request(record: record, path: path))
    }

    /// Writes what strangers have asked for since.
    package func flush() { strangers.flush() }
}
