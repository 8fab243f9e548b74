internal import GRDB

/// When leases end.
///
/// Leased rows are in no index: most deliveries are taken over at commit and gone before anyone looks
/// for them. The writer remembers the id ranges that hold leases, and searches them when leases end.
struct LeaseEnds {
    private struct Entry {
        /// When the first and the last of them end, in Unix milliseconds.
        var firstUntil: Int64
        var lastUntil: Int64
        var ids: ClosedRange<Int64>
    }

    /// Leases that end within this many milliseconds share an entry.
    private static let width: Int64 = 100
    /// In the order in which they end.
    private var entries: [Entry] = []

    /// A delivery is leased.
    mutating func add(_ id: Int64, until: Int64) {
        if let last = entries.last, until >= last.firstUntil, until < last.firstUntil + Self.width {
            entries[entries.count - 1].lastUntil = max(last.lastUntil, until)
            entries[entries.count - 1].ids =
                min(last.ids.lowerBound, id)...max(last.ids.upperBound, id)
            return
        }
        let place = entries.lastIndex { $0.firstUntil <= until }.map { $0 + 1 } ?? 0
        entries.insert(Entry(firstUntil: until, lastUntil: until, ids: id...id), at: place)
    }

    /// Releases expired leases.
    mutating func expire(now: Int64, _ hot: HotStatements, _ db: Database) throws {
        while let entry = entries.first, entry.firstUntil <= now {
            let update = try hot.statement(.expireLeases, db)
            update.bind(entry.ids.lowerBound)
            update.bind(entry.ids.upperBound)
            update.bind(now)
            try update.run()
            entries.removeFirst()
            if entry.lastUntil > now {
                var rest = entry
                rest.firstUntil = entry.lastUntil
                let place = entries.firstIndex { $0.firstUntil > rest.firstUntil } ?? entries.count
                entries.insert(rest, at: place)
            }
        }
    }

    /// When the next lease of a lane ends; nil if it has none.
    mutating func nextEnd(
        lane: Int64, _ hot: HotStatements, _ db: Database
    ) throws -> Int64? {
        var index = 0
        while index < entries.count {
            let ids = entries[index].ids
            let find = try hot.statement(.findLeased, db)
            find.bind(lane)
            find.bind(ids.lowerBound)
            find.bind(ids.upperBound)
            // The end of the lane's first lease, and the number of leases of all lanes.
            guard try find.step() else { return nil }
            let end = find.isNull(0) ? nil : find.number(0)
            let count = find.number(1)
            find.end()
            if let end { return end }
            if count == 0 { entries.remove(at: index) } else { index += 1 }
        }
        return nil
    }
}
