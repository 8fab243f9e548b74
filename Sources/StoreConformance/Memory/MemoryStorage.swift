internal import SignalboxCore
internal import Synchronization

/// What gateways in one process keep in memory: the storage behind any number of `MemoryStore`.
///
/// It outlives the stores that use it, as a database outlives its connections, and ends with the
/// process. It serves tests, simulations and benchmarks, and is the shortest engine to read
/// before writing another.
public final class MemoryStorage: Sendable {
    /// The options of a storage.
    public struct Options: Sendable {
        /// Limit of waiting deliveries.
        public var waitingMax = 10_000_000
        /// Lease of a delivery that is taken over at once, in milliseconds.
        public var leaseMs: UInt64 = 120_000
        /// Milliseconds since 1970, by the clock that decides.
        public var nowUnixMs: @Sendable () -> UInt64

        /// Makes options.
        public init(nowUnixMs: @escaping @Sendable () -> UInt64) { self.nowUnixMs = nowUnixMs }
    }

    struct State: Sendable {
        var queue = MemoryQueue()
        var registry = MemoryRegistry()
        var outbox = MemoryOutbox()
        var outcomes = MemoryOutcomes()
        var history = MemoryHistory()
        var values: [[String]: (bytes: [UInt8], untilUnixMs: UInt64)] = [:]
        var epochs: [String: UInt64] = [:]
        var watchers: [LeaseToken: @Sendable ([LaneKey]) -> Void] = [:]
        var fault: String?
        /// How far a copy into it has come.
        var mark: CopyMark?
        var finishedCopy: CopyMark?
    }

    let options: Options
    let state: Mutex<State>

    /// Makes an empty storage.
    public init(_ options: Options) {
        self.options = options
        state = Mutex(State())
    }

    /// Makes every later call fail with this message; nil lets calls succeed again.
    public func fail(_ words: String?) { state.withLock { $0.fault = words } }

    /// Opens the storage for an owner.
    ///
    /// The owner's previous life ends now: what it held is due again.
    public func open(owner: String) -> MemoryStore {
        let token = state.withLock { state in
            let token = LeaseToken(owner: owner, epoch: (state.epochs[owner] ?? 0) + 1)
            state.epochs[owner] = token.epoch
            state.queue.takeBack(from: owner)
            return token
        }
        return MemoryStore(self, token)
    }
}
