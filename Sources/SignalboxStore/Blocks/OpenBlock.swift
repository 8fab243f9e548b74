internal import SignalboxCore

/// A block some of whose deliveries are out: leased, or taken over by their lane when they were written.
///
/// Used by the writer's thread alone.
final class OpenBlock {
    let id: Int64
    let lane: Int64
    let name: LaneKey
    let rank: Int
    let count: Int
    /// As many of them as could be read; all, unless the file is damaged.
    let readable: Int
    /// Those that are settled here, or stand in a row of their own.
    var done: Marks
    /// Those that somebody has.
    var out = Marks()
    /// When their lease runs out, in Unix milliseconds.
    var untilUnixMs: Int64 = 0
    /// Nothing of it is lent before this time, in Unix milliseconds.
    var dueUnixMs: Int64 = 0
    /// It stands in the lane's list of those that have something to lend.
    var isReturned = false
    /// More is done than the file says.
    var isDirty = false
    /// The file has marks of it.
    var hasProgress: Bool
    /// It is not in the file any more, or never was.
    var isGone = false

    init(
        id: Int64, lane: Int64, name: LaneKey, rank: Int, count: Int, readable: Int, done: Marks,
        hasProgress: Bool
    ) {
        self.id = id
        self.lane = lane
        self.name = name
        self.rank = rank
        self.count = count
        self.readable = readable
        self.done = done
        self.hasProgress = hasProgress
    }

    var isDone: Bool { done.marked >= count }

    /// Something is neither done nor out.
    var hasRest: Bool { done.marked + out.marked < readable }
}
