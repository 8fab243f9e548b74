public import SignalboxCore
internal import Synchronization

/// For whom something is done with the tables. An engine chooses the connection, and how long it tries.
public enum TableTask: Sendable {
    /// A client or an event, which waits only for a moment.
    case client
    /// A plugin or the gateway.
    case gateway
    /// An operator, who may look at very much; others do not wait for it.
    case bulk
    /// After the events that were appended before it.
    case inOrder
    /// It is tried again until the database takes it.
    case mustHappen
}

/// A store with these tables: an engine runs the work, and the methods that use nothing else are the same for all.
public protocol TableStore: DeliveryQueue {
    /// A connection for reading.
    associatedtype Link: TableLink
    /// The time in Unix milliseconds.
    var tableNowMs: Int64 { get }
    /// Most deliveries that may wait.
    var waitingMax: Int { get }
    /// What it knows of the outbox.
    var outboxState: OutboxState { get }
    /// Is told of rows that cannot be read.
    var damage: DamagedRows { get }
    /// Users per look-up; other requests get their turn in between.
    static var usersMax: Int { get }

    /// Reads, and sees what was committed before.
    func read<Value: Sendable>(
        _ task: TableTask, _ body: @escaping @Sendable (Link) throws -> Value,
        done: @escaping @Sendable (Result<Value, StoreFailure>) -> Void)
    /// Changes something in one transaction; if `body` throws, nothing is changed. It may be called again.
    func write<Value: Sendable>(
        _ task: TableTask, _ body: @escaping @Sendable (any TableLink) throws -> Value,
        done: @escaping @Sendable (Result<Value, StoreFailure>) -> Void)
    /// Finds the devices of each user, in the users' order; an empty app means all apps.
    func devices(
        of users: ArraySlice<UserKey>, nowUnixMs: Int64, _ link: Link,
        _ found: @escaping ([RegisteredDevice]) -> Void
    ) throws
    /// This transaction writes reports.
    func announceReports(_ link: any TableLink) throws
}

extension TableStore {
    /// The same, as an async call.
    public func read<Value: Sendable>(
        _ task: TableTask, _ body: @escaping @Sendable (Link) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            read(task, body) { continuation.resume(with: $0) }
        }
    }

    /// The same, as an async call.
    public func write<Value: Sendable>(
        _ task: TableTask, _ body: @escaping @Sendable (any TableLink) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            write(task, body) { continuation.resume(with: $0) }
        }
    }
}

/// A callback that may be set later.
public final class Watcher<News: Sendable>: Sendable {
    private let onNews = Mutex<(@Sendable (News) -> Void)?>(nil)

    /// Makes one without a callback.
    public init() {}

    /// Sets the callback.
    public func set(_ new: @escaping @Sendable (News) -> Void) { onNews.withLock { $0 = new } }

    /// Calls it.
    public func tell(_ news: News) {
        if let tell = onNews.withLock({ $0 }) { tell(news) }
    }
}
