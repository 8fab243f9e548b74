internal import SignalboxThreads
internal import Synchronization

/// Keeps a fault that repeats from filling the log: the same words come once in 30 s, with a count.
final class FaultLines: Sendable {
    private struct Line {
        let sinceNs: UInt64
        var skipped = 0
    }

    private static let pauseNs: UInt64 = 30_000_000_000
    private static let linesMax = 64
    private let lines = Mutex<[String: Line]>([:])

    /// How often the words were left out since they were last written; nil: they are left out now.
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
