/// Selects dead letters; fields that are nil or empty match all.
public struct DeadFilter: Sendable, Hashable {
    /// Only these ids.
    public var ids: [UInt64] = []
    /// The sender's plugin instance.
    public var sender: String?
    /// The route's name.
    public var route: String?
    /// The reason.
    public var reason: String?
    /// The app of the device; nil for every app.
    public var app: String?
    /// The user of the device.
    public var user: String?
    /// Only dead letters from before this time, in Unix milliseconds.
    public var beforeUnixMs: UInt64?
    /// Only dead letters from this time on, in Unix milliseconds.
    public var sinceUnixMs: UInt64?

    /// Selects all.
    public init() {}

    /// Whether a dead letter of this user is meant: stores that search for a name in bytes ask in the end.
    public func takes(user name: String) -> Bool { user?.hasSameBytes(as: name) ?? true }
}

/// A replay of a dead letter counts as received this long ago: like all that has waited, it is not sent
/// before somebody has looked whose phone it is now.
public enum Replay {
    /// In milliseconds.
    public static let ageMs: UInt64 = 5_000
}

/// How many dead letters a store keeps; what is older or too much is removed, the oldest first.
public struct DeadLimits: Sendable, Hashable {
    /// How long, in milliseconds.
    public var keepMs: UInt64
    /// How many.
    public var countMax: Int

    /// Makes limits.
    public init(keepMs: UInt64 = 14 * 86_400_000, countMax: Int = 100_000) {
        self.keepMs = keepMs
        self.countMax = countMax
    }
}

/// How many dead letters were removed because of limits.
public struct DeadTrim: Sendable, Equatable {
    /// Those that were too old.
    public var old: Int
    /// Those that were too many.
    public var surplus: Int

    /// Makes a result.
    public init(old: Int, surplus: Int) {
        self.old = old
        self.surplus = surplus
    }
}

/// The result of one part of a longer job on dead letters.
public struct DeadPart: Sendable, Equatable {
    /// How many were processed.
    public var count: Int
    /// Id at which the next part begins; nil if this was the last part.
    public var nextID: UInt64?

    /// Makes a part.
    public init(count: Int, nextID: UInt64?) {
        self.count = count
        self.nextID = nextID
    }
}

/// Dead letters of a store. Long jobs run in parts, so that other work does not wait.
public protocol DeadLetterStore: Sendable {
    /// Dead letters with ids from `fromID` on, in order of their ids.
    func deadLetters(_ filter: DeadFilter, fromID: UInt64, limit: Int) async throws -> [DeadLetter]
    /// How many there are.
    func deadCount(_ filter: DeadFilter) async throws -> Int
    /// Puts a part of them back into the queue: first attempt, same stable id, and as much time until expiry
    /// as they had. The queue's watcher gets their lanes. One whose content is damaged stays, and is not counted.
    func replay(_ filter: DeadFilter, fromID: UInt64, limit: Int) async throws -> DeadPart
    /// Removes a part of them.
    func purge(_ filter: DeadFilter, fromID: UInt64, limit: Int) async throws -> DeadPart
    /// Removes at most `max` that are too old by the store's clock, and at most `max` that are too many.
    func trimDead(_ limits: DeadLimits, max: Int) async throws -> DeadTrim
}
