internal import SignalboxThreads

/// What an observer has answered.
final class ObserverAnswers: Sendable {
    private let gate = Gate([UInt64: [Int32]]())

    func add(_ sequence: UInt64, _ status: Int32) {
        gate.updateAll { $0[sequence, default: []].append(status) }
    }

    /// Waits for the answers to a batch; empty if none came by the deadline.
    func answers(to last: UInt64, deadlineNs: UInt64) -> [Int32] {
        gate.wait(until: { answers in
            if let found = answers[last] { return (found, nil) }
            return SystemClock.monotonicNs >= deadlineNs ? ([], nil) : (nil, deadlineNs)
        })
    }

    /// How many answers there are.
    var count: Int { gate.update { $0.values.reduce(0) { $0 + $1.count } } }
}
