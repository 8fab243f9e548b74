/// How many deliveries a lane has in memory while other gateways could send them as well: about as many as it sends in
/// ten seconds, which is also the longest that most providers take to answer.
///
/// What it does not take stays on disk, free for all. So gateways share a backlog in proportion to their speed, and
/// finish it at about the same time. A value without clock.
struct LaneShare: Sendable {
    /// Before its speed is known.
    private let first: Int
    private let least: Int
    private static let spanMs: UInt64 = 10_000
    private static let lookMs: UInt64 = 1_000

    /// Most deliveries in memory.
    private(set) var max = Int.max
    private var endedCount = 0
    /// Since when deliveries have been counted; nil: it had none.
    private var sinceMs: UInt64?

    /// `inMemoryMax`: of a lane that is alone.
    init(inMemoryMax: Int) {
        first = Swift.max(1, inMemoryMax / 4)
        least = Swift.max(1, inMemoryMax / 64)
    }

    /// Deliveries have their outcomes.
    mutating func ended(_ count: Int) { endedCount += count }

    /// Now and then. `isShared`: there are other gateways; `isBusy`: something is in memory.
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
        // One bad second is not believed at once.
        max = Swift.max(least, speed, max / 2)
        (sinceMs, endedCount) = (nowMs, 0)
    }
}
