/// A report in the outbox.
public struct OutboxEntry: Sendable {
    /// Ascending id.
    public var id: UInt64
    /// The report.
    public var report: DeviceReport

    /// Makes an entry.
    public init(id: UInt64, report: DeviceReport) {
        self.id = id
        self.report = report
    }
}

/// Reports on their way from the registry to the queue.
///
/// The registry writes them in the transaction of the change that causes them, so that neither is stored without
/// the other. A gateway moves them to the queue: it reads some, appends them, and removes them. It gives each
/// a dedupe key that follows from the entry, so that a crash in between sends nothing twice. So registry and queue
/// need not share transactions.
public protocol Outbox: Sendable {
    /// The oldest reports, in the order in which they were written.
    func outbox(
        max: Int, done: @escaping @Sendable (Result<[OutboxEntry], StoreFailure>) -> Void)
    /// Removes everything up to this entry, which is in the queue now.
    func removeFromOutbox(
        through id: UInt64, done: @escaping @Sendable (Result<Void, StoreFailure>) -> Void)
    /// Calls back when reports were written; a notice can be lost. A second watcher replaces the first.
    func watchOutbox(_ onReport: @escaping @Sendable () -> Void)
}
