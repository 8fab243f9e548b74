/// Exponential backoff after connections that failed. A value without clock; times are monotonic
/// nanoseconds.
struct Backoff {
    static let firstNs: UInt64 = 100_000_000
    static let maxNs: UInt64 = 10_000_000_000

    private(set) var failures = 0
    private(set) var notBeforeNs: UInt64 = 0
    /// Connections from this number on were opened after the last failure.
    private var since: UInt64 = 0

    /// A connection failed. `nextID`: the number of the next one; `random` is 0..<1.
    mutating func fail(nextID: UInt64, nowNs: UInt64, random: Double) {
        let doubled = Self.firstNs << UInt64(min(failures, 10))
        failures += 1
        since = nextID
        notBeforeNs = nowNs + UInt64(Double(min(doubled, Self.maxNs)) * (0.8 + 0.4 * random))
    }

    /// A connection works. An older one than the failure says nothing: the peer may keep that one and
    /// refuse every other.
    mutating func succeed(_ id: UInt64) {
        if failures > 0, id >= since { self = Backoff() }
    }
}
