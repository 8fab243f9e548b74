public import SignalboxCore
public import SignalboxTables
internal import SignalboxThreads
internal import Synchronization

/// A store on PostgreSQL that several gateways use at once.
///
/// One connection writes the queue and groups the jobs of many callers into transactions, one does other changes, one
/// looks things up, one is for dead letters, and one listens for the work of other gateways. See decision 27.
public final class PostgresStore: DeliveryQueue {
    let options: PostgresOptions
    var token: LeaseToken { life.token }
    let outages: OutageTracker
    let life: Life
    /// The key of `SeenKey`.
    private let seed: (UInt64, UInt64)
    let clock: DatabaseClock
    let shared: SharedState
    let changeThread: ConnectionThread<Errand>
    let reader: ConnectionThread<Errand>
    /// For dead letters: there may be many, and other jobs must not wait for them.
    let dead: ConnectionThread<Errand>
    let watcher = Watcher<[LaneKey]>()
    /// What it knows of the outbox.
    public let outboxState = OutboxState()
    /// Is told of rows that cannot be read.
    public let damage: DamagedRows
    private let writer: ConnectionThread<QueueJob>
    private let listener: WorkListener

    /// Opens a store, and creates its tables if they are missing.
    public static func open(_ options: PostgresOptions) throws(StoreError) -> PostgresStore {
        let onNotice = options.onNotice
        let locks = LockWait(maxMs: options.lockMaxMs) { onNotice(.waiting($0)) }
        let opening = try Opening(options.address, usesNames: options.usesNames, locks: locks)
        let state = try opening.begin(owner: options.owner, version: options.version)
        for notice in state.notices { options.onNotice(notice) }
        let clock = DatabaseClock(offsetMs: options.offsetMs)
        clock.hear(state.nowUnixMs)
        return PostgresStore(options, state, clock)
    }

    private init(_ options: PostgresOptions, _ state: Opening.State, _ clock: DatabaseClock) {
        self.options = options
        life = state.life
        seed = state.seed
        let outages = OutageTracker(options.onNotice)
        self.outages = outages
        self.clock = clock
        shared = SharedState(waiting: state.waiting, outcomes: state.nextOutcome)
        func session(_ channel: Int64) -> Lent<Session> {
            let made = Session(
                options.address, usesNames: options.usesNames, state.life, channel: channel, clock)
            made.patienceNs = options.patienceMs * 1_000_000
            return Lent(made)
        }
        let queue = QueueWriter(state.life, clock, seed: state.seed, options, shared, outages)
        let onNotice = options.onNotice
        damage = DamagedRows { onNotice(.damaged(count: 1, $0)) }
        writer = ConnectionThread(
            "sbx-store", session(0),
            ConnectionThread.Duties(
                groupMax: 4_096, lingerNs: 2_000_000, mayLinger: \.mayLinger,
                // In an outage it tries itself.
                restNs: { outages.reason != nil ? 1_000_000_000 : 5_000_000_000 },
                perform: { queue.perform($0, $1) },
                refuse: { job, failure in
                    job.refuse(failure)
                    outages.refused(job, failure)
                },
                turned: { if let failure = $0 { outages.refused(0, .away, failure.message) } }))
        let (rotation, receivers) = (TableRotation(), ReceiverSweep(shared, onNotice))
        let history = HistoryRotation(shared)
        changeThread = .errands("sbx-changes", session(1), restNs: 10_000_000_000) { session in
            Sweep.run(session, life: state.life, clock, rotation, history, receivers, onNotice)
        }
        reader = .errands("sbx-reader", session(2))
        dead = .errands("sbx-dead", session(3))
        listener = WorkListener(options, life, watcher, outboxState.watcher)
    }

    /// Deliveries that wait: this gateway's changes, and those of others as of the last look at waiting lanes.
    public var waitingCount: Int { shared.waiting.load(ordering: .relaxed) }
    /// The database had no room for the last events.
    public var isDiskFull: Bool { outages.stop == .full }
    /// Whether other gateways were alive within the last half minute.
    public var isShared: Bool { shared.others.load(ordering: .relaxed) > 0 }
    /// Never.
    public var isFileGone: Bool { false }
    /// Events are refused, or were a few seconds ago.
    public var isFailing: Bool { outages.reason != nil }
    /// Why all events are refused.
    public var stop: StoreStop? {
        switch outages.stop {
        case .away: .away
        case .nameTaken: .nameTaken
        case .slow, .failed: .failing
        case .full, nil: nil
        }
    }
    /// Why it is failing.
    public var trouble: String? { outages.reason }

    /// What each connection has seen of the database.
    public var figures: [StoreFigure] {
        writer.figures("queue") + changeThread.figures("changes") + reader.figures("lookups")
            + dead.figures("dead")
    }

    /// Reserves ids that were never given out before.
    public func reserveIDs(
        _ count: Int, done: @escaping @Sendable (Result<Range<UInt64>, StoreFailure>) -> Void
    ) {
        guard count <= Int(IDRange.count) else {
            let words = "at most \(IDRange.count) ids can be reserved at once"
            return done(.failure(StoreFailure(message: words)))
        }
        submit(.reserve(count, done: done))
    }

    /// Commits an entry.
    public func append(_ entry: StoreEntry, done: @escaping @Sendable (StoreAnswer) -> Void) {
        let untilNs = SystemClock.monotonicNs + options.patienceMs * 1_000_000
        submit(.append(entry, untilNs: untilNs, done: done), untilNs: untilNs)
    }

    /// Of some pushes, whether events with them were committed.
    public func wereShown(
        _ claims: [OpenClaim], done: @escaping @Sendable (Result<[Bool], StoreFailure>) -> Void
    ) {
        let keys = claims.map { SeenKey(seed: seed, OpenClaim.shown, $0.key) }
        look(
            withinNs: patienceNs,
            { link, deadline throws(PostgresFault) in
                let values = Parameters(keys.map(\.bytes), self.clock.nowUnixMs)
                let rows = try link.run(QueueSQL.known, values, byNs: deadline)
                let known = Set((0..<rows.count).map { SeenKey(rows.bytes($0, 0)) })
                return keys.map(known.contains)
            }, done: done)
    }

    /// Leases deliveries of a lane.
    public func lease(
        _ lane: LaneKey, _ wish: LeaseWish,
        done: @escaping @Sendable (Result<StoreLease, StoreFailure>) -> Void
    ) { submit(.lease(lane, wish, done: done)) }

    /// Makes leases last so many milliseconds from now.
    public func extend(
        _ ids: [UInt64], under token: LeaseToken, forMs: UInt64,
        done: @escaping @Sendable (Result<LeaseRefusal, StoreFailure>) -> Void
    ) {
        guard token == self.token else { return done(.success(.fenced)) }
        submit(.extend(ids, forMs: forMs, done: done))
    }

    /// Ends leases, and appends their outcomes in the same commit.
    public func settle(
        _ ends: [LeaseEnd], under token: LeaseToken, outcomes: OutcomePack,
        done: @escaping @Sendable (Result<LeaseRefusal, StoreFailure>) -> Void
    ) {
        guard token == self.token else { return done(.success(.fenced)) }
        submit(.settle(ends, outcomes, done: done))
    }

    /// Makes deliveries of a lane due that wait only for their provider to be back.
    public func hasten(_ lane: LaneKey) { submit(.hasten(lane)) }

    /// Lanes with deliveries that no gateway holds. Also recounts waiting deliveries.
    public func waitingLanes(
        dueForMs: UInt64?, done: @escaping @Sendable (Result<[LaneKey], StoreFailure>) -> Void
    ) { submit(.waitingLanes(dueForMs: dueForMs, done: done)) }

    /// Calls back with lanes that another gateway or a replay gave work.
    public func watch(_ onWork: @escaping @Sendable ([LaneKey]) -> Void) { watcher.set(onWork) }

    private func submit(_ job: QueueJob, untilNs: UInt64? = nil) {
        guard let refusal = writer.submit(job, untilNs: untilNs) else { return }
        job.refuse(refusal)
        outages.refused(job, refusal)
    }

    /// Closes the store after all pending work.
    public func close() async {
        await listener.close()
        await reader.close()
        await dead.close()
        await changeThread.close()
        submit(.leave)
        await writer.close()
    }

    // MARK: Other threads

    /// How long a client waits.
    var patienceNs: UInt64 { options.patienceMs * 1_000_000 }

    /// Does something as one transaction.
    func change<Value: Sendable>(
        on thread: ConnectionThread<Errand>? = nil, mustHappen: Bool = false,
        withinNs: UInt64? = nil,
        _ body: @escaping @Sendable (Transaction) throws(TransactionFault) -> Value,
        done: @escaping @Sendable (Result<Value, StoreFailure>) -> Void
    ) {
        (thread ?? changeThread).perform(
            owner: token.owner, mustHappen: mustHappen, withinNs: withinNs,
            { session throws(TransactionFault) in try session.transaction(body) }, done)
    }

    func change<Value: Sendable>(
        on thread: ConnectionThread<Errand>? = nil, withinNs: UInt64? = nil,
        _ body: @escaping @Sendable (Transaction) throws(TransactionFault) -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            change(on: thread, withinNs: withinNs, body) { continuation.resume(with: $0) }
        }
    }

    /// Looks something up.
    func look<Value: Sendable>(
        on thread: ConnectionThread<Errand>? = nil, withinNs: UInt64? = nil,
        _ body: @escaping @Sendable (PostgresLink, UInt64) throws(PostgresFault) -> Value,
        done: @escaping @Sendable (Result<Value, StoreFailure>) -> Void
    ) {
        (thread ?? reader).perform(
            owner: token.owner, withinNs: withinNs,
            { session throws(TransactionFault) in
                do throws(PostgresFault) {
                    return try session.look(body)
                } catch {
                    throw .database(error)
                }
            }, done)
    }

    func look<Value: Sendable>(
        on thread: ConnectionThread<Errand>? = nil, withinNs: UInt64? = nil,
        _ body: @escaping @Sendable (PostgresLink, UInt64) throws(PostgresFault) -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            look(on: thread, withinNs: withinNs, body) { continuation.resume(with: $0) }
        }
    }
}
