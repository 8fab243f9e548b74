/// Ids that a store has given and nobody uses yet.
///
/// A value without lock: its owner asks the store when `wantsMore` says so, and goes on with what is left.
public struct IDStock: Sendable {
    /// So many are asked for at once: enough for a second of what a gateway can take.
    public static let partMax = 1 << 18

    private var current: Range<UInt64> = 0..<0
    private var next: Range<UInt64> = 0..<0
    private var isAsking = false

    /// Makes an empty stock.
    public init() {}

    /// How many are left.
    public var count: Int { current.count + next.count }

    /// Whether the store is to be asked for more now; it is then waited for.
    public mutating func wantsMore() -> Bool {
        guard !isAsking, count < Self.partMax / 2 else { return false }
        isAsking = true
        return true
    }

    /// The store has answered; nil: it failed, and is asked again.
    public mutating func arrive(_ ids: Range<UInt64>?) {
        isAsking = false
        guard let ids else { return }
        if current.isEmpty { current = ids } else { next = ids }
    }

    /// So many in a row; nil: there are not as many. What is left of a range that is too small is dropped.
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
