import Signalbox
import SignalboxCore
import Synchronization

/// Deliveries in memory, for measuring only what follows the store.
///
/// It gives leases on request, counts what is settled, and keeps nothing else.
final class MemoryStore: DeliveryQueue {
    private struct State {
        var left: Int
        var settled = 0
        var delivered = 0
        var end: CheckedContinuation<Void, Never>?
    }

    private let key: LaneKey
    private let total: Int
    private let deliveries: [Delivery]
    private let state: Mutex<State>

    /// `make` makes the delivery of a number below `total`; its id is the number plus one.
    init(key: LaneKey, total: Int, make: (Int) -> Delivery) {
        self.key = key
        self.total = total
        deliveries = (0..<total).map(make)
        state = Mutex(State(left: total))
    }

    var waitingCount: Int { state.withLock { total - $0.settled } }
    var isDiskFull: Bool { false }
    var isFileGone: Bool { false }
    var isFailing: Bool { false }

    /// Waits until all deliveries are settled. Returns how many were delivered.
    func end() async -> Int {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.settled < total { state.end = continuation }
                return state.settled >= total
            }
            if isOver { continuation.resume() }
        }
        return state.withLock { $0.delivered }
    }

    func append(_ entry: StoreEntry, done: @escaping @Sendable (StoreAnswer) -> Void) {
        done(.committed(StoreCommit(token: Self.token)))
    }

    private static let token = LeaseToken(owner: "bench", epoch: 1)

    func reserveIDs(
        _ count: Int, done: @escaping @Sendable (Result<Range<UInt64>, StoreFailure>) -> Void
    ) {
        let first = UInt64(total) + 1
        done(.success(first..<first + UInt64(count)))
    }

    func lease(
        _ lane: LaneKey, _ wish: LeaseWish,
        done: @escaping @Sendable (Result<StoreLease, StoreFailure>) -> Void
    ) {
        var lease = StoreLease(token: Self.token)
        if lane == key {
            let (first, count, hasMore) = state.withLock { state in
                let first = total - state.left
                let count = min(wish.max, state.left)
                state.left -= count
                return (first, count, state.left > 0)
            }
            lease.deliveries = Array(deliveries[first..<first + count])
            lease.hasMore = hasMore
        }
        done(.success(lease))
    }

    func extend(
        _ ids: [UInt64], under token: LeaseToken, forMs: UInt64,
        done: @escaping @Sendable (Result<LeaseRefusal, StoreFailure>) -> Void
    ) { done(.success(LeaseRefusal())) }
    func hasten(_ lane: LaneKey) {}
    func watch(_ onWork: @escaping @Sendable ([LaneKey]) -> Void) {}
    func waitingLanes(
        dueForMs: UInt64?, done: @escaping @Sendable (Result<[LaneKey], StoreFailure>) -> Void
    ) { done(.success(state.withLock { $0.left } > 0 ? [key] : [])) }

    func settle(
        _ ends: [LeaseEnd], under token: LeaseToken, outcomes: OutcomePack,
        done: @escaping @Sendable (Result<LeaseRefusal, StoreFailure>) -> Void
    ) {
        var delivered = 0
        for end in ends { if case .delivered = end { delivered += 1 } }
        done(.success(LeaseRefusal()))
        let end = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.settled += ends.count
            state.delivered += delivered
            guard state.settled >= total else { return nil }
            defer { state.end = nil }
            return state.end
        }
        end?.resume()
    }

    func close() async {}
}

/// There are no dead letters, devices, values or outcome streams here.
extension MemoryStore: DeadLetterStore, DeviceRegistry, Outbox, KeyValueStore, OutcomeStore,
    FleetStore, HistoryStore, PeopleStore
{
    var nextOutcome: UInt64 { 1 }
    func setOutcomeReceivers(_ names: [String]) async throws -> [String: UInt64] { [:] }
    func outcomes(from first: UInt64) async throws -> (rows: [OutcomeRow], hasMore: Bool) {
        ([], false)
    }
    func claimOutcomes(for receiver: String, forMs: UInt64) async throws -> OutcomeClaim? { nil }
    func fleet() async throws -> Fleet { Fleet(nowUnixMs: 0) }
    func setConfiguration(_ digest: String) {}
    func keepHistory(_ limits: HistoryLimits) {}
    func history(_ search: HistorySearch) async throws -> HistoryPage { HistoryPage() }
    func badges(of user: UserKey) async throws -> [UserKey: Int32] { [:] }
    func waiting(of user: UserKey, after place: String) async throws -> WaitingPart {
        WaitingPart()
    }
    func changeHistory(
        _ search: HistorySearch, _ change: @escaping @Sendable (HistoryRow) -> HistoryRow?
    ) async throws -> UInt64? { nil }
    func trimDead(_ limits: DeadLimits, max: Int) async throws -> DeadTrim {
        DeadTrim(old: 0, surplus: 0)
    }
    func outcomesTaken(by receiver: String, next: UInt64) async throws {}
    func append(_ outcomes: OutcomePack) async throws {}

    func deadLetters(
        _ filter: DeadFilter, fromID: UInt64, limit: Int
    ) async throws -> [DeadLetter] { [] }
    func deadCount(_ filter: DeadFilter) async throws -> Int { 0 }
    func replay(
        _ filter: DeadFilter, fromID: UInt64, limit: Int
    ) async throws -> DeadPart { DeadPart(count: 0, nextID: nil) }
    func purge(_ filter: DeadFilter, fromID: UInt64, limit: Int) async throws -> DeadPart {
        DeadPart(count: 0, nextID: nil)
    }

    func register(
        _ device: Device, isUnique: Bool, among platforms: Set<String>, reports: [DeviceReport]
    ) async throws -> Int { 0 }
    func unregister(_ devices: [Device], reports: [DeviceReport]) async throws -> Int { 0 }
    func change(
        _ changes: [DeviceChange], reports: [DeviceReport],
        done: @escaping @Sendable (Result<Void, StoreFailure>) -> Void
    ) { done(.success(())) }
    func outbox(
        max: Int, done: @escaping @Sendable (Result<[OutboxEntry], StoreFailure>) -> Void
    ) { done(.success([])) }
    func removeFromOutbox(
        through id: UInt64, done: @escaping @Sendable (Result<Void, StoreFailure>) -> Void
    ) { done(.success(())) }
    func watchOutbox(_ onReport: @escaping @Sendable () -> Void) {}
    func setAttributes(_ attributes: [Attribute], of device: Device) async throws -> Int { 0 }
    func devices(app: String, user: String) async throws -> [RegisteredDevice] { [] }
    func wereShown(
        _ claims: [OpenClaim], done: @escaping @Sendable (Result<[Bool], StoreFailure>) -> Void
    ) { done(.success(claims.map { _ in false })) }
    func find(
        app: String, token: String,
        done: @escaping @Sendable (Result<[RegisteredDevice], StoreFailure>) -> Void
    ) { done(.success([])) }
    func setPresence(
        app: String, user: String, token: String?, onlineForMs: UInt64
    ) async throws -> Int { 0 }
    func setBadge(_ number: Int32, of user: UserKey) async throws -> Bool { false }
    func devices(
        of users: [UserKey],
        done: @escaping @Sendable (Result<[[RegisteredDevice]], StoreFailure>) -> Void
    ) { done(.success(users.map { _ in [] })) }
    func learn(
        _ news: TokenNews,
        reports: @escaping @Sendable (Invalidation, [Device]) -> [DeviceReport],
        done: @escaping @Sendable (Result<Void, StoreFailure>) -> Void
    ) { done(.success(())) }

    func value(
        instance: String, key: String,
        done: @escaping @Sendable (Result<[UInt8]?, StoreFailure>) -> Void
    ) { done(.success(nil)) }
    func values(
        instance: String,
        done: @escaping @Sendable (Result<[String: [UInt8]], StoreFailure>) -> Void
    ) { done(.success([:])) }
    func keys(
        instance: String, prefix: String, after: String, limit: Int,
        done: @escaping @Sendable (Result<[String], StoreFailure>) -> Void
    ) { done(.success([])) }
    func edit(
        instance: String, key: String, _ edit: KeyValueEdit,
        done: @escaping @Sendable (Result<KeyValueEdited, StoreFailure>) -> Void
    ) { done(.success(KeyValueEdited(isDone: false, value: nil))) }
    func set(
        instance: String, key: String, value: [UInt8]?, forMs: UInt64?,
        done: @escaping @Sendable (Result<Void, StoreFailure>) -> Void
    ) { done(.success(())) }
}
