internal import Glibc
internal import Logging
internal import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxObservability
internal import SignalboxThreads
internal import Synchronization

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

    private struct File {
        var path = ""
        var descriptor: Int32 = -1
    }

    private let machinery: Machinery
    private let file = Mutex(File())
    private let faults = FaultLines()
    /// Who has no token may ask as often as they like: one record per action and interval.
    private let strangers = Mutex(Strangers(intervalMs: strangersMs))
    private static let strangersMs: UInt64 = 10_000
    private typealias Strangers = RepeatedLines<String, StrangersRequest>

    private struct StrangersRequest {
        var record: Record
        var path: String?
    }

    init(_ machinery: Machinery) { self.machinery = machinery }

    deinit {
        let descriptor = file.withLock { $0.descriptor }
        if descriptor >= 0 { close(descriptor) }
    }

    /// Writes a record; `path`: of `gateway.audit`, or nil.
    func write(_ record: Record, path: String?) {
        guard record.caller.isEmpty else { return put(record, path) }
        let request = StrangersRequest(record: record, path: path)
        let line = strangers.withLock {
            $0.note(record.action, detail: request, nowMs: Self.steadyMs)
        }
        put(line.map { [$0] } ?? [])
    }

    /// Writes what strangers have asked for since.
    func flush() { put(strangers.withLock { $0.flush() }, isLast: true) }

    private static var steadyMs: UInt64 { SystemClock.monotonicNs / 1_000_000 }

    private func put(_ lines: [Strangers.Line], isLast: Bool = false) {
        for line in lines {
            var record = line.detail.record
            record.count = line.count
            put(record, line.detail.path)
        }
        // What comes meanwhile is written then.
        guard !lines.isEmpty, !isLast else { return }
        machinery.alarms.after(ms: Self.strangersMs) { [weak self] in
            guard let self else { return }
            put(self.strangers.withLock { $0.due(nowMs: Self.steadyMs) })
        }
    }

    private func put(_ record: Record, _ path: String?) {
        guard let path else { return log(record) }
        let now = machinery.clock()
        var members: [JSONValue.Member] = [
            .init("time", .string(TimeText.utc(now))), .init("gateway", .string(machinery.name)),
            .init("action", .string(record.action)), .init("caller", .string(record.caller)),
            .init("address", .string(record.address)),
            .init("status", .integer(Int64(record.status))),
            .init("result", .string(record.status < 400 ? "done" : "refused")),
            .init("detail", record.detail),
        ]
        if record.count > 1 { members.append(.init("count", .integer(Int64(record.count)))) }
        let bytes = Array((JSONValue.object(members).text + "\n").utf8)
        let fault = file.withLock { file -> Int32? in
            Self.open(path, &file)
            guard file.descriptor >= 0 else { return errno }
            // One call per line: lines of several processes do not mix.
            let count = Glibc.write(file.descriptor, bytes, bytes.count)
            return count == bytes.count ? nil : count < 0 ? errno : ENOSPC
        }
        guard let fault else { return }
        machinery.metrics.auditFailures[].add()
        log(record)
        let words = "\(path): \(String(cString: strerror(fault)))"
        if faults.write(words) != nil {
            machinery.logger.error("cannot write the audit log", metadata: ["error": "\(words)"])
        }
    }

    private func log(_ record: Record) {
        machinery.logger.notice(
            "change",
            metadata: [
                "logger": "audit", "action": "\(record.action)", "caller": "\(record.caller)",
                "address": "\(record.address)", "status": "\(record.status)",
                "detail": record.detail == .null ? "" : "\(record.detail.text)",
                "count": "\(record.count)",
            ])
    }

    /// Opens the file, again if it was moved away: its path leads elsewhere then.
    private static func open(_ path: String, _ file: inout File) {
        if file.descriptor >= 0 {
            var (there, here) = (stat(), stat())
            if file.path == path, stat(path, &there) == 0, fstat(file.descriptor, &here) == 0,
                there.st_ino == here.st_ino, there.st_dev == here.st_dev
            {
                return
            }
            close(file.descriptor)
        }
        file.path = path
        file.descriptor = Glibc.open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
    }
}
