public import SignalboxCore

/// The device registry.
extension TableStore {
    /// Registers a device.
    public func register(
        _ device: Device, isUnique: Bool, among platforms: Set<String>, reports: [DeviceReport]
    ) async throws -> Int {
        try await reporting(reports) { link, now in
            try DeviceTable.register(
                device, isUnique: isUnique, among: platforms, nowUnixMs: now, link)
        }
    }

    /// Forgets devices of their users.
    public func unregister(_ devices: [Device], reports: [DeviceReport]) async throws -> Int {
        try await reporting(reports) { link, _ in
            try devices.reduce(0) { try $0 + DeviceTable.unregister($1, link) }
        }
    }

    /// Applies device changes.
    public func change(
        _ changes: [DeviceChange], reports: [DeviceReport],
        done: @escaping @Sendable (Result<Void, StoreFailure>) -> Void
    ) {
        reporting(
            reports,
            { link, now in
                for change in changes { try DeviceTable.apply(change, nowUnixMs: now, link) }
            }, done: done)
    }

    /// Runs a change and writes its reports in the same transaction.
    private func reporting<Value: Sendable>(
        _ reports: [DeviceReport],
        _ body: @escaping @Sendable (any TableLink, _ nowUnixMs: Int64) throws -> Value,
        done: @escaping @Sendable (Result<Value, StoreFailure>) -> Void
    ) {
        write(.client) { link in
            if !reports.isEmpty {
                let count = try OutboxTable.count(link) + self.waitingCount + reports.count
                guard count <= self.waitingMax else { throw StoreFailure.full }
            }
            let value = try body(link, self.tableNowMs)
            try self.write(reports, link)
            return value
        } done: { result in
            done(result)
            if case .success = result, !reports.isEmpty { self.outboxState.watcher.tell(()) }
        }
    }

    private func reporting<Value: Sendable>(
        _ reports: [DeviceReport],
        _ body: @escaping @Sendable (any TableLink, _ nowUnixMs: Int64) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            reporting(reports, body) { continuation.resume(with: $0) }
        }
    }

    private func write(_ reports: [DeviceReport], _ link: any TableLink) throws {
        guard !reports.isEmpty else { return }
        try OutboxTable.write(reports, link)
        try announceReports(link)
    }

    /// Replaces the attributes of a user's device.
    public func setAttributes(_ attributes: [Attribute], of device: Device) async throws -> Int {
        try await write(.client) { try DeviceTable.setAttributes(attributes, of: device, $0) }
    }

    /// Records how long an app stays in front of its user.
    public func setPresence(
        app: String, user: String, token: String?, onlineForMs: UInt64
    ) async throws -> Int {
        try await write(.client) { link in
            let until = onlineForMs == 0 ? 0 : ValueTable.end(self.tableNowMs, onlineForMs)
            return try DeviceTable.setPresence(
                UserKey(app: app, user: user), token: token, untilUnixMs: until ?? 0, link)
        }
    }

    /// Sets a user's badge counter: events that were accepted earlier count earlier.
    public func setBadge(_ number: Int32, of user: UserKey) async throws -> Bool {
        try await write(.inOrder) { try BadgeTable.number(after: number, of: user, $0) != nil }
    }

    /// The badge counters of a user.
    public func badges(of user: UserKey) async throws -> [UserKey: Int32] {
        try await read(.gateway) { link in
            try link.all(BadgeTable.ofUser, [.text(user.user), .text(user.app)]) { row in
                (UserKey(app: row.text(0), user: row.text(1)), Int32(clamping: row.number(2)))
            }.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
    }

    /// Applies a provider's news about a token.
    public func learn(
        _ news: TokenNews,
        reports: @escaping @Sendable (Invalidation, [Device]) -> [DeviceReport],
        done: @escaping @Sendable (Result<Void, StoreFailure>) -> Void
    ) {
        write(.mustHappen) { link in
            let (result, devices) = try DeviceTable.learn(news, link)
            let made = reports(result, devices)
            try self.write(made, link)
            return !made.isEmpty
        } done: { result in
            done(result.map { _ in })
            if case .success(true) = result { self.outboxState.watcher.tell(()) }
        }
    }

    // MARK: Look-ups

    /// The devices with a token, newest first.
    public func find(
        app: String, token: String,
        done: @escaping @Sendable (Result<[RegisteredDevice], StoreFailure>) -> Void
    ) {
        read(
            .client,
            { link in
                try DeviceTable.find(app: app, token: token, nowUnixMs: self.tableNowMs, link)
            }, done: done)
    }

    /// The devices of a user in an app.
    public func devices(app: String, user: String) async throws -> [RegisteredDevice] {
        let key = UserKey(app: app, user: user)
        return try await read(.client) { link in
            var devices: [RegisteredDevice] = []
            try self.devices(of: [key], nowUnixMs: self.tableNowMs, link) { devices = $0 }
            return devices
        }
    }

    /// The devices of each of these users, in their order.
    public func devices(
        of users: [UserKey],
        done: @escaping @Sendable (Result<[[RegisteredDevice]], StoreFailure>) -> Void
    ) { devices(of: users[...], after: [], done: done) }

    private func devices(
        of users: ArraySlice<UserKey>, after parts: [[[RegisteredDevice]]],
        done: @escaping @Sendable (Result<[[RegisteredDevice]], StoreFailure>) -> Void
    ) {
        let turn = users.prefix(Self.usersMax)
        let rest = users.dropFirst(turn.count)
        read(.client) { link in
            var part: [[RegisteredDevice]] = []
            part.reserveCapacity(turn.count)
            try self.devices(of: turn, nowUnixMs: self.tableNowMs, link) { part.append($0) }
            return part
        } done: { result in
            switch result {
            case .failure(let failure): done(.failure(failure))
            case .success(let part) where rest.isEmpty && parts.isEmpty: done(.success(part))
            case .success(let part) where rest.isEmpty: done(.success(parts.flatMap(\.self) + part))
            case .success(let part): self.devices(of: rest, after: parts + [part], done: done)
            }
        }
    }
}
