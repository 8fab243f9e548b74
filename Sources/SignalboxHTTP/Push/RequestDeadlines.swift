internal import DequeModule

/// The deadlines of requests under way, in order: all requests of a pool are given the same time.
///
/// The entry of a request that has ended stays until it is first, or until entries are twice as many as requests.
struct RequestDeadlines {
    struct Entry {
        var ns: UInt64
        /// The request's place in its pool, which others have after it.
        var slot: Int
        /// Which request has the place.
        var generation: UInt64
    }

    private var entries: Deque<Entry> = []

    var count: Int { entries.count }

    var first: Entry? { entries.first }

    /// Adds the latest deadline; at most `placeCount` requests have not ended.
    mutating func add(_ entry: Entry, placeCount: Int, hasEnded: (Entry) -> Bool) {
        if entries.count > 2 * placeCount + 64 { entries.removeAll(where: hasEnded) }
        entries.append(entry)
    }

    mutating func removeFirst() { entries.removeFirst() }
}
