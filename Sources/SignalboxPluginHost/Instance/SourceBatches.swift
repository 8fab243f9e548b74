internal import CSignalbox
internal import SignalboxCore
internal import Synchronization

/// Accepts the batches of a source, and counts the undecided ones.
final class SourceBatches: Sendable {
    /// What a resumed source may do.
    struct Opening {
        var limits: Limits
        var batchesMax: Int
        /// Takes a batch; false: there is no room now.
        var take: @Sendable (SourceBatch) -> Bool
        /// Gets the condition of the source; nil if it is receiving events.
        var onCondition: @Sendable (PluginFault?) -> Void
        /// Tells the plugin of a batch with this token.
        var settle: @Sendable (UInt64, SourceVerdict) -> Void
    }

    private struct State {
        var opening: Opening?
        var wasOpen = false
        var undecided = 0
    }

    private let state = Mutex(State())

    /// Whether it was ever resumed.
    var wasOpen: Bool { state.withLock { $0.wasOpen } }

    func open(_ opening: Opening) {
        state.withLock { state in
            state.opening = opening
            state.wasOpen = true
        }
    }

    func close() { state.withLock { $0.opening = nil } }

    /// The source reports its condition; nil if it is receiving events.
    func tell(_ fault: PluginFault?) -> sbx_status {
        guard let opening = state.withLock({ $0.opening }) else { return SBX_E_INVALID }
        opening.onCondition(fault)
        return SBX_OK
    }

    /// Reserves a place for a batch; nil if the source is paused, or has its maximum of undecided batches.
    func place() -> Opening? {
        state.withLock { state in
            guard let opening = state.opening, state.undecided < opening.batchesMax else {
                return nil
            }
            state.undecided += 1
            return opening
        }
    }

    /// The plugin knows the verdict on a batch, or the batch was refused.
    func isSettled() { state.withLock { $0.undecided -= 1 } }
}
