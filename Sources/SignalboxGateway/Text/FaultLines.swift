internal import SignalboxThreads
internal import Synchronization

/// Keeps a repeated fault from filling the log: the same message is written once in 30 s, with a count.
final class FaultLines: Sendable {
    private struct Line {
        let sinceNs: UInt64
        var skipped = 0
    }

    private static let pauseNs: UInt64 = 30_000_000_000
    private static let linesMax = 64
    private let lines = Mutex<[String: Line]>([:])

    /// How often the message was suppressed since it was last written; nil if it is suppressed now.
    func write(_ words: String, nowNs: UInt64 = SystemClock.monotonicNs) -> Int? {
        lines.withLock { lines in
            if let line = lines[words], nowNs < line.sinceNs + Self.pauseNs {
                lines[words]?.skipped += 1
                return nil
            }
            if lines.count >= Self.linesMax { lines = lines.filter { $0.key == words } }
            let skipped = lines[words]?.skipped ?? 0
            lines[words] = Line(sinceNs: nowNs)
            return skipped
        }
    }
}
