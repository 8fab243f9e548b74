internal import CSignalbox
internal import SignalboxCore
internal import SignalboxPluginHost
internal import SignalboxThreads

/// The batches that a source has emitted, as the host of an examined plugin takes them.
final class EmittedBatches: Sendable {
    private struct State {
        /// 0: it may not emit.
        var batchesMax = 0
        var undecided: [UInt64] = []
        var count = 0
    }

    private let gate = Gate(State())

    /// From now on it may emit.
    func open(batchesMax: Int) { gate.updateAll { $0.batchesMax = batchesMax } }

    /// pause() has returned.
    func close() { gate.updateAll { $0.batchesMax = 0 } }

    /// Waits for the first batch after `seen`; false if none came.
    func came(after seen: Int, deadlineNs: UInt64) -> Bool {
        gate.wait(until: { state in
            if state.count > seen { return (true, nil) }
            return SystemClock.monotonicNs >= deadlineNs ? (false, nil) : (nil, deadlineNs)
        })
    }

    /// How many batches were taken so far.
    var count: Int { gate.wait(for: { $0.count }) }

    /// The tokens of undecided batches, which are decided now.
    func takeUndecided() -> [UInt64] {
        gate.update { state in
            defer { state.undecided = [] }
            return state.undecided
        }
    }

    /// The plugin emits a batch.
    func emit(
        _ token: UInt64, _ events: UnsafePointer<sbx_event>?, _ count: Int, _ stride: Int,
        _ host: BareHost
    ) -> sbx_status {
        let batchesMax = gate.update { $0.batchesMax }
        guard batchesMax > 0 else {
            Findings.shared.fail(.sourcePause, "emit() was called while the source is paused")
            return SBX_E_AGAIN
        }
        guard let events, count > 0 else {
            Findings.shared.fail(.sourceEvents, "emit() was called without events")
            return SBX_E_INVALID
        }
        let read = host.structs.reading("emit()") { () throws(StructFault) in
            try host.events(events, count, stride: stride, limits: Limits())
        }
        switch read {
        case nil: return SBX_E_INVALID
        case .failure(let fault):
            Findings.shared.fail(.sourceEvents, fault.message)
            return SBX_E_INVALID
        case .success: break
        }
        return gate.update { state in
            if state.undecided.contains(token) {
                Findings.shared.fail(
                    .sourceTokens, "the token \(token) is of a batch that is not decided yet")
            }
            guard state.undecided.count < batchesMax else { return SBX_E_AGAIN }
            state.undecided.append(token)
            state.count += 1
            return SBX_OK
        }
    }
}
