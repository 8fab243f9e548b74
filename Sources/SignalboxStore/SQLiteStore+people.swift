internal import GRDB
public import SignalboxCore

extension SQLiteStore: PeopleStore {
    /// The badge counters of a user.
    public func badges(of user: UserKey) async throws -> [UserKey: Int32] {
        try await read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT app, user, number FROM badge
                    WHERE user = ?1 AND (?2 = '' OR app = ?2)
                    """,
                arguments: [user.user, user.app]
            ).reduce(into: [:]) { out, row in
                guard let app = try? row.text("app"), let user = try? row.text("user"),
                    let number = try? row.number("number")
                else { return }
                out[UserKey(app: app, user: user)] = Int32(clamping: number)
            }
        }
    }

    /// Looks for deliveries to a user in a part of the queue.
    public func waiting(of user: UserKey, after place: String) async throws -> WaitingPart {
        let damage = damage
        return try await read { db in try WaitingSearch.part(of: user, after: place, damage, db) }
    }

    /// Changes rows of history.
    public func changeHistory(
        _ search: HistorySearch, _ change: @escaping @Sendable (HistoryRow) -> HistoryRow?
    ) async throws -> UInt64? {
        try await perform { db in try HistoryTables.change(search, db, change) }
    }

    private func read<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            look({ _, db in try body(db) }) { continuation.resume(with: $0) }
        }
    }
}
