internal import SignalboxCore

/// A block with leased deliveries.
///
/// Used by the writer's thread alone.
final class OpenBlock {
    let id: Int64
    let lane: Int64
    let name: LaneKey
    let rank: Int
    let count: Int
    /// Deliveries that are settled, or have a row of their own.
    var done: Marks
    /// Deliveries that are leased.
    var out = Marks()
    /// When their lease ends, in Unix milliseconds.
    var untilUnixMs: Int64 = 0
    /// Nothing is leased before this time, in Unix milliseconds.
    var dueUnixMs: Int64 = 0
    /// It is in its lane's list of blocks to lease from.
    var isReturned = false
    /// It has marks that are not written yet.
    var isDirty = false
    /// Its marks have a row in the file.
    var hasProgress: Bool
    /// Its row is in the table `flight`.
    let isInFlight: Bool
    /// Its row stays in the file when all is done, for a repair.
    var isDamaged = false
    /// Its row was removed, or never written.
    var isGone = false

    init(
        id: Int64, lane: Int64, name: LaneKey, rank: Int, count: Int, marks: Marks? = nil,
        isInFlight: Bool = false
    ) {
        self.isInFlight = isInFlight
        self.id = id
        self.lane = lane
        self.name = name
        self.rank = rank
        self.count = count
        done = marks ?? Marks()
        hasProgress = marks != nil
    }

    var isDone: Bool { done.marked >= count }

    /// A delivery is neither settled nor leased.
    var hasRest: Bool { done.marked + out.marked < count }
}
