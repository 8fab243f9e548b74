public import SignalboxCore

/// Events that a source has emitted: all of them are stored, or none.
public struct SourceBatch: Sendable {
    /// The events.
    public var events: [Event]
    /// When they came.
    public var receivedUnixMs: UInt64
    /// Tells the source the verdict on its events; call it once.
    public var done: @Sendable (SourceVerdict) -> Void
}

/// The verdict on a batch.
public enum SourceVerdict: Sendable, Hashable {
    /// Its events are on disk; so many of them were dropped as duplicates.
    case stored(count: Int, repeated: Int)
    /// Nothing is stored: the source emits it again, not before so long.
    case again(afterMs: UInt64)
}
