public import SignalboxCore

/// Forgotten users: deliveries of events received before the order to forget are ended, not sent.
///
/// Stores hashes instead of names, since the name must be forgotten, too. As with `CancelOrder`, nothing is searched:
/// deliveries are ended when their turn comes.
public struct ForgottenUsers: Sendable, Equatable {
    /// A user under a hash.
    public struct Mark: Sendable, Hashable {
        /// The key of the hash.
        public var seed: SeenKey
        /// The hash of app and name.
        public var hash: SeenKey

        /// Makes a mark.
        public init(seed: SeenKey, hash: SeenKey) {
            self.seed = seed
            self.hash = hash
        }

        /// The mark of a user; an empty app stands for all apps.
        public init(_ user: UserKey, seed: SeenKey) {
            self.init(
                seed: seed, hash: SeenKey(seed: (seed.high, seed.low), user.app, user.user))
        }
    }

    /// The time of each order, in Unix milliseconds, by seed and hash.
    private var times: [SeenKey: [SeenKey: UInt64]] = [:]
    /// How many there are.
    public private(set) var count = 0

    /// Starts empty.
    public init() {}

    /// The hash key for further users; nil if nobody was added yet.
    public var seed: SeenKey? { times.keys.min() }

    /// Adds a user, or a later time for one.
    public mutating func add(_ mark: Mark, beforeUnixMs: UInt64) {
        if times[mark.seed, default: [:]].updateValue(beforeUnixMs, forKey: mark.hash) == nil {
            count += 1
        }
    }

    /// Drops orders from before `oldest`: no delivery they cover can still be waiting.
    public mutating func removeAll(beforeUnixMs oldest: UInt64) {
        times = times.mapValues { $0.filter { $0.value >= oldest } }.filter { !$0.value.isEmpty }
        count = times.values.reduce(0) { $0 + $1.count }
    }

    /// Whether a delivery's event was received before its user was forgotten.
    public func covers(_ delivery: Delivery) -> Bool {
        let device = delivery.device
        guard count > 0, !device.user.isEmpty else { return false }
        return times.contains { seed, marks in
            ["", device.app].contains { app in
                let hash = SeenKey(seed: (seed.high, seed.low), app, device.user)
                return marks[hash].map { delivery.content.receivedUnixMs < $0 } ?? false
            }
        }
    }
}
