internal import SignalboxCore

/// The device registry as a value.
struct MemoryRegistry: Sendable {
    private struct Entry: Sendable {
        var device: Device
        var onlineUntilUnixMs: UInt64 = 0
    }

    private var users: [UserKey: [Entry]] = [:]
    private var badges: [UserKey: Int32] = [:]
    /// The newest registration.
    private(set) var lastRegistration: UInt64 = 0

    private func key(_ device: Device) -> UserKey { UserKey(app: device.app, user: device.user) }

    private static func kind(_ device: Device) -> String {
        device.provider.isEmpty ? device.platform : device.provider
    }

    mutating func register(
        _ device: Device, isUnique: Bool, among platforms: Set<String>, nowUnixMs: UInt64
    ) -> Int {
        if isUnique {
            remove {
                $0.app == device.app && $0.token == device.token
                    && !$0.user.hasSameBytes(as: device.user) && platforms.contains($0.platform)
            }
        }
        lastRegistration += 1
        var own = device
        own.registeredUnixMs = nowUnixMs
        own.registration = lastRegistration
        let kind = Self.kind(device)
        var entries = (users[key(device)] ?? []).filter {
            $0.device.token != device.token
                || !platforms.contains($0.device.platform)
                    && $0.device.platform != device.platform
        }
        entries.append(Entry(device: own))
        entries.sort(by: Self.isNewer)
        let same = entries.filter { Self.kind($0.device) == kind }
        let gone = Set(
            (same.dropFirst(DeviceRules.tokensMax) + entries.dropFirst(DeviceRules.devicesMax)).map(
                \.device.registration))
        users[key(device)] = entries.filter { !gone.contains($0.device.registration) }
        return gone.count
    }

    private static func isNewer(_ a: Entry, _ b: Entry) -> Bool {
        (a.device.registeredUnixMs, a.device.registration)
            > (b.device.registeredUnixMs, b.device.registration)
    }

    @discardableResult
    mutating func remove(where isMeant: (Device) -> Bool) -> Int {
        var count = 0
        for (user, entries) in users {
            let rest = entries.filter { !isMeant($0.device) }
            count += entries.count - rest.count
            users[user] = rest.isEmpty ? nil : rest
            if rest.isEmpty { badges[user] = nil }
        }
        return count
    }

    mutating func unregister(_ device: Device) -> Int {
        remove {
            $0.app == device.app && $0.user.hasSameBytes(as: device.user)
                && (device.platform.isEmpty || $0.platform == device.platform)
                && DeviceToken.isSame($0.token, named: device.token)
        }
    }

    /// Changes a user's devices. Returns how many were changed.
    private mutating func change(
        _ user: UserKey, where isMeant: (Device) -> Bool, _ body: (inout Entry) -> Void
    ) -> Int {
        var count = 0
        for index in (users[user] ?? []).indices {
            guard var entry = users[user]?[index], isMeant(entry.device) else { continue }
            body(&entry)
            users[user]?[index] = entry
            count += 1
        }
        return count
    }

    mutating func setAttributes(_ attributes: [Attribute], of device: Device) -> Int {
        change(
            key(device), where: { $0.token == device.token && $0.platform == device.platform }
        ) { $0.device.attributes = attributes }
    }

    mutating func setPresence(_ user: UserKey, token: String?, untilUnixMs: UInt64) -> Int {
        change(
            user,
            where: { device in token.map { DeviceToken.isSame(device.token, named: $0) } ?? true }
        ) {
            $0.onlineUntilUnixMs = untilUnixMs
        }
    }

    func devices(of user: UserKey, nowUnixMs: UInt64) -> [RegisteredDevice] {
        let entries =
            user.app.isEmpty
            ? users.filter { $0.key.user.hasSameBytes(as: user.user) }.flatMap(\.value)
            : users[user] ?? []
        return Self.newestFirst(entries, nowUnixMs)
    }

    /// Finds devices by token; an empty app means any app.
    func find(app: String, token: String, nowUnixMs: UInt64) -> [RegisteredDevice] {
        let entries = users.values.joined().filter {
            (app.isEmpty || $0.device.app == app)
                && DeviceToken.isSame($0.device.token, named: token)
        }
        return Self.newestFirst(entries, nowUnixMs)
    }

    private static func newestFirst(_ entries: [Entry], _ now: UInt64) -> [RegisteredDevice] {
        entries.sorted(by: isNewer).map {
            RegisteredDevice(device: $0.device, isOnline: $0.onlineUntilUnixMs > now)
        }
    }

    /// Applies a change; one without a token means all of the user's devices.
    mutating func apply(_ change: DeviceChange, nowUnixMs: UInt64) {
        let device = change.device
        switch change.kind {
        case .registered:
            _ = register(
                device, isUnique: !change.isShared,
                among: change.platforms.union([device.platform]),
                nowUnixMs: nowUnixMs)
        case .unregistered:
            remove {
                $0.app == device.app
                    && (device.user.isEmpty || $0.user.hasSameBytes(as: device.user))
                    && (device.token.isEmpty
                        || change.covers(platform: $0.platform)
                            && DeviceToken.isSame($0.token, named: device.token))
            }
        case .invalid, .proven, .unproven: break
        }
    }

    /// Applies a provider's news about a token. Returns the devices that it concerns.
    mutating func learn(_ news: TokenNews) -> (Invalidation, [Device]) {
        switch news {
        case .nothing: return (.unknown, [])
        case .dead(let app, let token, let platforms, let since):
            let known = find(app: app, token: token, nowUnixMs: 0).among(platforms)
            let living = Set(
                known.filter { since > 0 && $0.registeredUnixMs > since }.map(\.app))
            let gone = known.filter { !living.contains($0.app) }
            remove { gone.contains($0) }
            if known.isEmpty { return (.unknown, []) }
            return (gone.count < known.count ? .kept : .removed, gone)
        case .moved(let app, let old, let platforms, let new):
            let moved = find(app: app, token: old, nowUnixMs: 0).among(platforms)
            let owners = Set(
                find(app: app, token: new, nowUnixMs: 0).among(platforms).map(\.app))
            for device in moved {
                guard !owners.contains(device.app) else {
                    remove { $0 == device }
                    continue
                }
                _ = change(key(device), where: { $0 == device }) { $0.device.replaceToken(new) }
            }
            return (moved.isEmpty ? .unknown : .removed, moved)
        }
    }

    /// Sets the counter, or counts up. Returns the new value; nil if the user has no device.
    mutating func badge(after given: Int32?, of user: UserKey) -> Int32? {
        guard users[user] != nil else { return nil }
        let known = badges[user] ?? 0
        let number = given ?? (known == .max ? .max : known + 1)
        badges[user] = number
        return number
    }

    // MARK: Copies

    /// All devices, in the order of their registration.
    var storedDevices: [StoredDevice] {
        users.values.joined().sorted { $0.device.registration < $1.device.registration }.map {
            StoredDevice(
                $0.device, onlineUntilUnixMs: $0.onlineUntilUnixMs,
                number: $0.device.registration)
        }
    }

    var storedBadges: [(user: UserKey, number: Int32)] {
        badges.map { ($0.key, $0.value) }
            .sorted { ($0.user.app, $0.user.user) < ($1.user.app, $1.user.user) }
    }

    mutating func restore(_ stored: StoredDevice) {
        users[key(stored.device), default: []].append(
            Entry(device: stored.device, onlineUntilUnixMs: stored.onlineUntilUnixMs))
    }

    mutating func restore(lastRegistration number: UInt64) { lastRegistration = number }

    mutating func restore(_ number: Int32, of user: UserKey) { badges[user] = number }
}
