internal import GRDB
public import SignalboxCore

extension SQLiteStore: OutcomeStore {
    /// The sequence number of the next outcome that is appended.
    public var nextOutcome: UInt64 { UInt64(clamping: gauges.outcomes.value) }

    /// Sets the receivers. Returns the position of each.
    public func setOutcomeReceivers(_ names: [String]) async throws -> [String: UInt64] {
        try await queueWork { db, tables, _ in
            let (places, removed) = try tables.outcomes.setReceivers(names, db)
            for (name, count) in removed { tables.note(.receiverRemoved(name, count: count)) }
            return (places, 0)
        }
    }

    /// Of some pushes, whether events with them were committed.
    public func wereShown(
        _ claims: [OpenClaim], done: @escaping @Sendable (Result<[Bool], StoreFailure>) -> Void
    ) {
        let now = nowUnixMs()
        submitQueue(
            { db, tables, _ in
                (try tables.seen.wereShown(claims, nowUnixMs: now, tables.hot, db), 0)
            }, done)
    }

    /// Gives the position: no other gateway uses this database.
    public func claimOutcomes(
        for receiver: String, forMs: UInt64
    ) async throws -> OutcomeClaim? {
        try await look { _, db in
            try OutcomeTables.place(of: receiver, db).map {
                OutcomeClaim(next: $0, isShared: false)
            }
        }
    }

    /// Rows from a sequence number on, in order, and whether there are more.
    public func outcomes(from first: UInt64) async throws -> (rows: [OutcomeRow], hasMore: Bool) {
        try await look { hot, db in try OutcomeTables.rows(from: first, hot, db) }
    }

    /// A receiver has taken everything below `next`.
    public func outcomesTaken(by receiver: String, next: UInt64) async throws {
        try await queueWork { db, tables, _ in
            try OutcomeTables.taken(by: receiver, next: next, db)
            return (try tables.outcomes.removeTaken(db), 0)
        }
    }

    /// Appends outcomes that end no delivery.
    public func append(_ outcomes: OutcomePack) async throws {
        let now = nowUnixMs
        try await queueWork { db, tables, _ in
            tables.history.add(outcomes.history)
            return (try tables.outcomes.write([outcomes], nowUnixMs: now(), tables.hot, db), 0)
        }
    }
}
