public import SignalboxCore

extension MemoryStore: DeviceRegistry {
    /// Registers a device.
    public func register(_ device: Device, isUnique: Bool) async throws -> Int {
        try perform { state, now in
            state.registry.register(device, isUnique: isUnique, nowUnixMs: now)
        }.get()
    }

    /// Forgets one token of a user.
    public func unregister(app: String, token: String, user: String) async throws -> Int {
        try perform { state, _ in
            state.registry.unregister(app: app, token: token, user: user)
        }.get()
    }

    /// Gives a user's device other attributes.
    public func setAttributes(
        _ attributes: [Attribute], app: String, token: String, user: String
    ) async throws -> Int {
        try perform { state, _ in
            state.registry.setAttributes(attributes, app: app, token: token, user: user)
        }.get()
    }

    /// The devices of a user in an app.
    public func devices(app: String, user: String) async throws -> [RegisteredDevice] {
        try perform { state, now in
            state.registry.devices(of: UserKey(app: app, user: user), nowUnixMs: now)
        }.get()
    }

    /// The devices with a token, newest first.
    public func find(
        app: String, token: String,
        done: @escaping @Sendable (Result<[RegisteredDevice], StoreFailure>) -> Void
    ) {
        done(perform { $0.registry.find(app: app, token: token, nowUnixMs: $1) })
    }

    /// Says how long an app is in front of its user.
    public func setPresence(
        app: String, user: String, token: String?, onlineForMs: UInt64
    ) async throws -> Int {
        try perform { state, now in
            state.registry.setPresence(
                UserKey(app: app, user: user), token: token,
                untilUnixMs: onlineForMs == 0 ? 0 : now + onlineForMs)
        }.get()
    }

    /// Sets a user's badge counter.
    public func setBadge(_ number: Int32, of user: UserKey) async throws -> Bool {
        try perform { state, _ in state.registry.badge(after: number, of: user) != nil }.get()
    }

    /// The devices of users named in events.
    public func devices(
        of users: [UserKey],
        done: @escaping @Sendable (Result<[UserKey: [RegisteredDevice]], StoreFailure>) -> Void
    ) {
        done(
            perform { state, now in
                var out: [UserKey: [RegisteredDevice]] = [:]
                for user in users { out[user] = state.registry.devices(of: user, nowUnixMs: now) }
                return out
            })
    }

    /// Takes in what a provider says of a token.
    public func learn(
        _ news: TokenNews, dedupeMs: UInt64,
        reports: @escaping @Sendable (Invalidation, [Device]) -> [StoreEntry.Item],
        done: @escaping @Sendable (Result<[StoreEntry.Item], StoreFailure>) -> Void
    ) {
        done(
            perform { state, now in
                let (result, devices) = state.registry.learn(news)
                return reports(result, devices).filter { item in
                    let isKnown = state.queue.isDuplicate(
                        item.event, nowUnixMs: now, windowMs: dedupeMs)
                    guard !isKnown else { return false }
                    _ = state.queue.add(
                        item, receivedUnixMs: now, nowUnixMs: now, untilUnixMs: now, token)
                    return true
                }
            })
    }
}
