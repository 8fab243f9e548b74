public import SignalboxCore
internal import Synchronization

extension MemoryStore: PeopleStore {
    /// The badge counters of a user.
    public func badges(of user: UserKey) async throws -> [UserKey: Int32] {
        try perform { state, _ in
            state.registry.storedBadges.reduce(into: [:]) { out, badge in
                guard badge.user.user.hasSameBytes(as: user.user) else { return }
                if user.app.isEmpty || badge.user.app == user.app { out[badge.user] = badge.number }
            }
        }.get()
    }

    /// All deliveries to a user.
    public func waiting(of user: UserKey, after place: String) async throws -> WaitingPart {
        try perform { state, _ in
            WaitingPart(
                found: state.queue.storedEntries.filter { user.owns($0.delivery.device) })
        }.get()
    }

    /// Changes all rows with one of the tags.
    public func changeHistory(
        _ search: HistorySearch, _ change: @escaping @Sendable (HistoryRow) -> HistoryRow?
    ) async throws -> UInt64? {
        try perform { state, _ in
            state.history.change(search, change)
            return nil
        }.get()
    }
}
