/// Ids in the order in which they are due; ids due at the same time keep their arrival order.
///
/// The list does not see changes made to an id elsewhere: the taker checks
/// whether an id still counts.
struct DueList: Sendable {
    private var items: [(id: UInt64, dueUnixMs: UInt64)] = []
    private var start = 0

    /// All ids that were not taken.
    var all: ArraySlice<(id: UInt64, dueUnixMs: UInt64)> { items[start...] }

    /// Most ids arrive in order and go straight to the end.
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

    /// Takes the first id that is due and counts; drops those before it.
    mutating func popDue(
        nowUnixMs: UInt64, where counts: (UInt64, UInt64) -> Bool
    ) -> UInt64? {
        guard let due = firstDue(where: counts), due <= nowUnixMs else { return nil }
        defer { drop() }
        return items[start].id
    }

    /// When the first id that counts is due; drops those before it.
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
