/// How plugins are run in processes of their own.
public struct IsolationOptions: Sendable {
    /// The program that such a process runs, with its first arguments: a `signalbox`.
    ///
    /// Empty: there is none, and a plugin cannot be isolated. The program `signalbox` names itself.
    public var runner: [String] = []
    /// How long a role call may take before its process is ended, in milliseconds.
    public var workMs: UInt64 = 10_000
    /// How long creating, starting and the like may take, in milliseconds.
    public var controlMs: UInt64 = 30_000
    /// How long the answers of a batch may wait for a process that is being started again, in milliseconds;
    /// they keep a worker waiting.
    public var patienceMs: UInt64 = 1_000
    /// Wait before the first new start after a crash, in milliseconds; it doubles with each.
    public var waitFirstMs: UInt64 = 100
    /// Longest wait before a new start, in milliseconds.
    public var waitMaxMs: UInt64 = 30_000
    /// After so long without a crash the wait is the first one again, in milliseconds.
    public var healthyMs: UInt64 = 60_000

    /// The shipped bounds, and no runner.
    public init() {}

    /// Looks at a library in a child process.
    var inspector: [String] { runner + ["plugins", "describe"] }
}

/// How long to wait before a process that ended is started again.
///
/// A value: time comes from outside.
struct BackOff: Sendable, Equatable {
    let firstMs: UInt64
    let maxMs: UInt64
    let healthyMs: UInt64
    private var nextMs: UInt64

    init(_ options: IsolationOptions) {
        firstMs = options.waitFirstMs
        maxMs = options.waitMaxMs
        healthyMs = options.healthyMs
        nextMs = options.waitFirstMs
    }

    /// It ended after it had been up for so long; the wait.
    mutating func ended(afterMs upMs: UInt64) -> UInt64 {
        if upMs >= healthyMs { nextMs = firstMs }
        let wait = min(nextMs, maxMs)
        nextMs = min(maxMs, max(1, wait) * 2)
        if firstMs == 0 { nextMs = 0 }
        return wait
    }
}
