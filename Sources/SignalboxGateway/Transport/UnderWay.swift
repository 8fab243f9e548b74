internal import SignalboxThreads

/// Counts deliveries in memory, and waits until the count is 0.
package final class UnderWay: Sendable {
    private let gate = Gate(0)

    /// Counts in or out.
    func adjust(by delta: Int) { gate.update { $0 += delta } }

    /// Blocks until the count is 0 or the deadline has passed; returns the rest.
    func waitForNone(deadlineNs: UInt64) -> Int {
        gate.wait(until: { count in
            if count <= 0 || SystemClock.monotonicNs >= deadlineNs { return (count, nil) }
            return (nil, deadlineNs)
        })
    }
}
