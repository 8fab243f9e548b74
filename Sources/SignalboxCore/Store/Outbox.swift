/// What a source's system is to be told of a device.
public struct DeviceReport: Sendable {
    /// The plugin instance that tells it.
    public var instance: String
    /// What happened.
    public var change: DeviceChange
    /// The event whose delivery showed it; 0: none did.
    public var eventID: UInt64
    /// Of equal reports within an hour the first is told alone.
    public var isDeduped: Bool

    /// Makes a report.
    public init(
        to instance: String, _ change: DeviceChange, eventID: UInt64 = 0, isDeduped: Bool = false
    ) {
        self.instance = instance
        self.change = change
        self.eventID = eventID
        self.isDeduped = isDeduped
    }
}

/// A report in the outbox.
public struct OutboxEntry: Sendable {
    /// Grows from report to report.
    public var id: UInt64
    /// What is to be told.
    public var report: DeviceReport

    /// Makes an entry.
    public init(id: UInt64, report: DeviceReport) {
        self.id = id
        self.report = report
    }
}

/// Reports on their way from the registry to the queue.
///
/// The registry writes them in the transaction of the change that causes them, so that neither is kept without
/// the other. A gateway moves them to the queue: it reads some, appends them, and removes them. It gives each
/// a key that it has of the entry, so that a crash in between tells nothing twice. So registry and queue
/// need not share transactions.
public protocol Outbox: Sendable {
    /// The oldest reports, in the order in which they were written.
    func outbox(
        max: Int, done: @escaping @Sendable (Result<[OutboxEntry], StoreFailure>) -> Void)
    /// Everything up to this entry is in the queue.
    func removeFromOutbox(
        through id: UInt64, done: @escaping @Sendable (Result<Void, StoreFailure>) -> Void)
    /// Tells that reports were written; a notice can be lost. A second watcher takes the place of the first.
    func watchOutbox(_ onReport: @escaping @Sendable () -> Void)
}
