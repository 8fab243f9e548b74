public import SignalboxCore
internal import Synchronization

extension PostgresStore: DeviceRegistry {
    /// Users per look-up; other requests get their turn in between.
    private static let turnMax = 2_048

    /// Registers a device.
    public func register(
        _ device: Device, isUnique: Bool, among platforms: Set<String>, reports: [DeviceReport]
    ) async throws -> Int {
        try await reporting(reports) { transaction, now throws(TransactionFault) in
            try DeviceTables.register(
                device, isUnique: isUnique, among: platforms, nowUnixMs: now, transaction)
        }
    }

    /// Forgets devices of their users.
    public func unregister(_ devices: [Device], reports: [DeviceReport]) async throws -> Int {
        try await reporting(reports) { transaction, _ throws(TransactionFault) in
            var count = 0
            for device in devices {
                count += try DeviceTables.unregister(device, transaction)
            }
            return count
        }
    }

    /// Applies device changes.
    public func change(
        _ changes: [DeviceChange], reports: [DeviceReport],
        done: @escaping @Sendable (Result<Void, StoreFailure>) -> Void
    ) {
        reporting(
            reports,
            { transaction, now throws(TransactionFault) in
                for change in changes {
                    try DeviceTables.apply(change, nowUnixMs: now, transaction)
                }
            }, done: done)
    }

    /// Runs a change and writes its reports in the same transaction.
    private func reporting<Value: Sendable>(
        _ reports: [DeviceReport],
        _ body: @escaping @Sendable (Transaction, Int64) throws(TransactionFault) -> Value,
        done: @escaping @Sendable (Result<Value, StoreFailure>) -> Void
    ) {
        change(
            withinNs: patienceNs,
            { transaction throws(TransactionFault) in
                try self.requirePlace(for: reports, transaction)
                let value = try body(transaction, self.clock.nowUnixMs)
                self.write(reports, transaction)
                return value
            },
            done: { result in
                done(result)
                if case .success = result, !reports.isEmpty { self.outboxWatcher.tell(()) }
            })
    }

    private func reporting<Value: Sendable>(
        _ reports: [DeviceReport],
        _ body: @escaping @Sendable (Transaction, Int64) throws(TransactionFault) -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            reporting(reports, body) { continuation.resume(with: $0) }
        }
    }

    private func write(_ reports: [DeviceReport], _ transaction: Transaction) {
        guard !reports.isEmpty else { return }
        OutboxTables.write(reports, transaction)
        tellOthers("o", transaction)
    }

    /// Tells other gateways something when this transaction is committed.
    func tellOthers(_ news: String, _ transaction: Transaction) {
        guard options.hasNotices else { return }
        var values = Parameters()
        values.add("\(life.number):\(news)")
        transaction.send(QueueSQL.notify, values)
    }

    private func requirePlace(
        for reports: [DeviceReport], _ transaction: Transaction
    ) throws(TransactionFault) {
        guard !reports.isEmpty else { return }
        let count = try OutboxTables.count(transaction) + waitingCount + reports.count
        guard count <= options.waitingMax else { throw .failure(.full) }
    }

    /// Replaces the attributes of a user's device.
    public func setAttributes(_ attributes: [Attribute], of device: Device) async throws -> Int {
        try await change(withinNs: patienceNs) { transaction throws(TransactionFault) in
            try DeviceTables.setAttributes(attributes, of: device, transaction)
        }
    }

    /// The devices of a user in an app.
    public func devices(app: String, user: String) async throws -> [RegisteredDevice] {
        let key = UserKey(app: app, user: user)
        return try await look(withinNs: patienceNs) { link, deadline throws(PostgresFault) in
            try DeviceTables.devices(
                of: [key], nowUnixMs: self.clock.nowUnixMs, link, byNs: deadline)[key] ?? []
        }
    }

    /// The devices with a token, newest first.
    public func find(
        app: String, token: String,
        done: @escaping @Sendable (Result<[RegisteredDevice], StoreFailure>) -> Void
    ) {
        look(
            withinNs: patienceNs,
            { link, deadline throws(PostgresFault) in
                let rows = try link.run(
                    DeviceTables.find, DeviceTables.findParameters(app: app, token: token),
                    byNs: deadline)
                return DeviceTables.devices(rows, from: 0, nowUnixMs: self.clock.nowUnixMs)
            }, done: done)
    }

    /// Records how long an app stays in front of its user.
    public func setPresence(
        app: String, user: String, token: String?, onlineForMs: UInt64
    ) async throws -> Int {
        try await change(withinNs: patienceNs) { transaction throws(TransactionFault) in
            let until = self.clock.nowUnixMs + Int64(clamping: onlineForMs)
            return try DeviceTables.setPresence(
                UserKey(app: app, user: user), token: token,
                untilUnixMs: onlineForMs == 0 ? 0 : until, transaction)
        }
    }

    /// Sets a user's badge counter.
    public func setBadge(_ number: Int32, of user: UserKey) async throws -> Bool {
        try await change(withinNs: patienceNs) { transaction throws(TransactionFault) in
            try BadgeTables.set(number, of: user, transaction)
        }
    }

    /// The devices of users named in events.
    public func devices(
        of users: [UserKey],
        done: @escaping @Sendable (Result<[UserKey: [RegisteredDevice]], StoreFailure>) -> Void
    ) { devices(of: users[...], found: [:], done: done) }

    private func devices(
        of users: ArraySlice<UserKey>, found: [UserKey: [RegisteredDevice]],
        done: @escaping @Sendable (Result<[UserKey: [RegisteredDevice]], StoreFailure>) -> Void
    ) {
        let turn = Array(users.prefix(Self.turnMax))
        let rest = users.dropFirst(turn.count)
        look(
            withinNs: patienceNs,
            { link, deadline throws(PostgresFault) in
                try DeviceTables.devices(
                    of: turn, nowUnixMs: self.clock.nowUnixMs, link, byNs: deadline)
            },
            done: { result in
                switch result {
                case .failure(let failure): done(.failure(failure))
                case .success(let some):
                    let all = found.isEmpty ? some : found.merging(some) { $1 }
                    rest.isEmpty
                        ? done(.success(all)) : self.devices(of: rest, found: all, done: done)
                }
            })
    }

    /// Applies a provider's news about a token.
    public func learn(
        _ news: TokenNews,
        reports: @escaping @Sendable (Invalidation, [Device]) -> [DeviceReport],
        done: @escaping @Sendable (Result<Void, StoreFailure>) -> Void
    ) {
        change(
            mustHappen: true,
            { transaction throws(TransactionFault) in
                let (result, devices) = try DeviceTables.learn(news, transaction)
                let made = reports(result, devices)
                self.write(made, transaction)
                return !made.isEmpty
            },
            done: { result in
                done(result.map { _ in })
                if case .success(true) = result { self.outboxWatcher.tell(()) }
            })
    }
}

extension PostgresStore: Outbox {
    /// The oldest reports.
    public func outbox(
        max: Int, done: @escaping @Sendable (Result<[OutboxEntry], StoreFailure>) -> Void
    ) {
        look(
            { link, deadline throws(PostgresFault) in
                let entries = try OutboxTables.read(max: max, link, byNs: deadline)
                self.outboxRead.withLock { $0 = Set(entries.map(\.id)) }
                return entries
            }, done: done)
    }

    /// Everything up to this entry is in the queue.
    ///
    /// Removes only what was read: an entry with a lower id may be committed after one with a higher id.
    public func removeFromOutbox(
        through id: UInt64, done: @escaping @Sendable (Result<Void, StoreFailure>) -> Void
    ) {
        let ids = outboxRead.withLock { read in read.filter { $0 <= id } }
        change({ OutboxTables.remove(Array(ids), $0) }, done: done)
    }

    /// Calls back when reports were written, by this gateway or another one.
    public func watchOutbox(_ onReport: @escaping @Sendable () -> Void) {
        outboxWatcher.set { _ in onReport() }
    }
}
