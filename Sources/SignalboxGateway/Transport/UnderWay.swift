internal import SignalboxThreads

/// Counts deliveries in memory, and waits until there are none.
package final class UnderWay: Sendable {
    private let gate = Gate(0)

    /// Counts in or out.
    func adjust(by delta: Int) { gate.update { $0 += delta } }

    /// Blocks until nothing is under way or the deadline has passed; returns what is left.
    func waitForNone(deadlineNs: UInt64) -> Int {
        gate.wait(until: { count in
            if count <= 0 || SystemClock.monotonicNs >= deadlineNs { return (count, nil) }
            return (nil, deadlineNs)
        })
    }
}
