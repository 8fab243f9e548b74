/// A device in the registry.
public struct RegisteredDevice: Sendable, Hashable {
    /// The device; `registeredUnixMs` is when its user registered the token.
    public var device: Device
    /// Whether the app is in front of its user, by the store's clock.
    public var isOnline: Bool

    /// Makes an entry.
    public init(device: Device, isOnline: Bool = false) {
        self.device = device
        self.isOnline = isOnline
    }
}

/// The result of reporting a dead token.
public enum Invalidation: Sendable, Equatable {
    /// The device was removed from the registry.
    case removed
    /// The device was registered again after the token died, so it was kept.
    case kept
    /// The registry has no such device.
    case unknown
}

/// The devices that a gateway knows, by user.
///
/// An entry is a token of a user on a platform of an app: the same text may be a token of several senders.
///
/// Calls that change devices take the reports that the change causes, and write them to the outbox in the same
/// transaction. If the reports exceed the limit of waiting deliveries, the change fails and has no effect.
/// Only a provider's news about a token is always accepted: its delivery has left the queue and made room.
public protocol DeviceRegistry: Sendable {
    /// Registers a device. A user keeps the newest `DeviceRules.tokensMax` tokens of one kind, and the newest
    /// `devicesMax` of all; returns how many were removed.
    ///
    /// The same token on one of `platforms` is the same phone: what the user has there is replaced and, with `isUnique`,
    /// removed from every other user of the app.
    func register(
        _ device: Device, isUnique: Bool, among platforms: Set<String>, reports: [DeviceReport]
    ) async throws -> Int
    /// Removes these devices, unless the token no longer belongs to that user. Returns how many were removed. One without a
    /// platform stands for all of the user's that have the token.
    func unregister(_ devices: [Device], reports: [DeviceReport]) async throws -> Int
    /// Applies changes in order; a change without a token means all devices of the user.
    ///
    /// Idempotent.
    func change(
        _ changes: [DeviceChange], reports: [DeviceReport],
        done: @escaping @Sendable (Result<Void, StoreFailure>) -> Void)
    /// Replaces the attributes of a user's device, found by app, platform, token and user. Returns how many devices changed.
    func setAttributes(_ attributes: [Attribute], of device: Device) async throws -> Int
    /// The devices of a user in an app, newest first.
    func devices(app: String, user: String) async throws -> [RegisteredDevice]
    /// The devices with a token, newest first: one per platform and user who has it. An empty app stands for any app;
    /// the token may be in another spelling.
    func find(
        app: String, token: String,
        done: @escaping @Sendable (Result<[RegisteredDevice], StoreFailure>) -> Void)
    /// Records how long an app stays in front of its user, on one device or on all; 0 ends it. Returns how many
    /// devices changed.
    func setPresence(
        app: String, user: String, token: String?, onlineForMs: UInt64
    ) async throws -> Int
    /// Sets a user's badge counter; false if the user has no device, and so no counter.
    func setBadge(_ number: Int32, of user: UserKey) async throws -> Bool
    /// The devices of each of these users, in their order; an empty app means those of every app.
    func devices(
        of users: [UserKey],
        done: @escaping @Sendable (Result<[[RegisteredDevice]], StoreFailure>) -> Void)
    /// Applies a provider's news about a token, and writes the reports that `reports` returns.
    ///
    /// `reports` gets the affected devices in their previous state, on a thread of the store. The store
    /// retries until it succeeds; a failure means that the store was closed.
    func learn(
        _ news: TokenNews,
        reports: @escaping @Sendable (Invalidation, [Device]) -> [DeviceReport],
        done: @escaping @Sendable (Result<Void, StoreFailure>) -> Void)
}

extension DeviceRegistry {
    /// Registers a device whose sender serves no other platform.
    public func register(
        _ device: Device, isUnique: Bool, reports: [DeviceReport] = []
    ) async throws -> Int {
        try await register(device, isUnique: isUnique, among: [device.platform], reports: reports)
    }
}

/// A provider's news about a token on the platforms that its sender serves; an empty app stands for any app, no platform for
/// all.
public enum TokenNews: Sendable {
    /// No news; only reports are written.
    case nothing
    /// The token is dead since this time, in Unix milliseconds; 0 if unknown.
    case dead(app: String, token: String, among: Set<String> = [], sinceUnixMs: UInt64)
    /// Another token replaces it.
    case moved(app: String, token: String, among: Set<String> = [], newToken: String)
}

extension [RegisteredDevice] {
    /// The devices on some platforms; no platform stands for all.
    public func among(_ platforms: Set<String>) -> [Device] {
        lazy.map(\.device).filter { platforms.isEmpty || platforms.contains($0.platform) }
    }
}

extension RegisteredDevice {
    /// The device as plugins see it, with the attribute `online`.
    public var deviceWithPresence: Device {
        var out = device
        out.attributes.removeAll { $0.key == "online" }
        out.attributes.append(Attribute("online", isOnline ? "true" : "false"))
        return out
    }
}

/// The plugin instances that get reports about the devices of an app.
public struct DeviceListeners: Sendable {
    /// Stands for every app.
    public static let everyApp = "*"
    private let byApp: [String: [String]]

    /// Takes names of instances by app.
    public init(_ byApp: [String: [String]] = [:]) { self.byApp = byApp }

    /// Names of all instances that get reports, of any app.
    public var names: Set<String> { Set(byApp.values.joined()) }

    /// Names of the instances that get reports about an app's devices.
    public func names(app: String) -> [String] {
        let own = byApp[app] ?? []
        return own + (byApp[Self.everyApp] ?? []).filter { !own.contains($0) }
    }
}
