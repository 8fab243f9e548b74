internal import GRDB
public import SignalboxCore
internal import SignalboxTables

extension SQLiteStore: PeopleStore {
    /// Looks for deliveries to a user in a part of the queue.
    public func waiting(of user: UserKey, after place: String) async throws -> WaitingPart {
        let damage = damage
        return try await look { _, db in try WaitingSearch.part(of: user, after: place, damage, db)
        }
    }

    /// Changes rows of history.
    public func changeHistory(
        _ search: HistorySearch, _ change: @escaping @Sendable (HistoryRow) -> HistoryRow?
    ) async throws -> UInt64? {
        try await withCheckedThrowingContinuation { continuation in
            submitWork({ try HistoryTables.change(search, $1, change) }) {
                continuation.resume(with: $0)
            }
        }
    }
}
