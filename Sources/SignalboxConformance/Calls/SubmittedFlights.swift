internal import CSignalbox
internal import SignalboxCore
internal import SignalboxPluginHost
internal import SignalboxThreads

/// The deliveries that a plugin with its own transport has accepted, and their outcomes.
final class SubmittedFlights: Sendable {
    private struct State {
        var open: Set<UInt64> = []
        var settled: Set<UInt64> = []
        var outcomes: [Outcome] = []
        var credits = 0
    }

    private let gate = Gate(State())

    /// Records deliveries before they are offered; rejected ones are given back.
    func offer(_ ids: [UInt64]) { gate.updateAll { $0.open.formUnion(ids) } }

    func giveBack(_ ids: some Sequence<UInt64>) {
        gate.updateAll { state in
            for id in ids {
                if state.settled.contains(id) {
                    Findings.shared.fail(
                        .sendOutcomes, "complete() named a delivery that submit() did not take")
                }
                state.open.remove(id)
            }
        }
    }

    /// Waits until nothing is open. Returns what is still open at the deadline.
    func settled(deadlineNs: UInt64) -> Set<UInt64> {
        gate.wait(until: { state in
            if state.open.isEmpty || SystemClock.monotonicNs >= deadlineNs {
                return (state.open, nil)
            }
            return (nil, deadlineNs)
        })
    }

    /// Waits for a credit after the first `seen`; false if none came.
    func creditCame(after seen: Int, deadlineNs: UInt64) -> Bool {
        gate.wait(until: { state in
            if state.credits > seen { return (true, nil) }
            return SystemClock.monotonicNs >= deadlineNs ? (false, nil) : (nil, deadlineNs)
        })
    }

    var credits: Int { gate.wait(for: { $0.credits }) }

    /// The outcomes since the last call.
    func takeOutcomes() -> [Outcome] {
        gate.update { state in
            defer { state.outcomes = [] }
            return state.outcomes
        }
    }

    /// The plugin reports outcomes.
    func complete(
        _ given: UnsafePointer<sbx_outcome>?, _ count: Int, _ stride: Int, _ structs: StructReader
    ) {
        guard let given, count > 0 else { return }
        for index in 0..<count {
            let read = structs.reading("complete()") { () throws(StructFault) in
                try structs.read(given, index, stride: stride)
            }
            guard let raw = read else { return }
            let item = raw.item
            var faults: [String] = []
            let outcome = Outcome(settling: item, raw, faults: &faults)
            for fault in faults { Findings.shared.fail(.sendOutcomes, "it \(fault)") }
            gate.updateAll { state in
                if state.open.remove(item) != nil {
                    state.settled.insert(item)
                    state.outcomes.append(outcome)
                } else {
                    Findings.shared.fail(
                        .sendOutcomes,
                        state.settled.contains(item)
                            ? "complete() named a delivery a second time"
                            : "complete() named a delivery that is not in flight")
                }
            }
        }
    }

    func credit() { gate.updateAll { $0.credits += 1 } }
}
