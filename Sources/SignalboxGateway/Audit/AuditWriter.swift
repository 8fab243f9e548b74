internal import Glibc
internal import Logging
internal import SignalboxCore
internal import SignalboxObservability
internal import Synchronization

/// Writes audit records: as lines of JSON in a file, or as log lines without one.
final class AuditWriter: Sendable {
    private struct File {
        var path = ""
        var descriptor: Int32 = -1
    }

    private let runtime: GatewayRuntime
    private let file = Mutex(File())
    private let faults = FaultLines()

    init(_ runtime: GatewayRuntime) { self.runtime = runtime }

    deinit {
        let descriptor = file.withLock { $0.descriptor }
        if descriptor >= 0 { close(descriptor) }
    }

    /// `path` is `gateway.audit`, if set.
    func write(_ record: Audit.Record, path: String?) {
        guard let path else { return log(record) }
        let now = runtime.clock()
        var members: [JSONValue.Member] = [
            .init("time", .string(TimeText.utc(now))), .init("gateway", .string(runtime.name)),
            .init("action", .string(record.action)), .init("caller", .string(record.caller)),
            .init("address", .string(record.address)),
            .init("status", .integer(Int64(record.status))),
            .init("result", .string(record.status < 400 ? "done" : "refused")),
            .init("detail", record.detail),
        ]
        if record.count > 1 { members.append(.init("count", .integer(Int64(record.count)))) }
        let bytes = Array((PlainText.line(JSONValue.object(members).text) + "\n").utf8)
        let fault = file.withLock { file -> Int32? in
            Self.open(path, &file)
            guard file.descriptor >= 0 else { return errno }
            // One call per line, so that lines of several processes do not mix.
            let count = Glibc.write(file.descriptor, bytes, bytes.count)
            return count == bytes.count ? nil : count < 0 ? errno : ENOSPC
        }
        guard let fault else { return }
        runtime.metrics.auditFailures[].add()
        log(record)
        let words = "\(path): \(String(cString: strerror(fault)))"
        if faults.write(words) != nil {
            runtime.logger.error("cannot write the audit log", metadata: ["error": "\(words)"])
        }
    }

    private func log(_ record: Audit.Record) {
        runtime.records.notice(
            "change",
            metadata: [
                "logger": "audit", "action": "\(record.action)", "caller": "\(record.caller)",
                "address": "\(record.address)", "status": "\(record.status)",
                "detail": record.detail == .null ? "" : "\(record.detail.text)",
                "count": "\(record.count)",
            ])
    }

    /// Opens the file, and reopens it if it was moved away, as log rotation does.
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
