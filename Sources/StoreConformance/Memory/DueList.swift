/// Ids in the order in which they are due; those of one time in the order in which they came.
///
/// What became of an id elsewhere is not known here: whoever takes one checks whether it still counts.
struct DueList: Sendable {
    private var items: [(id: UInt64, dueUnixMs: UInt64)] = []
    private var start = 0

    /// All that were not taken.
    var all: ArraySlice<(id: UInt64, dueUnixMs: UInt64)> { items[start...] }

    /// Most come in their order, and stand at the end at once.
    mutating func add(_ id: UInt64, dueUnixMs: UInt64) {
        var place = items.count
        if let last = items.last, last.dueUnixMs > dueUnixMs {
            var (low, high) = (start, items.count)
            while low < high {
                let middle = (low + high) / 2
                if items[middle].dueUnixMs <= dueUnixMs { low = middle + 1 } else { high = middle }
            }
            place = low
        }
        items.insert((id, dueUnixMs), at: place)
    }

    /// Takes the first that is due and counts; those before it are dropped.
    mutating func popDue(
        nowUnixMs: UInt64, where counts: (UInt64, UInt64) -> Bool
    ) -> UInt64? {
        guard let due = firstDue(where: counts), due <= nowUnixMs else { return nil }
        defer { drop() }
        return items[start].id
    }

    /// When the first that counts is due; those before it are dropped.
    mutating func firstDue(where counts: (UInt64, UInt64) -> Bool) -> UInt64? {
        while start < items.count {
            if counts(items[start].id, items[start].dueUnixMs) { return items[start].dueUnixMs }
            drop()
        }
        return nil
    }

    private mutating func drop() {
        start += 1
        guard start > 1_024, start * 2 > items.count else { return }
        items.removeFirst(start)
        start = 0
    }
}
