internal import SignalboxCore
internal import Synchronization

/// What gateways that run in one process keep in memory: the storage behind any number of `MemoryStore`.
///
/// It outlives the stores that use it, as a database outlives its connections, and ends with the process. For
/// tests, simulations and benchmarks, and as the shortest engine to read before writing another.
public final class MemoryStorage: Sendable {
    /// How a storage is set up.
    public struct Options: Sendable {
        /// Most deliveries that wait.
        public var waitingMax = 10_000_000
        /// How long a lease of a delivery that is taken over at once lasts, in milliseconds.
        public var leaseMs: UInt64 = 120_000
        /// Milliseconds since 1970: the clock that decides.
        public var nowUnixMs: @Sendable () -> UInt64

        /// Makes options.
        public init(nowUnixMs: @escaping @Sendable () -> UInt64) { self.nowUnixMs = nowUnixMs }
    }

    struct State: Sendable {
        var queue = MemoryQueue()
        var registry = MemoryRegistry()
        var outbox = MemoryOutbox()
        var outcomes = MemoryOutcomes()
        var values: [[String]: (bytes: [UInt8], untilUnixMs: UInt64)] = [:]
        var epochs: [String: UInt64] = [:]
        var watchers: [LeaseToken: @Sendable ([LaneKey]) -> Void] = [:]
        var fault: String?
    }

    let options: Options
    let state: Mutex<State>

    /// Makes an empty one.
    public init(_ options: Options) {
        self.options = options
        state = Mutex(State())
    }

    /// From now on every call fails with these words; nil: none does.
    public func fail(_ words: String?) { state.withLock { $0.fault = words } }

    /// Opens it for an owner, whose previous life ends now: what that one held is due again.
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
