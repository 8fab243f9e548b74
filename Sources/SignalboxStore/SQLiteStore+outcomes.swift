internal import GRDB
public import SignalboxCore

extension SQLiteStore: OutcomeStore {
    /// The sequence number of the next outcome that is appended.
    public var nextOutcome: UInt64 { UInt64(clamping: outcomes.value) }

    /// Says who the receivers are; where each of them stands.
    public func setOutcomeReceivers(_ names: [String]) async throws -> [String: UInt64] {
        try await performQueue { db, tables in try tables.outcomes.setReceivers(names, db) }
    }

    /// Rows from a sequence number on, in order, and whether there are more.
    public func outcomes(from first: UInt64) async throws -> (rows: [OutcomeRow], hasMore: Bool) {
        try await withCheckedThrowingContinuation { continuation in
            look({ hot, db in try OutcomeTables.rows(from: first, hot, db) }) {
                continuation.resume(with: $0)
            }
        }
    }

    /// A receiver has taken everything below `next`.
    public func outcomesTaken(by receiver: String, next: UInt64) async throws {
        try await performQueue { db, tables in
            try OutcomeTables.taken(by: receiver, next: next, db)
            try tables.outcomes.removeTaken(db)
        }
    }

    /// Appends outcomes that end no delivery.
    public func append(_ outcomes: OutcomePack) async throws {
        let now = nowUnixMs
        try await performQueue { db, tables in
            try tables.outcomes.write([outcomes], nowUnixMs: now(), tables.hot, db)
        }
    }

    /// Does something with the tables in the next commit.
    private func performQueue<Value: Sendable>(
        _ body: @escaping @Sendable (Database, inout QueueTables) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let result = Carried<Value?>(nil)
            submitQueue({ db, tables, _ in
                result.set(try body(db, &tables))
                return 0
            }) { fault in
                if fault == nil, let value = result.value {
                    continuation.resume(returning: value)
                } else {
                    continuation.resume(
                        throwing: StoreError("store-failed", fault ?? "the store is closed"))
                }
            }
        }
    }
}
