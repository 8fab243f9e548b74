internal import Logging
internal import SignalboxDispatch
internal import SignalboxPluginHost
internal import SignalboxThreads
internal import Synchronization

/// Log lines of refused requests: strangers may send as many as they like.
final class RefusalLines: Sendable {
    private static let intervalMs: UInt64 = 10_000

    /// Both come from closed lists.
    private struct Key: Hashable {
        let instance: String
        let reason: PluginFault.Kind
    }

    private struct Detail {
        let error: String
        let client: String
    }

    private typealias Lines = RepeatedLines<Key, Detail>
    private let lines = Mutex(Lines(intervalMs: intervalMs))
    private let logger: Logger
    private let alarms: AlarmClock

    init(_ logger: Logger, _ alarms: AlarmClock) {
        self.logger = logger
        self.alarms = alarms
    }

    /// An instance has refused a request of a client.
    func note(_ fault: PluginFault, by instance: String, client: String) {
        let key = Key(instance: instance, reason: fault.kind)
        let detail = Detail(error: fault.message, client: client)
        write(lines.withLock { $0.note(key, detail: detail, nowMs: Self.nowMs) }.map { [$0] } ?? [])
    }

    /// Writes what was counted since.
    func flush() { write(lines.withLock { $0.flush() }, isLast: true) }

    private static var nowMs: UInt64 { SystemClock.monotonicNs / 1_000_000 }

    private func write(_ lines: [Lines.Line], isLast: Bool = false) {
        for line in lines {
            logger.warning(
                "request refused",
                metadata: [
                    "plugin.instance": "\(line.key.instance)", "reason": "\(line.key.reason)",
                    "error": "\(line.detail.error)", "client": "\(line.detail.client)",
                    "count": "\(line.count)",
                ])
        }
        // What comes meanwhile is written then.
        guard !lines.isEmpty, !isLast else { return }
        alarms.after(ms: Self.intervalMs) { [weak self] in
            guard let self else { return }
            write(self.lines.withLock { $0.due(nowMs: Self.nowMs) })
        }
    }
}
