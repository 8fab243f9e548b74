public import SignalboxCore
internal import SignalboxTables

extension PostgresStore: PeopleStore {
    /// Looks for deliveries to a user in a part of the queue.
    public func waiting(of user: UserKey, after place: String) async throws -> WaitingPart {
        try await look(on: dead) { link, deadline throws(PostgresFault) in
            try WaitingSearch.part(of: user, after: place, link, byNs: deadline)
        }
    }

    /// Changes rows of history.
    public func changeHistory(
        _ search: HistorySearch, _ change: @escaping @Sendable (HistoryRow) -> HistoryRow?
    ) async throws -> UInt64? {
        try await self.change(on: dead) { transaction throws(TransactionFault) in
            try HistoryTables.change(search, transaction, change)
        }
    }
}
