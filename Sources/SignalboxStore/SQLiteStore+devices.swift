internal import GRDB
public import SignalboxCore

extension SQLiteStore: DeviceRegistry {
    /// Registers a device.
    public func register(_ device: Device, nowUnixMs: UInt64) async throws -> Int {
        try await perform { db, _ in
            try DeviceTables.register(device, nowUnixMs: nowUnixMs, db)
        }
    }

    /// Forgets one token of a user.
    public func unregister(app: String, token: String, user: String) async throws -> Int {
        try await perform { db, _ in
            try DeviceTables.unregister(app: app, token: token, user: user, db)
        }
    }

    /// Gives a user's device other attributes.
    public func setAttributes(
        _ attributes: [Attribute], app: String, token: String, user: String
    ) async throws -> Int {
        try await perform { db, _ in
            try DeviceTables.setAttributes(attributes, app: app, token: token, user: user, db)
        }
    }

    /// The devices of a user in an app.
    public func devices(app: String, user: String) async throws -> [RegisteredDevice] {
        try await perform { db, _ in
            try DeviceTables.devices(UserKey(app: app, user: user), HotStatements(), db)
        }
    }

    /// The device with a token, or nil.
    public func find(
        app: String, token: String,
        done: @escaping @Sendable (Result<RegisteredDevice?, StoreFailure>) -> Void
    ) {
        let found = Carried<RegisteredDevice?>(nil)
        submitWork(
            { db, _ in
                let device = try DeviceTables.find(app: app, token: token, db)
                found.set(device)
            },
            { fault in
                done(fault.map { .failure(StoreFailure(message: $0)) } ?? .success(found.value))
            })
    }

    /// Says whether an app is in front of its user.
    public func setPresence(
        app: String, user: String, token: String?, isOnline: Bool, nowUnixMs: UInt64
    ) async throws -> Int {
        try await perform { db, _ in
            try DeviceTables.setPresence(
                UserKey(app: app, user: user), token: token, isOnline: isOnline,
                nowUnixMs: nowUnixMs, db)
        }
    }

    /// The devices of users named in events.
    public func devices(
        of users: [UserKey], done: @escaping @Sendable ([UserKey: [RegisteredDevice]]) -> Void
    ) {
        let found = Carried<[UserKey: [RegisteredDevice]]>([:])
        submitWork(
            { db, _ in
                var out: [UserKey: [RegisteredDevice]] = [:]
                out.reserveCapacity(users.count)
                let hot = HotStatements()
                for user in users { out[user] = try DeviceTables.devices(user, hot, db) }
                let all = out
                found.set(all)
            }, { _ in done(found.value) })
    }

    /// A provider called a token dead.
    public func invalidate(
        app: String, token: String, goneSinceUnixMs: UInt64,
        done: @escaping @Sendable (Invalidation, [Device]) -> Void
    ) {
        let found = Carried<(Invalidation, [Device])>((.unknown, []))
        submitWork(
            { db, _ in
                let result = try DeviceTables.invalidate(
                    app: app, token: token, goneSinceUnixMs: goneSinceUnixMs, db)
                found.set(result)
            }, { _ in done(found.value.0, found.value.1) })
    }
}
