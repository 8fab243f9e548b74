/// The stream of outcomes. An outcome stays until every receiver has taken it or it is too old.
public protocol OutcomeStore: Sendable {
    /// Sequence number of the next outcome that will be appended.
    var nextOutcome: UInt64 { get }
    /// Sets the receivers. Returns each receiver's next sequence number.
    ///
    /// A new receiver starts with outcomes appended from now on. Outcomes that only a removed receiver had not taken
    /// yet are deleted: at once, or once no owner has named it for ten minutes.
    func setOutcomeReceivers(_ names: [String]) async throws -> [String: UInt64]
    /// Makes this owner the one that sends a receiver's outcomes for so many milliseconds, or longer if it is already.
    ///
    /// Returns nil if another owner sends them, or if there is no such receiver. With `forMs` 0 the claim ends, and
    /// another owner may send at once. A claim ends with its owner's life, too.
    func claimOutcomes(for receiver: String, forMs: UInt64) async throws -> OutcomeClaim?
    /// Rows from a sequence number on, in order, and whether there are more.
    func outcomes(from first: UInt64) async throws -> (rows: [OutcomeRow], hasMore: Bool)
    /// Records that a receiver has taken everything below `next`.
    func outcomesTaken(by receiver: String, next: UInt64) async throws
    /// Appends outcomes that end no delivery.
    func append(_ outcomes: OutcomePack) async throws
}

/// The right to send a receiver's outcomes.
public struct OutcomeClaim: Sendable, Equatable {
    /// The sequence number that the receiver gets next.
    public var next: UInt64
    /// Whether other owners append to the stream, and one of them takes over when the claim ends. Otherwise it never
    /// ends.
    public var isShared: Bool

    /// Makes a claim.
    public init(next: UInt64, isShared: Bool) {
        self.next = next
        self.isShared = isShared
    }
}

/// How much the stream keeps for a receiver that does not take it.
public enum OutcomeLimits {
    /// Older outcomes are removed, in milliseconds.
    public static let ageMs: UInt64 = 7 * 86_400_000
    /// Above this many outcomes, the oldest are removed.
    public static let countMax: UInt64 = 1_000_000
    /// Most bytes of outcomes kept in memory while the disk is full; more are dropped and counted.
    public static let unwrittenBytesMax = 16 << 20
}
