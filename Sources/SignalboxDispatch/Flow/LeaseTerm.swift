/// How long a lane surely holds what it has in memory, by the gateway's own steady clock.
///
/// A lease begins after it was asked for, so its length counted from then ends before the lease does, however long
/// the store's answer or the gateway itself took. Times are those of asking. A value without clock.
struct LeaseTerm: Sendable {
    /// Everything in memory was asked for at this time or later; nil: nothing was.
    private var sinceMs: UInt64?
    /// The same for what came after the last extension was asked for, which does not cover it.
    private var uncoveredMs = UInt64.max
    private var isAsking = false
    /// The end was noticed.
    var isGivenUp = false

    /// Deliveries were leased.
    mutating func took(askedMs: UInt64) {
        sinceMs = min(sinceMs ?? .max, askedMs)
        uncoveredMs = min(uncoveredMs, askedMs)
    }

    /// A quarter of the lease is over, so a store that is out of reach for a while can be asked again in time.
    func wantsExtension(_ nowMs: UInt64, leaseMs: UInt64) -> Bool {
        guard let sinceMs, !isAsking else { return false }
        return nowMs >= sinceMs + leaseMs / 4
    }

    mutating func asked() {
        isAsking = true
        uncoveredMs = .max
    }

    /// What was held at `askedMs` is held for a whole lease from then on.
    mutating func extended(askedMs: UInt64) {
        isAsking = false
        guard let sinceMs else { return }
        self.sinceMs = max(sinceMs, min(askedMs, uncoveredMs))
    }

    /// The leases last as long as they did.
    mutating func notExtended() { isAsking = false }

    /// Half of the lease is over: nothing more is handed to the carrier, and what has not left comes back.
    func isOver(_ nowMs: UInt64, leaseMs: UInt64) -> Bool {
        guard let sinceMs else { return false }
        return nowMs >= sinceMs + leaseMs / 2
    }

    /// When the first lease may end at the store; 0: nothing is leased.
    func endMs(leaseMs: UInt64) -> UInt64 { sinceMs.map { $0 + leaseMs } ?? 0 }
}
