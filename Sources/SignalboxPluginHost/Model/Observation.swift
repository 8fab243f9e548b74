/// An outcome for a plugin that observes.
public struct Observation: Sendable {
    /// Grows with every outcome.
    public var sequence: UInt64
    /// A JSON object.
    public var json: [UInt8]

    /// Makes an observation.
    public init(sequence: UInt64, json: [UInt8]) {
        self.sequence = sequence
        self.json = json
    }
}

/// What an observer says of a batch.
public enum ObserveVerdict: Sendable, Hashable {
    /// It is safe at the other side.
    case taken
    /// It comes again, not before so long.
    case later(afterMs: UInt64, reason: String)
    /// The other side refuses it.
    case refused(reason: String)
}
