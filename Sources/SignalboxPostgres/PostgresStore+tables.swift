public import SignalboxCore
@_exported public import SignalboxTables

/// The tables that have the same statements in every engine.
extension PostgresStore: TableStore, DeviceRegistry, KeyValueStore, Outbox {
    /// Users per look-up.
    public static var usersMax: Int { 4_096 }
    /// The database's clock.
    public var tableNowMs: Int64 { clock.nowUnixMs }
    /// Most deliveries that may wait.
    public var waitingMax: Int { options.waitingMax }

    /// Reads, outside of a transaction.
    public func read<Value: Sendable>(
        _ task: TableTask, _ body: @escaping @Sendable (PostgresTables) throws -> Value,
        done: @escaping @Sendable (Result<Value, StoreFailure>) -> Void
    ) {
        look(
            on: task == .bulk ? dead : nil, withinNs: task == .client ? patienceNs : nil,
            { link, deadlineNs throws(PostgresFault) in
                try PostgresFault.only {
                    try body(PostgresTables(link: link, deadlineNs: deadlineNs))
                }
            }, done: done)
    }

    /// Changes something in one transaction.
    public func write<Value: Sendable>(
        _ task: TableTask, _ body: @escaping @Sendable (any TableLink) throws -> Value,
        done: @escaping @Sendable (Result<Value, StoreFailure>) -> Void
    ) {
        let isPatient = task != .client && task != .inOrder
        change(
            on: task == .bulk ? dead : nil, mustHappen: task == .mustHappen,
            withinNs: isPatient ? nil : patienceNs,
            { transaction throws(TransactionFault) in
                do { return try body(transaction) } catch { throw TransactionFault(error) }
            }, done: done)
    }

    /// Finds the devices of each user.
    public func devices(
        of users: ArraySlice<UserKey>, nowUnixMs: Int64, _ link: PostgresTables,
        _ found: @escaping ([RegisteredDevice]) -> Void
    ) throws { try DeviceTables.devices(of: users, nowUnixMs: nowUnixMs, link, found) }

    /// Tells other gateways that there are reports.
    public func announceReports(_ link: any TableLink) {
        if let transaction = link as? Transaction { tellOthers("o", transaction) }
    }

    /// Tells other gateways something when this transaction is committed.
    func tellOthers(_ news: String, _ transaction: Transaction) {
        guard options.hasNotices else { return }
        let values = Parameters("\(life.number):\(news)")
        transaction.send(QueueSQL.notify, values)
    }
}
