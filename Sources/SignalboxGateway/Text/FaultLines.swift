internal import SignalboxDispatch
internal import SignalboxThreads
internal import Synchronization

/// Keeps a repeated fault from filling the log: the same message is written once in 30 s, with a count.
final class FaultLines: Sendable {
    private let lines = Mutex(RepeatedLines<String, Bool>(intervalMs: 30_000, keysMax: 64))

    /// How often the message was suppressed since it was last written; nil if it is suppressed now.
    func write(_ words: String, nowNs: UInt64 = SystemClock.monotonicNs) -> Int? {
        lines.withLock { $0.note(words, detail: true, nowMs: nowNs / 1_000_000) }
            .map { $0.count - 1 }
    }
}
