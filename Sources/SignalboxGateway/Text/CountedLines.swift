internal import SignalboxDispatch
internal import SignalboxThreads
internal import Synchronization

/// Log lines that strangers can cause without limit: one per key in ten seconds, with a count.
final class CountedLines<Key: Hashable & Sendable, Detail: Sendable>: Sendable {
    typealias Line = RepeatedLines<Key, Detail>.Line

    private static var intervalMs: UInt64 { 10_000 }
    private let lines = Mutex(RepeatedLines<Key, Detail>(intervalMs: intervalMs))
    private let alarms: AlarmClock
    private let write: @Sendable (Line) -> Void

    /// `write` gets each line, with the detail of the last occurrence.
    init(_ alarms: AlarmClock, _ write: @escaping @Sendable (Line) -> Void) {
        self.alarms = alarms
        self.write = write
    }

    func note(_ key: Key, _ detail: Detail) {
        put(lines.withLock { $0.note(key, detail: detail, nowMs: Self.nowMs) }.map { [$0] } ?? [])
    }

    /// Writes the counts that are pending.
    func flush() { put(lines.withLock { $0.flush() }, isLast: true) }

    private static var nowMs: UInt64 { SystemClock.monotonicNs / 1_000_000 }

    private func put(_ lines: [Line], isLast: Bool = false) {
        for line in lines { write(line) }
        // Lines counted in the next interval are written at its end.
        guard !lines.isEmpty, !isLast else { return }
        alarms.after(ms: Self.intervalMs) { [weak self] in
            guard let self else { return }
            put(self.lines.withLock { $0.due(nowMs: Self.nowMs) })
        }
    }
}
