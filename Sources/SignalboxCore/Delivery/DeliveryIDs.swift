/// Ids for deliveries, each with its UUID.
///
/// The gateway has one sequence, behind a lock. Whoever needs many takes a run of them in one short step.
public struct DeliveryIDs: Sendable {
    private var last: UInt64
    private var stableIDs: StableIDs

    /// The ids after `last`.
    public init(last: UInt64, stableIDs: StableIDs) {
        self.last = last
        self.stableIDs = stableIDs
    }

    /// The id that is next.
    public var first: UInt64 { last + 1 }

    /// The next id with its UUID.
    public mutating func next() -> (id: UInt64, stableID: String) {
        last += 1
        return (last, stableIDs.next())
    }

    /// The next `count`; those of them that are not used are used by nobody.
    public mutating func take(_ count: Int) -> DeliveryIDs {
        let own = DeliveryIDs(last: last, stableIDs: stableIDs.take(count))
        last += UInt64(count)
        return own
    }
}
