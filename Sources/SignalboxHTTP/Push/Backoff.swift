/// Exponential backoff after failed connections. A value without a clock; times are monotonic
/// nanoseconds.
struct Backoff {
    static let firstNs: UInt64 = 100_000_000
    static let maxNs: UInt64 = 10_000_000_000

    private(set) var failures = 0
    private(set) var notBeforeNs: UInt64 = 0
    /// Connections with this number or a higher one were opened after the last failure.
    private var since: UInt64 = 0

    /// Records a failed connection. `nextID` is the number of the next one; `random` is 0..<1.
    mutating func fail(nextID: UInt64, nowNs: UInt64, random: Double) {
        let doubled = Self.firstNs << UInt64(min(failures, 10))
        failures += 1
        since = nextID
        notBeforeNs = nowNs + UInt64(Double(min(doubled, Self.maxNs)) * (0.8 + 0.4 * random))
    }

    /// Records a working connection. One older than the failure is ignored: the peer may keep it and
    /// refuse all new ones.
    mutating func succeed(_ id: UInt64) {
        if failures > 0, id >= since { self = Backoff() }
    }
}
