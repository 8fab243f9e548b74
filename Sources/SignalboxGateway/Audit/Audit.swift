package import SignalboxCore
internal import SignalboxDispatch

/// The audit trail: admin requests that change something, changes of the device registry, and reloads.
///
/// Each record is a line of JSON in the `gateway.audit` file, or a log line without such a file.
package final class Audit: Sendable {
    /// One change, done or refused.
    package struct Record: Sendable {
        /// `POST /pause`.
        package var action: String
        /// The name of the token; empty if the token was refused.
        package var caller: String
        /// The peer's IP address; empty for the gateway's own process.
        package var address: String
        /// The status of the answer.
        package var status: Int
        /// The parameters; without secrets and device tokens.
        package var detail: JSONValue = .null
        /// How many similar requests it stands for.
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
    /// Merged lines, since callers without a valid token may ask as often as they like.
    private let strangers: CountedLines<String, Request>

    package init(_ runtime: GatewayRuntime) {
        let writer = AuditWriter(runtime)
        self.writer = writer
        strangers = CountedLines(runtime.alarms) { line in
            var record = line.detail.record
            record.count = line.count
            writer.write(record, path: line.detail.path)
        }
    }

    /// Writes a record; `path` is `gateway.audit`, if set.
    package func write(_ record: Record, path: String?) {
        guard record.caller.isEmpty else { return writer.write(record, path: path) }
        strangers.note(record.action, Request(record: record, path: path))
    }

    /// Writes the merged records that are still pending.
    package func flush() { strangers.flush() }
}
