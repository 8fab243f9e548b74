internal import SignalboxThreads
internal import Synchronization

/// So many lines per interval: a plugin that writes without end fills no disk, and displaces no line of others.
/// A value without clock.
struct LineQuota {
    static let intervalMs: UInt64 = 10_000

    /// Most lines per interval.
    let linesMax: Int
    /// Lines that were left out in this interval.
    private(set) var leftOut = 0
    private var sinceMs: UInt64?
    private var count = 0

    init(linesMax: Int) { self.linesMax = linesMax }

    /// Before a line: begins an interval if the last one is over. Returns how many lines that one left out.
    mutating func begin(nowMs: UInt64) -> Int {
        if let sinceMs, nowMs < sinceMs + Self.intervalMs { return 0 }
        defer { (sinceMs, count, leftOut) = (nowMs, 0, 0) }
        return leftOut
    }

    /// Whether there is room for one more line.
    mutating func admits() -> Bool {
        guard count < linesMax else {
            leftOut += 1
            return false
        }
        count += 1
        return true
    }

    static func words(_ leftOut: Int) -> String { "(\(leftOut) more lines were left out)" }
}

/// The lines that an instance may log through `sbx.log/1`. Thread: any.
final class LogQuota: Sendable {
    /// Most lines in `LineQuota.intervalMs`.
    static let linesMax = 1_000
    static let fullWords =
        "more lines in ten seconds than a plugin may log; the next ones are left out"

    private let quota = Mutex(LineQuota(linesMax: linesMax))

    /// Whether a line may be logged now; `tell` gets a message about dropped lines.
    func admits(
        nowMs: UInt64 = SystemClock.monotonicNs / 1_000_000, tell: (String) -> Void
    ) -> Bool {
        let (before, isAdmitted, isFirst) = quota.withLock { quota in
            let before = quota.begin(nowMs: nowMs)
            let isAdmitted = quota.admits()
            return (before, isAdmitted, quota.leftOut == 1 && !isAdmitted)
        }
        if before > 0 { tell(LineQuota.words(before)) }
        if isFirst { tell(Self.fullWords) }
        return isAdmitted
    }
}
