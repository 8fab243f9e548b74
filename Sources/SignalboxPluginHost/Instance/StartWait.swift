internal import SignalboxThreads

/// The wait of an instance whose start() did not reach what it needs, until it is started again.
struct StartWait: Sendable {
    private static let firstMs: UInt64 = 100
    private static let maxMs: UInt64 = 30_000

    let fault: PluginFault
    let waitMs: UInt64
    /// In monotonic nanoseconds.
    let dueNs: UInt64

    /// Twice as long as the last one.
    init(_ fault: PluginFault, after last: StartWait?) {
        self.fault = fault
        waitMs = last.map { min($0.waitMs * 2, Self.maxMs) } ?? Self.firstMs
        dueNs = SystemClock.monotonicNs + waitMs * 1_000_000
    }
}
