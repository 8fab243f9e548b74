internal import GRDB
public import SignalboxCore

extension SQLiteStore: DeviceRegistry {
    /// Registers a device.
    public func register(
        _ device: Device, isUnique: Bool, among platforms: Set<String>, reports: [DeviceReport]
    ) async throws -> Int {
        let now = nowUnixMs()
        return try await reporting(reports) { db in
            try DeviceTables.register(
                device, isUnique: isUnique, among: platforms, nowUnixMs: now, db)
        }
    }

    /// Forgets devices of their users.
    public func unregister(_ devices: [Device], reports: [DeviceReport]) async throws -> Int {
        try await reporting(reports) { db in
            try devices.reduce(0) { try $0 + DeviceTables.unregister($1, db) }
        }
    }

    /// Applies device changes.
    public func change(
        _ changes: [DeviceChange], reports: [DeviceReport],
        done: @escaping @Sendable (Result<Void, StoreFailure>) -> Void
    ) {
        let now = nowUnixMs()
        submitWork(
            { db in
                guard try self.hasPlace(for: reports, db) else { throw StoreFailure.full }
                for change in changes { try DeviceTables.apply(change, nowUnixMs: now, db) }
                try OutboxTables.write(reports, db)
            },
            done: { result in
                done(result)
                if case .success = result, !reports.isEmpty { self.outboxWatcher.tell(()) }
            })
    }

    /// Runs a change and writes its reports in the same transaction.
    private func reporting<Value: Sendable>(
        _ reports: [DeviceReport], _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        let value: Value? = try await perform { db in
            guard try self.hasPlace(for: reports, db) else { return nil }
            let value = try body(db)
            try OutboxTables.write(reports, db)
            return value
        }
        guard let value else { throw StoreFailure.full }
        if !reports.isEmpty { outboxWatcher.tell(()) }
        return value
    }

    /// Whether this many more reports fit under the limit of waiting deliveries.
    private func hasPlace(for reports: [DeviceReport], _ db: Database) throws -> Bool {
        try reports.isEmpty
            || waitingCount + OutboxTables.count(db) + reports.count <= waitingMax
    }

    /// Replaces the attributes of a user's device.
    public func setAttributes(_ attributes: [Attribute], of device: Device) async throws -> Int {
        try await perform { db in try DeviceTables.setAttributes(attributes, of: device, db) }
    }

    /// The devices of a user in an app.
    public func devices(app: String, user: String) async throws -> [RegisteredDevice] {
        let (key, now) = (UserKey(app: app, user: user), nowUnixMs())
        return try await withCheckedThrowingContinuation { continuation in
            look({ hot, db in
                var devices: [RegisteredDevice] = []
                try DeviceTables.devices(of: [key], nowUnixMs: now, hot, db) { devices = $1 }
                return devices
            }) { continuation.resume(with: $0) }
        }
    }

    /// The devices with a token, newest first.
    public func find(
        app: String, token: String,
        done: @escaping @Sendable (Result<[RegisteredDevice], StoreFailure>) -> Void
    ) {
        let now = nowUnixMs()
        look(
            { try DeviceTables.find(app: app, token: token, nowUnixMs: now, $0, $1) },
            done: { done($0.mapError { StoreFailure(message: $0.message) }) })
    }

    /// Records how long an app stays in front of its user.
    public func setPresence(
        app: String, user: String, token: String?, onlineForMs: UInt64
    ) async throws -> Int {
        let now = nowUnixMs()
        return try await perform { db in
            try DeviceTables.setPresence(
                UserKey(app: app, user: user), token: token,
                onlineUntilUnixMs: onlineForMs == 0 ? 0 : now + onlineForMs, nowUnixMs: now, db)
        }
    }

    /// Sets a user's badge counter.
    public func setBadge(_ number: Int32, of user: UserKey) async throws -> Bool {
        try await withCheckedThrowingContinuation { continuation in
            // In queue order, so events accepted earlier count earlier.
            submitQueue({ db, tables, _ in
                let set = try BadgeTables.number(after: number, of: user, tables.hot, db)
                return (set != nil, 0)
            }) { continuation.resume(with: $0) }
        }
    }

    /// The devices of users named in events.
    public func devices(
        of users: [UserKey],
        done: @escaping @Sendable (Result<[UserKey: [RegisteredDevice]], StoreFailure>) -> Void
    ) {
        devices(of: users[...], found: Found(count: users.count), done: done)
    }

    /// Users per look-up; other requests get their turn in between.
    private static let turnMax = 512

    /// `@unchecked Sendable`: only the reader's thread touches it.
    private final class Found: @unchecked Sendable {
        var all: [UserKey: [RegisteredDevice]]

        init(count: Int) { all = Dictionary(minimumCapacity: count) }
    }

    private func devices(
        of users: ArraySlice<UserKey>, found: Found,
        done: @escaping @Sendable (Result<[UserKey: [RegisteredDevice]], StoreFailure>) -> Void
    ) {
        let turn = users.prefix(Self.turnMax)
        let (rest, now) = (users.dropFirst(turn.count), nowUnixMs())
        look({ hot, db in
            try DeviceTables.devices(of: turn, nowUnixMs: now, hot, db) { found.all[$0] = $1 }
        }) { result in
            switch result {
            case .failure(let fault): done(.failure(StoreFailure(message: fault.message)))
            case .success where rest.isEmpty: done(.success(found.all))
            case .success: self.devices(of: rest, found: found, done: done)
            }
        }
    }

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

    /// Applies a provider's news about a token.
    public func learn(
        _ news: TokenNews,
        reports: @escaping @Sendable (Invalidation, [Device]) -> [DeviceReport],
        done: @escaping @Sendable (Result<Void, StoreFailure>) -> Void
    ) {
        submitQueue(
            mustHappen: true,
            { db, _, _ in
                let (result, devices) = try DeviceTables.learn(news, db)
                let made = reports(result, devices)
                try OutboxTables.write(made, db)
                return (!made.isEmpty, 0)
            },
            { result in
                done(result.map { _ in })
                if case .success(true) = result { self.outboxWatcher.tell(()) }
            })
    }
}
