internal import GRDB
public import SignalboxCore

extension SQLiteStore: Outbox {
    /// The oldest reports.
    public func outbox(
        max: Int, done: @escaping @Sendable (Result<[OutboxEntry], StoreFailure>) -> Void
    ) {
        let damage = damage
        submitQueue({ db, _, _ in (try OutboxTables.take(max: max, damage, db), 0) }, done)
    }

    /// Everything up to this entry is in the queue.
    public func removeFromOutbox(
        through id: UInt64, done: @escaping @Sendable (Result<Void, StoreFailure>) -> Void
    ) {
        submitQueue({ db, _, _ in (try OutboxTables.remove(through: id, db), 0) }, done)
    }

    /// Calls back when reports were written.
    public func watchOutbox(_ onReport: @escaping @Sendable () -> Void) {
        outboxWatcher.set { _ in onReport() }
    }
}
