/// Options for plugins that run in their own process.
public struct IsolationOptions: Sendable {
    /// The program such a process runs, with its first arguments: a `signalbox`.
    ///
    /// If empty, plugins cannot be isolated. The program `signalbox` names itself.
    public var runner: [String] = []
    /// How long a role call may take before its process is ended, in milliseconds.
    public var workMs: UInt64 = 10_000
    /// How long a control call such as create or start may take, in milliseconds.
    public var controlMs: UInt64 = 30_000
    /// How long the answers of a batch may wait for a process that is restarting, in milliseconds;
    /// they block a worker meanwhile.
    public var patienceMs: UInt64 = 1_000
    /// After a crash deliveries of a plugin's own transport are offered one at a time. How long the next waits for one that
    /// got no outcome, in milliseconds.
    public var trialMs: UInt64 = 2_000
    /// Wait before the first restart after a crash, in milliseconds; it doubles with each crash.
    public var waitFirstMs: UInt64 = 100
    /// Longest wait before a restart, in milliseconds.
    public var waitMaxMs: UInt64 = 30_000
    /// After this long without a crash the wait is reset, in milliseconds.
    public var healthyMs: UInt64 = 60_000

    /// What is left out of every confinement, so that tests can show what it is good for.
    package var omitted: Set<Protection> = []

    /// The default limits, and no runner.
    public init() {}

    /// The command that inspects a library in a child process.
    var inspector: [String] { runner + ["plugins", "describe"] }
}

/// The exponential backoff before a process that ended is restarted.
///
/// A value type: the time is passed in.
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

    /// What ended the last processes will not end the next one.
    mutating func reset() { nextMs = firstMs }

    /// The longest wait after a process that answered a call: what ended it was another one, and most work.
    private static let workedMs: UInt64 = 500

    /// Returns how long to wait, in milliseconds, after a process that was up for `upMs` has ended. `hasWorked`: it has answered
    /// a call.
    mutating func ended(afterMs upMs: UInt64, hasWorked: Bool = false) -> UInt64 {
        if upMs >= healthyMs { nextMs = firstMs }
        if hasWorked { nextMs = min(nextMs, max(firstMs, Self.workedMs)) }
        let wait = min(nextMs, maxMs)
        nextMs = min(maxMs, max(1, wait) * 2)
        if firstMs == 0 { nextMs = 0 }
        return wait
    }
}
