/// A device as the registry keeps it.
public struct RegisteredDevice: Sendable, Hashable {
    /// The device; `registeredUnixMs` says since when its token belongs to its user.
    public var device: Device
    /// The app is in front of its user, by the store's clock.
    public var isOnline: Bool

    /// Makes an entry.
    public init(device: Device, isOnline: Bool = false) {
        self.device = device
        self.isOnline = isOnline
    }
}

/// What a dead token's report came to.
public enum Invalidation: Sendable, Equatable {
    /// It left the registry.
    case removed
    /// It was registered again after it died, so it lives.
    case kept
    /// The registry does not know it.
    case unknown
}

/// The devices that a gateway knows by user.
///
/// What changes them takes the reports that the change causes, and writes them to the outbox in the same
/// transaction. If these find no place among the deliveries that may wait, the change fails and nothing is done.
/// Only what a provider says of a token is always taken: the delivery that showed it has made room.
public protocol DeviceRegistry: Sendable {
    /// Registers a device; of the user's tokens of one kind the newest `DeviceRules.tokensMax` stay. How many of
    /// them had to go.
    ///
    /// `isUnique`: the token leaves every other user of the app.
    func register(
        _ device: Device, isUnique: Bool, reports: [DeviceReport]
    ) async throws -> Int
    /// Forgets these devices, each if its token is still its user's; how many there were.
    func unregister(_ devices: [Device], reports: [DeviceReport]) async throws -> Int
    /// Does what changes say, in their order; one that names no token means all of the user's.
    ///
    /// Done twice they come to the same.
    func change(
        _ changes: [DeviceChange], reports: [DeviceReport],
        done: @escaping @Sendable (Result<Void, StoreFailure>) -> Void)
    /// Gives a user's device other attributes; how many there were.
    func setAttributes(
        _ attributes: [Attribute], app: String, token: String, user: String
    ) async throws -> Int
    /// The devices of a user in an app, newest first.
    func devices(app: String, user: String) async throws -> [RegisteredDevice]
    /// The devices with a token, newest first: of each user who has it. An empty app stands for whichever app
    /// has it; the token may be in another spelling.
    func find(
        app: String, token: String,
        done: @escaping @Sendable (Result<[RegisteredDevice], StoreFailure>) -> Void)
    /// Says how long an app is in front of its user, on one device or on all (0: it is not); how many
    /// devices that are.
    func setPresence(
        app: String, user: String, token: String?, onlineForMs: UInt64
    ) async throws -> Int
    /// Sets a user's badge counter; false: the user has no device, and so no counter.
    func setBadge(_ number: Int32, of user: UserKey) async throws -> Bool
    /// The devices of users named in events; in an empty app, those of every app.
    func devices(
        of users: [UserKey],
        done: @escaping @Sendable (Result<[UserKey: [RegisteredDevice]], StoreFailure>) -> Void)
    /// Takes in what a provider says of a token, and writes what `reports` makes of it.
    ///
    /// `reports` is given the devices that it concerns as they were before, on a thread of the store. The store
    /// tries until it succeeds; a failure means that it has ended.
    func learn(
        _ news: TokenNews,
        reports: @escaping @Sendable (Invalidation, [Device]) -> [DeviceReport],
        done: @escaping @Sendable (Result<Void, StoreFailure>) -> Void)
}

extension DeviceRegistry {
    /// Registers a device of which nobody is told.
    public func register(_ device: Device, isUnique: Bool) async throws -> Int {
        try await register(device, isUnique: isUnique, reports: [])
    }
}

/// What a provider says of a token; an empty app stands for whichever app has it.
public enum TokenNews: Sendable {
    /// Nothing: there are only reports.
    case nothing
    /// It is dead, since a time in Unix milliseconds; 0: unknown.
    case dead(app: String, token: String, sinceUnixMs: UInt64)
    /// Another one has taken its place.
    case moved(app: String, token: String, newToken: String)
}

extension RegisteredDevice {
    /// The device as plugins see it: whether it is online is one of its attributes.
    public var deviceWithPresence: Device {
        var out = device
        out.attributes.removeAll { $0.key == "online" }
        out.attributes.append(Attribute("online", isOnline ? "true" : "false"))
        return out
    }
}

/// Who is told of the devices of an app.
public struct DeviceListeners: Sendable {
    /// Stands for every app.
    public static let everyApp = "*"
    private let byApp: [String: [String]]

    /// Takes instance names by app.
    public init(_ byApp: [String: [String]] = [:]) { self.byApp = byApp }

    /// Names of all instances that are told of some app's devices.
    public var names: Set<String> { Set(byApp.values.joined()) }

    /// Names of the instances that are told of an app's devices.
    public func names(app: String) -> [String] {
        let own = byApp[app] ?? []
        return own + (byApp[Self.everyApp] ?? []).filter { !own.contains($0) }
    }
}

/// What holds for every device.
public enum DeviceRules {
    /// Tokens of one kind that a user keeps; the oldest goes first.
    public static let tokensMax = 20
    /// Longest token, in bytes.
    public static let tokenBytesMax = 4_096
    /// Most attributes of a device.
    public static let attributesMax = 16
    /// How long an app that says nothing else counts as in front of its user, in seconds.
    public static let presenceSeconds: Int64 = 120
    /// What an app may say instead.
    public static let presenceSecondsAllowed: ClosedRange<Int64> = 10...86_400
    /// Longest name or value of an attribute, in bytes.
    public static let attributeBytesMax = 256
}
