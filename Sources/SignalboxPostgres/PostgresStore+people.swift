public import SignalboxCore

extension PostgresStore: PeopleStore {
    private static let badges = Statement(
        "badges",
        """
        SELECT app, number FROM signalbox.badge
        WHERE user_id = $1::text AND ($2::text = '' OR app = $2::text)
        """)

    /// The badge counters of a user.
    public func badges(of user: UserKey) async throws -> [UserKey: Int32] {
        try await look { link, deadline throws(PostgresFault) in
            var values = Parameters()
            values.add(user.user)
            values.add(user.app)
            let rows = try link.run(Self.badges, values, byNs: deadline)
            return (0..<rows.count).reduce(into: [:]) {
                $0[UserKey(app: rows.text($1, 0), user: user.user)] = Int32(
                    clamping: rows.number($1, 1))
            }
        }
    }

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
