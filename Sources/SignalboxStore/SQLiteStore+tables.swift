internal import GRDB
public import SignalboxCore
@_exported public import SignalboxTables

/// The tables that have the same statements in every engine.
extension SQLiteStore: TableStore, DeviceRegistry, KeyValueStore, Outbox {
    /// Users per look-up.
    public static var usersMax: Int { 512 }
    /// The gateway's clock.
    public var tableNowMs: Int64 { Int64(clamping: nowUnixMs()) }
    /// Most deliveries that may wait.
    public var waitingMax: Int { options.waitingMax }

    /// Reads, on the reader's connection.
    public func read<Value: Sendable>(
        _ task: TableTask, _ body: @escaping @Sendable (SQLiteTables) throws -> Value,
        done: @escaping @Sendable (Result<Value, StoreFailure>) -> Void
    ) {
        look { hot, db in
            try body(SQLiteTables(hot, db))
        } done: {
            done($0.mapError { StoreFailure(message: $0.message) })
        }
    }

    /// Changes something in the next commit. What need not happen in order fails alone, not with its group.
    public func write<Value: Sendable>(
        _ task: TableTask, _ body: @escaping @Sendable (any TableLink) throws -> Value,
        done: @escaping @Sendable (Result<Value, StoreFailure>) -> Void
    ) {
        switch task {
        case .client, .gateway, .bulk: submitWork({ try body(SQLiteTables($0, $1)) }, done: done)
        case .inOrder, .mustHappen:
            submitQueue(
                mustHappen: task == .mustHappen,
                { db, tables, _ in (try body(SQLiteTables(tables.hot, db)), 0) }, done)
        }
    }

    /// Finds the devices of each user.
    public func devices(
        of users: ArraySlice<UserKey>, nowUnixMs: Int64, _ link: SQLiteTables,
        _ found: @escaping ([RegisteredDevice]) -> Void
    ) throws { try DeviceTables.devices(of: users, nowUnixMs: nowUnixMs, link, found) }

    /// There is no other gateway.
    public func announceReports(_ link: any TableLink) {}

    /// Runs a query on the reader's connection.
    func look<Value>(
        _ body: @escaping @Sendable (HotStatements, Database) throws -> Value,
        done: @escaping @Sendable (Result<Value, StoreError>) -> Void
    ) {
        let isTaken = reader.submit { db, hot, fault in
            guard let db else {
                done(.failure(fault ?? StoreError("store-failed", "the store cannot be read")))
                return
            }
            do {
                done(.success(try body(hot, db)))
            } catch {
                done(.failure(StoreError("store-failed", "\(error)")))
            }
        }
        if !isTaken { done(.failure(StoreError("store-failed", "the store is closed"))) }
    }

    /// The same, as an async call.
    func look<Value: Sendable>(
        _ body: @escaping @Sendable (HotStatements, Database) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            look(body) { continuation.resume(with: $0) }
        }
    }
}
