public import SignalboxCore
internal import Synchronization

extension MemoryStore: DeviceRegistry {
    /// Registers a device.
    public func register(
        _ device: Device, isUnique: Bool, among platforms: Set<String>, reports: [DeviceReport]
    ) async throws -> Int {
        let count = try perform { state, now throws(StoreFailure) in
            try requirePlace(for: reports, state)
            state.outbox.write(reports)
            return state.registry.register(
                device, isUnique: isUnique, among: platforms, nowUnixMs: now)
        }.get()
        tell(reports)
        return count
    }

    /// Removes devices.
    public func unregister(_ devices: [Device], reports: [DeviceReport]) async throws -> Int {
        let count = try perform { state, _ throws(StoreFailure) in
            try requirePlace(for: reports, state)
            state.outbox.write(reports)
            return devices.reduce(0) { $0 + state.registry.unregister($1) }
        }.get()
        tell(reports)
        return count
    }

    /// Applies changes.
    public func change(
        _ changes: [DeviceChange], reports: [DeviceReport],
        done: @escaping @Sendable (Result<Void, StoreFailure>) -> Void
    ) {
        let result: Result<Void, StoreFailure> = perform { state, now throws(StoreFailure) in
            try requirePlace(for: reports, state)
            for change in changes { state.registry.apply(change, nowUnixMs: now) }
            state.outbox.write(reports)
        }
        done(result)
        if case .success = result { tell(reports) }
    }

    private func requirePlace(
        for reports: [DeviceReport], _ state: MemoryStorage.State
    ) throws(StoreFailure) {
        let count = state.queue.entries.count + state.outbox.entries.count + reports.count
        guard reports.isEmpty || count <= storage.options.waitingMax else {
            throw StoreFailure.full
        }
    }

    private func tell(_ reports: [DeviceReport]) {
        guard !reports.isEmpty else { return }
        for watch in storage.state.withLock({ Array($0.outbox.watchers.values) }) { watch() }
    }

    /// Replaces the attributes of a user's device.
    public func setAttributes(_ attributes: [Attribute], of device: Device) async throws -> Int {
        try perform { state, _ in
            state.registry.setAttributes(attributes, of: device)
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

    /// Sets how long an app is in front of its user.
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

    /// The devices of each of these users, in their order.
    public func devices(
        of users: [UserKey],
        done: @escaping @Sendable (Result<[[RegisteredDevice]], StoreFailure>) -> Void
    ) {
        done(
            perform { state, now in
                users.map { state.registry.devices(of: $0, nowUnixMs: now) }
            })
    }

    /// Applies a provider's news about a token.
    public func learn(
        _ news: TokenNews,
        reports: @escaping @Sendable (Invalidation, [Device]) -> [DeviceReport],
        done: @escaping @Sendable (Result<Void, StoreFailure>) -> Void
    ) {
        let result = perform { state, _ -> [DeviceReport] in
            let (invalidation, devices) = state.registry.learn(news)
            let made = reports(invalidation, devices)
            state.outbox.write(made)
            return made
        }
        done(result.map { _ in })
        if case .success(let made) = result { tell(made) }
    }
}

extension MemoryStore: Outbox {
    /// The oldest reports.
    public func outbox(
        max: Int, done: @escaping @Sendable (Result<[OutboxEntry], StoreFailure>) -> Void
    ) { done(perform { state, _ in Array(state.outbox.entries.prefix(max)) }) }

    /// Removes the reports up to this entry, which are in the queue by now.
    public func removeFromOutbox(
        through id: UInt64, done: @escaping @Sendable (Result<Void, StoreFailure>) -> Void
    ) { done(perform { state, _ in state.outbox.entries.removeAll { $0.id <= id } }) }

    /// Calls back when any owner has written reports.
    public func watchOutbox(_ onReport: @escaping @Sendable () -> Void) {
        storage.state.withLock { $0.outbox.watchers[token] = onReport }
    }
}

/// The outbox as a value.
struct MemoryOutbox: Sendable {
    var entries: [OutboxEntry] = []
    var watchers: [LeaseToken: @Sendable () -> Void] = [:]
    var lastID: UInt64 = 0

    mutating func write(_ reports: [DeviceReport]) {
        for report in reports {
            lastID += 1
            entries.append(OutboxEntry(id: lastID, report: report))
        }
    }

    /// Adds an entry of a copy.
    mutating func restore(_ entry: OutboxEntry) { entries.append(entry) }
}
