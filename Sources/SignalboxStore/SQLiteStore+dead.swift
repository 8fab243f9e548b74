internal import GRDB
public import SignalboxCore

extension SQLiteStore: DeadLetterStore {
    /// Dead letters with ids from `fromID` on.
    public func deadLetters(
        _ filter: DeadFilter, fromID: UInt64, limit: Int
    ) async throws -> [DeadLetter] {
        try await perform { db in
            try DeadTables.list(filter, fromID: fromID, limit: limit, db)
        }
    }

    /// How many there are.
    public func deadCount(_ filter: DeadFilter) async throws -> Int {
        try await perform { db in try DeadTables.count(filter, db) }
    }

    /// Puts a part of them back into the queue.
    public func replay(_ filter: DeadFilter, fromID: UInt64, limit: Int) async throws -> DeadPart {
        let now = nowUnixMs()
        return try await queueWork { db, tables, lastID in
            let (part, lanes) = try DeadTables.replay(
                filter, fromID: fromID, limit: limit, nowUnixMs: now, nextID: &lastID, db)
            tables.given.formUnion(lanes)
            return (part, part.count)
        }
    }

    /// Removes a part of them.
    public func purge(_ filter: DeadFilter, fromID: UInt64, limit: Int) async throws -> DeadPart {
        try await perform { db in
            try DeadTables.purge(filter, fromID: fromID, limit: limit, db)
        }
    }

    /// Removes what is too old or too much.
    public func trimDead(_ limits: DeadLimits, max: Int) async throws -> DeadTrim {
        let now = nowUnixMs()
        return try await perform { db in
            try DeadTables.trim(limits, max: max, nowUnixMs: now, db)
        }
    }

    /// Runs work in the next commit.
    func perform<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            submitWork({ _, db in try body(db) }) { result in
                continuation.resume(
                    with: result.mapError { StoreError("store-failed", $0.message) })
            }
        }
    }
}
