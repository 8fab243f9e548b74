/// How many deliveries a lane keeps in memory while other gateways share the store: about as many as it sends in ten
/// seconds, which is also the longest most providers take to answer.
///
/// The rest stays on disk for any gateway, so gateways share a backlog in proportion to their speed and finish it at
/// about the same time. A value without clock.
struct LaneShare: Sendable {
    /// The share until the speed is known.
    private let first: Int
    private let least: Int
    private static let spanMs: UInt64 = 10_000
    private static let lookMs: UInt64 = 1_000

    /// Most deliveries in memory.
    private(set) var max = Int.max
    private var endedCount = 0
    /// Since when outcomes have been counted; nil while nothing was in memory.
    private var sinceMs: UInt64?

    /// `inMemoryMax`: the limit of a lane that shares with nobody.
    init(inMemoryMax: Int) {
        first = Swift.max(1, inMemoryMax / 4)
        least = Swift.max(1, inMemoryMax / 64)
    }

    /// Counts deliveries that have their outcome.
    mutating func ended(_ count: Int) { endedCount += count }

    /// Called periodically. `isShared`: there are other gateways; `isBusy`: something is in memory.
    mutating func look(_ nowMs: UInt64, isShared: Bool, isBusy: Bool) {
        guard isShared, isBusy else {
            max = isShared ? first : .max
            sinceMs = nil
            return
        }
        if max == .max { max = first }
        guard let since = sinceMs else {
            (sinceMs, endedCount) = (nowMs, 0)
            return
        }
        guard nowMs >= since + Self.lookMs else { return }
        let speed = endedCount * Int(Self.spanMs) / Int(nowMs - since)
        // One bad second halves the share at most.
        max = Swift.max(least, speed, max / 2)
        (sinceMs, endedCount) = (nowMs, 0)
    }
}
