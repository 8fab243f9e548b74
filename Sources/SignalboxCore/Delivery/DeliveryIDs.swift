/// Ids for deliveries, each with its UUID.
///
/// The gateway has one sequence, behind a lock. A caller that needs many takes a range in one short step.
public struct DeliveryIDs: Sendable {
    private var last: UInt64
    private var stableIDs: StableIDs

    /// Starts with the id after `last`.
    public init(last: UInt64, stableIDs: StableIDs) {
        self.last = last
        self.stableIDs = stableIDs
    }

    /// The next id, without taking it.
    public var first: UInt64 { last + 1 }

    /// The next id with its UUID.
    public mutating func next() -> (id: UInt64, stableID: String) {
        last += 1
        return (last, stableIDs.next())
    }

    /// Splits off the next `count` ids. Those that the caller does not use are never used.
    public mutating func take(_ count: Int) -> DeliveryIDs {
        let own = DeliveryIDs(last: last, stableIDs: stableIDs.take(count))
        last += UInt64(count)
        return own
    }
}
