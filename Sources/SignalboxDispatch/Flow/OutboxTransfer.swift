/// How reports move from the outbox to the queue: some are read, appended, and removed, until none is left.
///
/// Whoever drives it does what the last call returned, and calls back with what came of it. One step is under way
/// at a time. A step that failed is followed by a pause and a new reading, so that nothing is stranded; what was
/// appended and not removed is read again, and left out by its dedupe key.
public struct OutboxTransfer: Sendable {
    /// What is to be done next.
    public enum Step: Sendable, Equatable {
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
    /// Reports were written since the reading began.
    private var isWanted = false

    /// The outbox is at rest.
    public init() {}

    /// Reports were written, or may be there since an earlier life.
    public mutating func written() -> Step {
        isWanted = true
        guard case .resting = stage else { return .rest }
        return read()
    }

    private mutating func read() -> Step {
        isWanted = false
        stage = .reading
        return .read
    }

    /// The id of the last report that was read; nil: the outbox is empty.
    public mutating func found(last: UInt64?) -> Step {
        if let last {
            stage = .appending(through: last)
            return .append
        }
        if isWanted { return read() }
        stage = .resting
        return .rest
    }

    /// What was read is in the queue.
    public mutating func appended() -> Step {
        guard case .appending(let last) = stage else { return .rest }
        stage = .removing
        return .remove(through: last)
    }

    /// What was appended is out of the outbox; there may be more.
    public mutating func removed() -> Step { read() }

    /// The step that was under way failed.
    public mutating func failed() -> Step {
        stage = .pausing
        return .pause
    }

    /// The pause is over.
    public mutating func waited() -> Step { read() }
}
