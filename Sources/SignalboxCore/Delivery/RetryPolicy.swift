/// When a failed delivery is retried: exponential backoff with jitter.
public struct RetryPolicy: Sendable, Hashable {
    /// Name in gateway.yaml.
    public var name: String
    /// Wait before the second attempt, in milliseconds.
    public var initialMs: UInt64
    /// Each wait is the previous one times this factor.
    public var factor: Double
    /// Longest wait, in milliseconds.
    public var maxMs: UInt64
    /// Attempts after the first.
    public var retries: UInt32
    /// Random share of a wait, 0...1: 0.2 lengthens a wait by up to 20 %.
    public var jitter: Double

    /// No provider makes a wait longer than this, in milliseconds: one that asks for years may be well a second later.
    public static let hintMsMax: UInt64 = 900_000

    /// Makes a policy.
    public init(
        name: String, initialMs: UInt64, factor: Double, maxMs: UInt64, retries: UInt32,
        jitter: Double
    ) {
        self.name = name
        self.initialMs = initialMs
        self.factor = factor
        self.maxMs = maxMs
        self.retries = retries
        self.jitter = jitter
    }

    /// 1, 2, 4, 8, 16 s: five retries within 31 s.
    public static let standard = RetryPolicy(
        name: "standard", initialMs: 1_000, factor: 2, maxMs: 16_000, retries: 5, jitter: 0)

    /// For reports to a source's system: from 1 s to 10 minutes, until the report expires.
    public static let reports = RetryPolicy(
        name: "reports", initialMs: 1_000, factor: 2, maxMs: 600_000, retries: 1_000, jitter: 0.1)

    /// For attempts that do not count: nothing was sent, or the provider reported an outage. It has no limit
    /// of its own; retries end when the delivery expires.
    public static let outage = RetryPolicy(
        name: "outage", initialMs: 1_000, factor: 2, maxMs: 300_000, retries: .max, jitter: 0.2)

    /// The wait after failed attempt `attempt` (1, 2, ...); nil if it was the last one.
    ///
    /// `random` is 0..<1. A provider's `hintMs` can only lengthen the wait, to `hintMsMax` at most, and gets some jitter, so
    /// that deliveries that were refused together are not all retried at once.
    public func waitMs(afterAttempt attempt: UInt32, hintMs: UInt64, random: Double) -> UInt64? {
        guard attempt <= retries else { return nil }
        var wait = Double(initialMs)
        for _ in 1..<max(1, min(attempt, 64)) where wait < Double(maxMs) { wait *= factor }
        wait = min(wait, Double(maxMs)) * (1 + jitter * random)
        let hint = min(hintMs, Self.hintMsMax)
        return max(UInt64(wait), hint + UInt64(Double(hint) * 0.1 * random))
    }
}
