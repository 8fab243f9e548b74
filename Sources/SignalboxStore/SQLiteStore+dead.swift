internal import GRDB
public import SignalboxCore

extension SQLiteStore: DeadLetterStore {
    /// Dead letters with ids from `fromID` on.
    public func deadLetters(
        _ filter: DeadFilter, fromID: UInt64, limit: Int
    ) async throws -> [DeadLetter] {
        try await perform { db, _ in
            try DeadTables.list(filter, fromID: fromID, limit: limit, db)
        }
    }

    /// How many there are.
    public func deadCount(_ filter: DeadFilter) async throws -> Int {
        try await perform { db, _ in try DeadTables.count(filter, db) }
    }

    /// Makes deliveries of a part of them again.
    public func replay(
        _ filter: DeadFilter, fromID: UInt64, limit: Int, nowUnixMs: UInt64
    ) async throws -> DeadPart {
        let part = try await perform { db, nextID in
            try DeadTables.replay(
                filter, fromID: fromID, limit: limit, nowUnixMs: nowUnixMs, nextPayloadID: nextID,
                db)
        }
        addWaiting(part.count)
        return part
    }

    /// Forgets a part of them.
    public func purge(_ filter: DeadFilter, fromID: UInt64, limit: Int) async throws -> DeadPart {
        try await perform { db, _ in
            try DeadTables.purge(filter, fromID: fromID, limit: limit, db)
        }
    }

    /// Does something in the next commit; `body` gets the database and a maker of ids.
    func perform<Value: Sendable>(
        _ body: @escaping @Sendable (Database, () -> UInt64) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let result = Carried<Value?>(nil)
            submitWork(
                { db, nextID in
                    let value = try body(db, nextID)
                    result.set(value)
                },
                { fault in
                    if let fault {
                        continuation.resume(throwing: StoreError("store-failed", fault))
                    } else if let value = result.value {
                        continuation.resume(returning: value)
                    } else {
                        continuation.resume(
                            throwing: StoreError("store-failed", "the store is closed"))
                    }
                })
        }
    }
}
