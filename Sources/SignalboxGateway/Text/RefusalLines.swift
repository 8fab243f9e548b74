internal import Logging
internal import SignalboxDispatch
internal import SignalboxPluginHost
internal import SignalboxThreads

/// Log lines for refused requests, merged because strangers may send any number.
package final class RefusalLines: Sendable {
    /// Both come from closed lists.
    private struct Key: Hashable {
        let instance: String
        let reason: PluginFault.Kind
    }

    private struct Detail {
        let error: String
        let client: String
    }

    private let lines: CountedLines<Key, Detail>

    init(_ logger: Logger, _ alarms: AlarmClock) {
        lines = CountedLines(alarms) { line in
            logger.warning(
                "request refused",
                metadata: [
                    "plugin.instance": "\(line.key.instance)", "reason": "\(line.key.reason)",
                    "error": "\(line.detail.error)", "client": "\(line.detail.client)",
                    "count": "\(line.count)",
                ])
        }
    }

    /// An instance refused a client's request.
    func note(_ fault: PluginFault, by instance: String, client: String) {
        lines.note(
            Key(instance: instance, reason: fault.kind),
            Detail(error: fault.message, client: client))
    }

    /// Writes the counts that are pending.
    package func flush() { lines.flush() }
}
