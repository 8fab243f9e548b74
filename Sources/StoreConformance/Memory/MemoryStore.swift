public import SignalboxCore
internal import Synchronization

/// A store in memory: one owner's access to a `MemoryStorage`.
///
/// `done` is called on the caller's thread, before the call returns.
public final class MemoryStore: DeliveryQueue {
    let storage: MemoryStorage
    /// The token of this life.
    public let token: LeaseToken
    private let isClosed = Mutex(false)

    init(_ storage: MemoryStorage, _ token: LeaseToken) {
        self.storage = storage
        self.token = token
    }

    /// Runs a body at one moment of the store's clock, or returns why it cannot.
    func perform<Value: Sendable>(
        _ body: (inout MemoryStorage.State, UInt64) throws(StoreFailure) -> Value
    ) -> Result<Value, StoreFailure> {
        if isClosed.withLock({ $0 }) {
            return .failure(StoreFailure(message: "the store is closed"))
        }
        return storage.state.withLock { state in
            if let fault = state.fault { return .failure(StoreFailure(message: fault)) }
            do throws(StoreFailure) {
                return .success(try body(&state, storage.options.nowUnixMs()))
            } catch {
                return .failure(error)
            }
        }
    }

    /// Notifies the watchers, but not this store unless asked to.
    func tell(_ lanes: Set<LaneKey>, includingItself: Bool = false) {
        guard !lanes.isEmpty else { return }
        let watchers = storage.state.withLock(\.watchers)
        let sorted = lanes.sorted()
        for (owner, watch) in watchers where includingItself || owner != token { watch(sorted) }
    }

    private func isFenced(_ token: LeaseToken, _ state: MemoryStorage.State) -> Bool {
        token.owner != self.token.owner || state.epochs[token.owner] != token.epoch
    }

    /// The number of deliveries that are committed and not settled.
    public var waitingCount: Int { storage.state.withLock { $0.queue.entries.count } }
    /// Always false.
    public var isDiskFull: Bool { false }
    /// Always false.
    public var isFileGone: Bool { false }
    /// Always false.
    public var isFailing: Bool { false }

    /// Reserves ids that were never given out before.
    public func reserveIDs(
        _ count: Int, done: @escaping @Sendable (Result<Range<UInt64>, StoreFailure>) -> Void
    ) {
        done(
            perform { state, _ in
                let first = state.queue.lastID + 1
                state.queue.lastID += UInt64(count)
                return first..<first + UInt64(count)
            })
    }

    /// Of some pushes, whether events with them were committed.
    public func wereShown(
        _ claims: [OpenClaim], done: @escaping @Sendable (Result<[Bool], StoreFailure>) -> Void
    ) { done(perform { $0.queue.wereShown(claims, nowUnixMs: $1) }) }

    /// Commits an entry.
    public func append(_ entry: StoreEntry, done: @escaping @Sendable (StoreAnswer) -> Void) {
        let result = perform { state, now -> (StoreAnswer, Set<LaneKey>) in
            let count = entry.items.reduce(0) { $0 + $1.deliveries.count }
            guard
                entry.isFromOutbox
                    || state.queue.entries.count + count <= storage.options.waitingMax
            else {
                return (.full, [])
            }
            guard !isFenced(token, state) else {
                return (.failed("another life of \(token.owner) has begun"), [])
            }
            var commit = StoreCommit(token: token)
            var given: Set<LaneKey> = []
            for (index, var item) in entry.items.enumerated() {
                let windowMs = item.dedupeMs ?? entry.dedupeMs
                let isKnown = state.queue.isDuplicate(
                    item.event, nowUnixMs: now, windowMs: windowMs)
                state.history.add(
                    item.history, isDuplicate: isKnown, by: token.owner, nowUnixMs: now)
                if isKnown {
                    commit.duplicates.insert(index)
                    continue
                }
                state.queue.remember(item.shown, nowUnixMs: now)
                for step in item.badges {
                    let number = state.registry.badge(after: step.number, of: step.user)
                    commit.badges[index, default: []].append(number)
                    guard let number else { continue }
                    for place in step.places { item.deliveries[place].badge = number }
                }
                given.formUnion(
                    state.queue.add(
                        item, receivedUnixMs: entry.receivedUnixMs, nowUnixMs: now,
                        untilUnixMs: now + storage.options.leaseMs, token))
            }
            return (.committed(commit), given)
        }
        switch result {
        case .success(let (answer, given)):
            done(answer)
            tell(given)
        case .failure(let fault): done(.failed(fault.message))
        }
    }

    /// Leases deliveries of a lane.
    public func lease(
        _ lane: LaneKey, _ wish: LeaseWish,
        done: @escaping @Sendable (Result<StoreLease, StoreFailure>) -> Void
    ) {
        done(
            perform { state, now throws(StoreFailure) in
                guard !isFenced(token, state) else {
                    throw StoreFailure(message: "another life of \(token.owner) has begun")
                }
                return state.queue.lease(lane, wish, nowUnixMs: now, token)
            })
    }

    /// Extends leases to so many milliseconds from now.
    public func extend(
        _ ids: [UInt64], under token: LeaseToken, forMs: UInt64,
        done: @escaping @Sendable (Result<LeaseRefusal, StoreFailure>) -> Void
    ) {
        done(
            perform { state, now in
                isFenced(token, state)
                    ? .fenced : state.queue.extend(ids, untilUnixMs: now + forMs, token)
            })
    }

    /// Ends leases, and reports the outcomes in the same step.
    public func settle(
        _ ends: [LeaseEnd], under token: LeaseToken, outcomes: OutcomePack,
        done: @escaping @Sendable (Result<LeaseRefusal, StoreFailure>) -> Void
    ) {
        let result = perform { state, now -> (refusal: LeaseRefusal, given: Set<LaneKey>) in
            guard !isFenced(token, state) else { return (.fenced, []) }
            state.outcomes.append(outcomes, nowUnixMs: now)
            state.history.add(outcomes.history, by: token.owner, nowUnixMs: now)
            let refusal = state.queue.settle(
                ends.map { $0.made(by: token.owner) }, nowUnixMs: now, token)
            return (refusal, state.queue.lanes(releasedBy: ends, except: refusal.lost))
        }
        done(result.map(\.refusal))
        if case .success(let (_, given)) = result { tell(given) }
    }

    /// Makes deliveries of a lane due that wait only for their provider.
    public func hasten(_ lane: LaneKey) {
        _ = perform { state, now in state.queue.hasten(lane, nowUnixMs: now) }
    }

    /// The lanes with deliveries that nobody holds.
    public func waitingLanes(
        dueForMs: UInt64?, done: @escaping @Sendable (Result<[LaneKey], StoreFailure>) -> Void
    ) {
        done(perform { $0.queue.waitingLanes(nowUnixMs: $1, dueForMs: dueForMs) })
    }

    /// Calls back with lanes to which another owner or a replay gave work.
    public func watch(_ onWork: @escaping @Sendable ([LaneKey]) -> Void) {
        storage.state.withLock { $0.watchers[token] = onWork }
    }

    /// Ends this owner's life. What it held is due when its leases expire, or when it comes back.
    public func close() async {
        isClosed.withLock { $0 = true }
        storage.state.withLock { state in
            state.watchers[token] = nil
            state.outbox.watchers[token] = nil
        }
    }
}
