internal import HeapModule

/// Pending alarms in the order of their times, at most one per owner.
///
/// A replaced alarm stays in the heap until its time or the next clean-up, so setting an alarm costs
/// O(log n).
struct Alarms<Ring> {
    private struct Entry: Comparable {
        let ns: UInt64
        let number: UInt64
        let owner: Int

        static func < (one: Entry, other: Entry) -> Bool {
            (one.ns, one.number) < (other.ns, other.number)
        }
    }

    private var order = Heap<Entry>()
    /// The current alarm of each owner: its entry's number and its callback.
    private var current: [Int: (number: UInt64, ring: Ring)] = [:]
    private var lastNumber: UInt64 = 0

    /// Number of pending alarms.
    var count: Int { current.count }
    /// Number of entries in the heap, including replaced ones.
    var entryCount: Int { order.count }

    /// Sets the alarm of an owner and drops its previous one. Returns true if it rings next.
    mutating func set(_ owner: Int, atNs ns: UInt64, ring: Ring) -> Bool {
        lastNumber += 1
        let isFirst = order.min.map { ns < $0.ns } ?? true
        current[owner] = (lastNumber, ring)
        order.insert(Entry(ns: ns, number: lastNumber, owner: owner))
        if order.count > 2 * current.count + 64 {
            order = Heap(order.unordered.filter { current[$0.owner]?.number == $0.number })
        }
        return isFirst
    }

    /// Takes the alarms that are due, the earliest first.
    mutating func takeDue(nowNs: UInt64) -> [Ring] {
        var due: [Ring] = []
        while let entry = order.min, entry.ns <= nowNs {
            order.removeMin()
            guard let known = current[entry.owner], known.number == entry.number else { continue }
            current[entry.owner] = nil
            due.append(known.ring)
        }
        return due
    }

    /// When to check again; nil if no alarm is set.
    var nextNs: UInt64? { order.min?.ns }

    /// Removes all alarms.
    mutating func removeAll() {
        order = Heap()
        current = [:]
    }
}
