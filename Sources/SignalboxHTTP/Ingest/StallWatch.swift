internal import SignalboxThreads

/// Detects that the process did not run for a while: it was stopped, or its machine was suspended.
///
/// Requests that waited meanwhile are refused. Their senders may have given up and asked another gateway, and the
/// dedupe key of that request may have expired.
struct StallWatch {
    /// Load balancers are told to wait for four seconds.
    private static let stallNs: UInt64 = 3_500_000_000
    /// How long requests are refused afterwards: those that waited all arrive at once.
    private static let refusingNs: UInt64 = 500_000_000

    private let nowNs: @Sendable () -> UInt64
    private var lastNs: UInt64
    private var refusingUntilNs: UInt64 = 0

    /// `nowNs` is a clock that keeps running while the machine is suspended.
    init(_ nowNs: @escaping @Sendable () -> UInt64) {
        self.nowNs = nowNs
        lastNs = nowNs()
    }

    /// Whether requests that come now may have waited.
    var isRefusing: Bool { nowNs() < refusingUntilNs }

    /// Call it each second, and before a request is accepted. Returns how long the process did not run, in
    /// milliseconds, if that was long.
    mutating func tick() -> UInt64? {
        let now = nowNs()
        defer { lastNs = now }
        guard now > lastNs + Self.stallNs else { return nil }
        refusingUntilNs = now + Self.refusingNs
        return (now - lastNs) / 1_000_000
    }
}
