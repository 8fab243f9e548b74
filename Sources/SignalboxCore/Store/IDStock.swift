/// Ids that the store has reserved and that are not used yet.
///
/// A value without a lock. Its owner asks the store when `wantsMore` is true, and meanwhile uses the remaining ids.
public struct IDStock: Sendable {
    /// Ids per request to the store: enough for one second at a gateway's highest rate.
    public static let partMax = 1 << 18

    private var current: Range<UInt64> = 0..<0
    private var next: Range<UInt64> = 0..<0
    private var isAsking = false

    /// Makes an empty stock.
    public init() {}

    /// How many ids remain.
    public var count: Int { current.count + next.count }

    /// Whether to ask the store for more now. After true, the stock expects a call of `arrive`.
    public mutating func wantsMore() -> Bool {
        guard !isAsking, count < Self.partMax / 2 else { return false }
        isAsking = true
        return true
    }

    /// Takes the store's answer; nil if it failed, so that `wantsMore` asks again.
    public mutating func arrive(_ ids: Range<UInt64>?) {
        isAsking = false
        guard let ids else { return }
        if current.isEmpty { current = ids } else { next = ids }
    }

    /// Takes consecutive ids; nil if there are too few. The rest of a range that is too small is dropped.
    public mutating func take(_ count: Int) -> Range<UInt64>? {
        if current.count < count {
            guard next.count >= count else { return nil }
            current = next
            next = 0..<0
        }
        let end = current.lowerBound + UInt64(count)
        defer { current = end..<current.upperBound }
        return current.lowerBound..<end
    }
}
