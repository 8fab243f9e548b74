internal import SignalboxCore
internal import SignalboxThreads
internal import Synchronization

/// The writer of the queue: many jobs share a transaction, and so a sync of the server's disk.
///
/// `@unchecked Sendable`: used by its connection's thread alone.
final class QueueWriter: @unchecked Sendable {
    /// How often jobs are tried again when another gateway took something over meanwhile.
    private static let triesMax = 8

    let life: Life
    let clock: DatabaseClock
    let options: PostgresOptions
    let seed: (UInt64, UInt64)
    let shared: SharedState
    let outages: OutageTracker
    var holdings = Holdings()
    var grace: TakeoverGrace
    private(set) var lanes = LaneNumbers()
    private var ids: Range<UInt64> = 0..<0
    var lastSweepNs: UInt64 = 0
    var isLeaving = false
    var differences = ConfigurationDifferences()
    var takeovers = Takeovers()
    /// When all that waits may be counted again.
    private var nextCountNs: UInt64 = 0
    private static let longCountNs: UInt64 = 20_000_000
    /// How many more groups first ask which of their events are known. Assuming that all are new saves a round trip,
    /// but costs a transaction if one is not; senders repeat events in bursts.
    private var askFirst = 0
    private static let askFirstMax = 64

    init(
        _ life: Life, _ clock: DatabaseClock, seed: (UInt64, UInt64),
        _ options: PostgresOptions, _ shared: SharedState, _ outages: OutageTracker
    ) {
        self.life = life
        self.clock = clock
        self.seed = seed
        self.options = options
        grace = TakeoverGrace(leaseMs: options.leaseMs)
        self.shared = shared
        self.outages = outages
    }

    /// Runs jobs. Returns the failure if the database is away.
    func perform(_ jobs: [QueueJob], _ session: Session) -> StoreFailure? {
        outages.endOld()
        guard !jobs.isEmpty else { return attempt(Group([]), session) }
        var rest = jobs[...]
        while !rest.isEmpty {
            if let failure = attempt(Self.group(&rest), session) {
                session.tally.refused(rest.count)
                for job in rest { job.refuse(failure) }
                return failure
            }
        }
        return nil
    }

    /// The first jobs that can share a transaction: none ends a delivery that another one ends.
    private static func group(_ rest: inout ArraySlice<QueueJob>) -> Group {
        var ended: Set<UInt64> = []
        var count = 0
        for job in rest {
            if case .settle(let ends, _, _) = job {
                let own = Set(ends.map(\.id))
                guard own.count == ends.count || count == 0, ended.isDisjoint(with: own) else {
                    break
                }
                ended.formUnion(own)
                // Its own ends follow each other.
                if own.count < ends.count { return Group([rest.removeFirst()]) }
            }
            count += 1
        }
        defer { rest = rest.dropFirst(count) }
        return Group(Array(rest.prefix(count)))
    }

    func attempt(_ group: Group, _ session: Session) -> StoreFailure? {
        let tally = session.tally
        let outages = outages
        let answerLate = {
            let count = group.answerLate(nowNs: SystemClock.monotonicNs)
            guard count > 0 else { return }
            tally.refused(count)
            outages.refused(count, .slow, StoreFailure.slow.message)
        }
        session.pauses.user = answerLate
        defer {
            session.pauses.user = {}
            // The group's effects and replies retain the group: this breaks the reference cycle.
            group.reset()
        }
        var tries = 0
        let start = clock.nowUnixMs
        group.isProbe = group.jobs.isEmpty && outages.isRefusing
        // Events are answered in time whatever happens. The server ends a wait for a lock sooner than this does.
        let untilNs = group.awaitedUntilNs.map {
            max($0, SystemClock.monotonicNs + session.patienceNs)
        }
        group.asksFirst = askFirst > 0
        askFirst -= group.asksFirst ? 1 : 0
        while true {
            tries += 1
            // The process may have been suspended: their callers gave up, and another gateway may store these events.
            answerLate()
            do throws(TransactionFault) {
                try prepare(group, session)
                try session.transaction(byNs: untilNs) {
                    transaction throws(TransactionFault) in
                    group.reset()
                    try self.perform(group, transaction)
                }
                grace.reached(clock.nowUnixMs, sinceUnixMs: start)
                for effect in group.effects { effect() }
                shared.waiting.wrappingAdd(group.delta, ordering: .relaxed)
                if group.isProbe || group.openEvents > 0 { outages.stored() }
                for reply in group.replies { reply() }
                return nil
            } catch {
                if case .known = error, !group.asksFirst {
                    group.asksFirst = true
                    askFirst = Self.askFirstMax
                    continue
                }
                if case .takenOver = error, tries < Self.triesMax {
                    if let failure = refresh(group, session) {
                        tally.refused(group.open.count)
                        group.refuse(failure)
                        return failure
                    }
                    continue
                }
                return give(up: group, error, session, sinceUnixMs: start)
            }
        }
    }

    func held(_ blocks: [HeldBlock]) -> Parameters {
        let out = Parameters(life.number, blocks.map(\.id))
        return out
    }

    static func marks(_ rows: Rows) -> [Int64: Marks] {
        var out: [Int64: Marks] = [:]
        for row in 0..<rows.count { out[rows.number(row, 0)] = Marks(rows, row, from: 1) }
        return out
    }

    // MARK: Before a transaction

    private func prepare(_ group: Group, _ session: Session) throws(TransactionFault) {
        var unknown: Set<LaneKey> = []
        // Also for dead letters of as many damaged blocks as a lease looks at.
        var count = 16_384
        var isAppending = false
        for job in group.jobs {
            switch job {
            case .append(let entry, _, _):
                for item in entry.items {
                    count += item.deliveries.count
                    for delivery in item.deliveries {
                        let lane = LaneKey(delivery)
                        if lanes[lane] == nil {
                            unknown.insert(lane)
                            isAppending = true
                        }
                    }
                }
            case .lease(let lane, _, _), .hasten(let lane):
                if lanes[lane] == nil { unknown.insert(lane) }
            case .settle(let ends, _, _): count += ends.count
            case .extend, .waitingLanes, .reserve, .leave: break
            }
        }
        do throws(PostgresFault) {
            if !unknown.isEmpty {
                try session.look { link, deadline throws(PostgresFault) in
                    try lanes.learn(isAppending ? unknown : [], link, byNs: deadline)
                }
            }
            if ids.count < count {
                let rows = try session.look { link, deadline throws(PostgresFault) in
                    try link.run(QueueSQL.nextRange, byNs: deadline)
                }
                ids = IDRange.of(rows)
            }
        } catch {
            throw .database(error)
        }
    }

    func nextID() -> Int64 {
        guard let id = ids.popFirst() else { return 0 }
        return Int64(clamping: id)
    }

    // MARK: In a transaction

    private func perform(_ group: Group, _ transaction: Transaction) throws(TransactionFault) {
        let now = clock.nowUnixMs
        var drafts = Drafts()
        var rows = DeliveryRows()
        var given: Set<Int64> = []
        settle(group, transaction, &drafts, &rows, &given, nowUnixMs: now)
        try append(group, transaction, &drafts, &rows, &given, nowUnixMs: now)
        write(drafts.take(), group, transaction)
        if rows.count > 0 { transaction.send(QueueSQL.insertRows, rows.parameters) }
        StaleMarks(group.jobs).send(transaction)
        for job in group.jobs {
            switch job {
            case .append, .settle: break
            case .lease(let lane, let wish, let done):
                let lease = try lease(lane, wish, group, transaction, nowUnixMs: now)
                group.replies.append { done(.success(lease)) }
            case .extend(let ids, let forMs, let done):
                let refusal = try extend(
                    ids, untilUnixMs: now + Int64(clamping: forMs), group, transaction)
                group.replies.append { done(.success(refusal)) }
            case .hasten(let lane):
                guard let number = lanes[lane] else { continue }
                let values = Parameters(number, now)
                transaction.send(QueueSQL.hasten, values)
            case .waitingLanes(let dueForMs, let done):
                let lanes = try waitingLanes(
                    dueForMs: dueForMs, group, transaction, nowUnixMs: now)
                group.replies.append { done(.success(lanes)) }
            case .reserve(let count, let done):
                let range = IDRange.of(
                    try group.run(transaction, QueueSQL.nextRange))
                let part = range.prefix(count)
                group.replies.append {
                    done(.success(part.lowerBound..<part.lowerBound + UInt64(part.count)))
                }
            case .leave: isLeaving = true
            }
        }
        if group.isProbe { probe(transaction, nowUnixMs: now) }
        sweep(group, transaction, nowUnixMs: now)
        sendOutcomes(group, transaction, nowUnixMs: now)
        if let limits = shared.historyLimits, limits.bytesMax > 0 {
            HistoryTables.append(
                group.history, by: options.owner, transaction, nowUnixMs: now)
        }
        if !given.isEmpty, options.hasNotices {
            var values = Parameters()
            let numbers = given.sorted().prefix(300).map { "\($0)" }.joined(separator: ",")
            values.add("\(life.number):\(numbers)")
            transaction.send(QueueSQL.notify, values)
        }
        // Some events were already answered as not stored.
        if group.hasLate { throw .database(.late) }
        try group.commit(transaction)
    }

    /// Does what an event does, and takes it back.
    private func probe(_ transaction: Transaction, nowUnixMs: Int64) {
        transaction.send(Statement("", "SAVEPOINT probe"))
        let key = Parameters(
            [(0..<16).map { _ in UInt8.random(in: 0...255) }], [nowUnixMs], nowUnixMs)
        transaction.send(QueueSQL.see, key)
        var block = Parameters()
        for number in [nextID(), 0, 0, 0, 0, 0] { block.add([number]) }
        block.add([[0]] as [[UInt8]])
        transaction.send(QueueSQL.insertBlocks, block)
        transaction.send(Statement("", "ROLLBACK TO SAVEPOINT probe"))
    }

    /// Writes blocks, and remembers those that this gateway holds.
    func write(_ blocks: [Drafts.Block], _ group: Group, _ transaction: Transaction) {
        guard !blocks.isEmpty else { return }
        var numbers: [[Int64]] = Array(repeating: [], count: 6)
        var bodies: [[UInt8]] = []
        for block in blocks {
            let id = nextID()
            let row = [
                id, block.lane, block.rank, block.due, block.owner, Int64(block.deliveries.count),
            ]
            for (index, number) in row.enumerated() { numbers[index].append(number) }
            bodies.append(block.bytes)
            guard block.owner != 0 else { continue }
            let held = HeldBlock(
                id: id, lane: block.lane, rank: block.rank, left: block.deliveries.count,
                untilUnixMs: block.due)
            group.effects.append { self.holdings.take(held, block.deliveries) }
        }
        var values = Parameters()
        for column in numbers { values.add(column) }
        values.add(bodies)
        transaction.send(QueueSQL.insertBlocks, values)
    }

    private func sendOutcomes(_ group: Group, _ transaction: Transaction, nowUnixMs: Int64) {
        var packs: [OutcomePack] = []
        for case .settle(_, let pack, _) in group.jobs {
            if !pack.isEmpty { packs.append(pack) }
            group.note(pack.history)
        }
        OutcomeTables.append(packs, group, transaction, nowUnixMs: nowUnixMs) {
            self.shared.outcomes.store($0, ordering: .relaxed)
        }
    }

    private func waitingLanes(
        dueForMs: UInt64?, _ group: Group, _ transaction: Transaction, nowUnixMs: Int64
    ) throws(TransactionFault) -> [LaneKey] {
        let values = Parameters(nowUnixMs - Int64(clamping: dueForMs ?? 0))
        let lanes = try group.run(
            transaction, dueForMs == nil ? QueueSQL.waitingLanes : QueueSQL.dueLanes, values)
        try countWaiting(group, transaction)
        return (0..<lanes.count).map { LaneKey(lanes, $0, from: 0) }
    }

    /// Counts what waits, others' deliveries among it: less often the longer that takes.
    private func countWaiting(
        _ group: Group, _ transaction: Transaction
    ) throws(TransactionFault) {
        let start = SystemClock.monotonicNs
        guard start >= nextCountNs else { return }
        let waiting = Int(try group.run(transaction, QueueSQL.waiting).number(0, 0))
        let end = SystemClock.monotonicNs
        if end - start > Self.longCountNs { nextCountNs = end + (end - start) * 100 }
        // The count has seen what this transaction did.
        let delta = group.delta
        group.effects.append {
            self.shared.waiting.store(waiting - delta, ordering: .relaxed)
        }
    }
}
