/// The stream of outcomes: what is appended stays until every receiver has taken it, or it is too old.
public protocol OutcomeStore: Sendable {
    /// The sequence number of the next outcome that is appended.
    var nextOutcome: UInt64 { get }
    /// Says who the receivers are; where each of them stands.
    ///
    /// A new one begins with what is appended from now on. What nobody but a former one was to take is removed.
    func setOutcomeReceivers(_ names: [String]) async throws -> [String: UInt64]
    /// Rows from a sequence number on, in order, and whether there are more.
    func outcomes(from first: UInt64) async throws -> (rows: [OutcomeRow], hasMore: Bool)
    /// A receiver has taken everything below `next`.
    func outcomesTaken(by receiver: String, next: UInt64) async throws
    /// Appends outcomes that end no delivery.
    func append(_ outcomes: OutcomePack) async throws
}

/// How long the stream keeps what a receiver does not take.
public enum OutcomeLimits {
    /// Older outcomes go, in milliseconds.
    public static let ageMs: UInt64 = 7 * 86_400_000
    /// Of more outcomes the oldest go.
    public static let countMax: UInt64 = 1_000_000
    /// Bytes of outcomes that wait in memory while the disk is full; further ones are lost and counted.
    public static let unwrittenBytesMax = 16 << 20
}
