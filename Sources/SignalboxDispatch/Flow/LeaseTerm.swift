/// How long a lane's leases are guaranteed, by the gateway's own steady clock.
///
/// A lease starts after it was requested, so counting its length from the request is safe however long the store or the
/// gateway took. All times are those of requests. A value without clock.
struct LeaseTerm: Sendable {
    /// The oldest request that covers what is in memory; nil if nothing was leased.
    private var sinceMs: UInt64?
    /// The same for leases requested after the last extension, which does not cover them.
    private var uncoveredMs = UInt64.max
    private var isAsking = false
    /// Whether the lane has acted on the expiry.
    var isGivenUp = false

    /// Deliveries were leased.
    mutating func took(askedMs: UInt64) {
        sinceMs = min(sinceMs ?? .max, askedMs)
        uncoveredMs = min(uncoveredMs, askedMs)
    }

    /// True after a quarter of the lease, so that an unreachable store can be asked again in time.
    func wantsExtension(_ nowMs: UInt64, leaseMs: UInt64) -> Bool {
        guard let sinceMs, !isAsking else { return false }
        return nowMs >= sinceMs + leaseMs / 4
    }

    mutating func asked() {
        isAsking = true
        uncoveredMs = .max
    }

    /// Everything held at `askedMs` is now held for a whole lease from then on.
    mutating func extended(askedMs: UInt64) {
        isAsking = false
        guard let sinceMs else { return }
        self.sinceMs = max(sinceMs, min(askedMs, uncoveredMs))
    }

    /// The extension failed: the leases keep their end.
    mutating func notExtended() { isAsking = false }

    /// True after half of the lease: nothing more goes to the carrier, and what has not left is recalled.
    func isOver(_ nowMs: UInt64, leaseMs: UInt64) -> Bool {
        guard let sinceMs else { return false }
        return nowMs >= sinceMs + leaseMs / 2
    }

    /// When the first lease may end in the store; 0 if nothing is leased.
    func endMs(leaseMs: UInt64) -> UInt64 { sinceMs.map { $0 + leaseMs } ?? 0 }
}
