internal import HeapModule

/// Which alarms ring next: at most one per owner, in the order of their times.
///
/// An alarm that was replaced stays in the heap until its time or the next clean-up, so that setting one costs
/// the logarithm of their count.
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
    /// By owner: the number of its entry, and what rings.
    private var current: [Int: (number: UInt64, ring: Ring)] = [:]
    private var lastNumber: UInt64 = 0

    /// How many will ring.
    var count: Int { current.count }
    /// How many entries are kept, with those that were replaced.
    var entryCount: Int { order.count }

    /// Sets the alarm of an owner and drops its previous one. True: it is the next to ring.
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

    /// Takes the alarms whose time has come, the earliest first.
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

    /// When to look again; nil: no alarm is set.
    var nextNs: UInt64? { order.min?.ns }

    /// Drops all.
    mutating func removeAll() {
        order = Heap()
        current = [:]
    }
}
