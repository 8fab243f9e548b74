/// How reports move from the outbox to the queue: read some, append them, remove them, until the outbox is empty.
///
/// The driver performs the step that the last call returned and reports its result, one step at a time. A failed step
/// is followed by a pause and a new read, so that nothing is stranded. Reports that were appended but not removed are
/// read again and dropped by their dedupe key.
struct OutboxTransfer: Sendable {
    /// The next step to perform.
    enum Step: Sendable, Equatable {
        /// Read the oldest reports.
        case read
        /// Append what was read to the queue.
        case append
        /// Remove everything up to this entry from the outbox.
        case remove(through: UInt64)
        /// Wait a while, and call `waited`.
        case pause
        /// Nothing: the outbox is empty, or another step is under way.
        case rest
    }

    private enum Stage: Sendable {
        case resting
        case reading
        case appending(through: UInt64)
        case removing
        case pausing
    }

    private var stage = Stage.resting
    /// Reports were written since the last read began.
    private var isWanted = false

    /// Starts at rest.
    init() {}

    /// Reports were written, or may be left from an earlier run.
    mutating func written() -> Step {
        isWanted = true
        guard case .resting = stage else { return .rest }
        return read()
    }

    private mutating func read() -> Step {
        isWanted = false
        stage = .reading
        return .read
    }

    /// Takes the id of the last report read; nil if the outbox is empty.
    mutating func found(last: UInt64?) -> Step {
        if let last {
            stage = .appending(through: last)
            return .append
        }
        if isWanted { return read() }
        stage = .resting
        return .rest
    }

    /// What was read is in the queue.
    mutating func appended() -> Step {
        guard case .appending(let last) = stage else { return .rest }
        stage = .removing
        return .remove(through: last)
    }

    /// What was appended has been removed from the outbox; there may be more.
    mutating func removed() -> Step { read() }

    /// The step that was under way failed.
    mutating func failed() -> Step {
        stage = .pausing
        return .pause
    }

    /// The pause is over.
    mutating func waited() -> Step { read() }
}
