internal import GRDB
public import SignalboxCore

extension SQLiteStore: HistoryStore {
    /// Says how much is kept.
    public func keepHistory(_ limits: HistoryLimits) {
        submitQueue(
            mustHappen: true, { _, tables, _ in (tables.history.limits = limits, 0) }
        ) { _ in }
    }

    /// Looks at some rows.
    public func history(_ search: HistorySearch) async throws -> HistoryPage {
        try await look { _, db in try HistoryTables.page(search, db) }
    }
}
