internal import GRDB
internal import SignalboxCore
internal import SignalboxTables
internal import SignalboxThreads

/// Commits groups of jobs: one transaction and one fsync each.
///
/// `@unchecked Sendable`: used by one thread at a time, the one that leads (see `StoreInbox`), whose lock hands it
/// from one to the next.
final class StoreWriter: @unchecked Sendable {
    private let queue: DatabaseQueue
    let files: StoreFiles
    let options: SQLiteStore.Options
    let gauges: StoreGauges
    private let checkpointer: Checkpointer
    var tables: QueueTables
    private var lastID: UInt64
    let token: LeaseToken
    let watcher = Watcher<[LaneKey]>()
    private var lastSweepMs: UInt64 = 0
    /// When the last group was committed, by the wall clock.
    private var lastUnixMs: UInt64 = 0
    /// Smaller backward clock steps are ignored.
    private static let stepMs: UInt64 = 10_000
    var room: StoreRoom
    /// When history was last deleted to free disk space.
    var gaveWayNs: UInt64 = 0
    private var health: StoreHealth
    /// Outcomes that could not be written yet. The provider has answered, so they must not be lost.
    private var retained: [SQLiteStore.Job] = []
    /// Callbacks to run once the group is on disk.
    private var reports: [Report] = []

    /// A callback with its result, as a value: a closure would cost an allocation each time.
    private enum Report {
        case appended(StoreAnswer, @Sendable (StoreAnswer) -> Void)
        case leased(StoreLease, @Sendable (Result<StoreLease, StoreFailure>) -> Void)
        case settled(LeaseRefusal, @Sendable (Result<LeaseRefusal, StoreFailure>) -> Void)
        case done(String?, @Sendable (String?) -> Void)

        func tell() {
            switch self {
            case .appended(let answer, let done): done(answer)
            case .leased(let lease, let done): done(.success(lease))
            case .settled(let refusal, let done): done(.success(refusal))
            case .done(let fault, let done): done(fault)
            }
        }
    }

    init(
        _ queue: DatabaseQueue, _ files: StoreFiles, _ tables: QueueTables,
        _ options: SQLiteStore.Options, _ start: QueueTables.Start
    ) {
        self.queue = queue
        self.files = files
        self.tables = tables
        self.options = options
        let gauges = StoreGauges(
            waiting: SharedCount(start.waiting),
            outcomes: SharedCount(Int(clamping: tables.outcomes.next)))
        self.gauges = gauges
        lastID = start.lastID
        token = start.token
        room = StoreRoom(files, bytesMax: options.bytesMax, freeBytes: options.freeBytes)
        health = StoreHealth(gauges.failing)
        checkpointer = Checkpointer(path: files.path) { [files, options] fault in
            gauges.checkpoints.set(fault == nil ? 0 : 1)
            guard let fault else { return }
            options.onNotice(
                .fault(
                    "the log cannot be copied into the database, and grows: \(files.fault(fault).message)"
                ))
        }
    }

    private var hasRetained: Bool { !retained.isEmpty }

    /// When the store has work even if no new job arrives.
    var wakeNs: UInt64? {
        if !room.isEnough { return SystemClock.monotonicNs + 100_000_000 }
        return hasRetained || health.isFailing || tables.outcomes.hasUnwritten ? health.wakeNs : nil
    }

    /// Lends the connection until `body` returns. Taking it costs as much as a statement, so the store's thread keeps
    /// it while there is something to commit.
    func withConnection(_ body: (Database) -> Void) { queue.writeWithoutTransaction(body) }

    /// Runs the jobs in one transaction and reports their results.
    func commit(_ new: [SQLiteStore.Job], _ db: Database) {
        let isDue = health.isDue
        if isDue, hasRetained || health.isFailing { retry(db) }
        if !room.isEnough || !new.isEmpty { lookForRoom(db) }
        if !new.isEmpty || (isDue && room.isEnough && tables.outcomes.hasUnwritten) {
            run(new, isShortOfRoom: false, db)
        }
    }

    /// Without the rest of their group, which may be what did not fit or what is damaged.
    private func retry(_ db: Database) {
        let known = retained
        retained = []
        var outcomes: [SQLiteStore.Job] = []
        for job in known {
            if case .settle = job, !health.isStuck {
                outcomes.append(job)
            } else {
                run([job], isShortOfRoom: true, db)
            }
        }
        if !outcomes.isEmpty { run(outcomes, isShortOfRoom: true, db) }
        health.retried(isWell: !hasRetained && canWrite(db))
    }

    /// Rewrites an existing number, so that even an idle store notices when it can write again.
    private func canWrite(_ db: Database) -> Bool {
        let probe = SQLiteStore.Job.queue(
            { db, tables, lastID in
                try tables.keep(lastID: lastID, db)
                return 0
            }, mustHappen: false, done: { _ in })
        return run([probe], isShortOfRoom: !room.isEnough, db)
    }

    @discardableResult
    private func run(_ jobs: [SQLiteStore.Job], isShortOfRoom: Bool, _ db: Database) -> Bool {
        var packs: [OutcomePack] = []
        var delta = 0
        let now = options.nowUnixMs()
        let hasEvents = jobs.contains { if case .append = $0 { true } else { false } }
        if hasEvents { lookForFile(db) }
        do {
            try transaction(db) {
                if now + Self.stepMs < lastUnixMs {
                    try tables.clockWentBack(byMs: lastUnixMs - now, nowUnixMs: now, db)
                }
                try settle(jobs, &packs, &delta, isShortOfRoom: isShortOfRoom, now, db)
                for job in jobs { try perform(job, now, db, &delta) }
                try tables.flush(nextID: &lastID, db)
                try tables.noteSeen(nowUnixMs: now, db)
                try tables.history.flush(nowUnixMs: now, tables.hot, db)
                // A group of only leases must not fail for lack of space.
                let isWriting = jobs.contains { if case .lease = $0 { false } else { true } }
                try tables.note(isShortOfRoom: isShortOfRoom || !isWriting, db)
                try sweep(db)
            }
            lastUnixMs = now
            let given = tables.committed()
            gauges.waiting.add(delta)
            if isShortOfRoom { postpone(packs) }
            gauges.outcomes.set(Int(clamping: tables.outcomes.next))
            for notice in tables.takeNotices() { options.onNotice(notice) }
            for report in reports { report.tell() }
            reports.removeAll(keepingCapacity: true)
            if !given.isEmpty { watcher.tell(Array(given)) }
            return true
        } catch {
            tables.rolledBack()
            reports.removeAll(keepingCapacity: true)
            if tables.blocks.takeFoundDamage() {
                return run(jobs, isShortOfRoom: isShortOfRoom, db)
            }
            giveUp(jobs, error, db)
            return false
        }
    }

    /// Outcomes first, and together, so that a lease in the same group sees retries that are due, and an append
    /// sees the room they made.
    private func settle(
        _ jobs: [SQLiteStore.Job], _ packs: inout [OutcomePack], _ delta: inout Int,
        isShortOfRoom: Bool, _ now: UInt64, _ db: Database
    ) throws {
        var ends: [LeaseEnd] = []
        for case .settle(let own, let pack, _) in jobs {
            if ends.isEmpty { ends = own } else { ends += own }
            if !pack.isEmpty { packs.append(pack) }
            if !isShortOfRoom { tables.history.add(pack.history) }
        }
        if !isShortOfRoom { try tables.outcomes.write(packs, nowUnixMs: now, tables.hot, db) }
        var lost: Set<UInt64> = []
        if !ends.isEmpty {
            let settled = try tables.settle(
                ends, isShortOfRoom: isShortOfRoom, nowUnixMs: now, nextID: &lastID, db)
            delta -= settled.gone
            lost = settled.lost
        }
        for case .settle(let own, _, let done) in jobs {
            var refusal = LeaseRefusal()
            if !lost.isEmpty {
                refusal.lost = own.lazy.map(\.id).filter { lost.contains($0) }
            }
            reports.append(.settled(refusal, done))
        }
    }

    /// Like `db.inTransaction`, which compiles its statements each time.
    private func transaction(_ db: Database, _ body: () throws -> Void) throws {
        try tables.hot.statement(.begin, db).run()
        do {
            try body()
            try requireTransaction(db)
            try tables.hot.statement(.commit, db).run()
        } catch {
            if db.isInsideTransaction { try? tables.hot.statement(.rollback, db).run() }
            throw error
        }
    }

    /// SQLite ends a transaction itself after some errors; nothing may be written after that.
    private func requireTransaction(_ db: Database) throws {
        guard db.isInsideTransaction else { throw DatabaseError(resultCode: .SQLITE_ABORT) }
    }

    private func perform(
        _ job: SQLiteStore.Job, _ now: UInt64, _ db: Database, _ delta: inout Int
    ) throws {
        switch job {
        case .append(let entry, let done):
            let answer = try append(entry, now, db, &delta)
            reports.append(.appended(answer, done))
        case .lease(let lane, let wish, let done):
            // A lease sees what was appended before it.
            try tables.flush(nextID: &lastID, db)
            let lease = try tables.lease(
                lane, wish, nowUnixMs: now, token, isMarked: true, nextID: &lastID, db)
            delta -= tables.takeDamagedCount()
            reports.append(.leased(lease, done))
        case .settle: break
        case .work(let body, let done):
            do {
                // Its failure must not fail the other jobs in the group.
                try db.inSavepoint {
                    try body(tables.hot, db)
                    return .commit
                }
                reports.append(.done(nil, done))
            } catch {
                try requireTransaction(db)
                let words = files.fault(error).message
                reports.append(.done(words, done))
            }
        case .queue(let body, _, let done):
            // It sees what was appended before it. Its failure rolls back the whole group, including
            // the in-memory state of the tables.
            try tables.flush(nextID: &lastID, db)
            delta += try body(db, &tables, &lastID)
            reports.append(.done(nil, done))
        }
    }

    private func append(
        _ entry: StoreEntry, _ now: UInt64, _ db: Database, _ delta: inout Int
    ) throws -> StoreAnswer {
        var count = 0
        for index in entry.items.indices { count += entry.items[index].deliveries.count }
        guard entry.isFromOutbox || gauges.waiting.value + delta + count <= options.waitingMax
        else {
            return .full
        }
        guard try hasRoom(db) else { return .diskFull("the gateway's disk is full") }
        guard gauges.fileGone.value == 0 else {
            return .failed("the gateway's database file was removed")
        }
        var commit = StoreCommit(token: token)
        for index in entry.items.indices {
            let isKnown = try tables.isDuplicate(
                entry.items[index].event, nowUnixMs: now,
                windowMs: entry.items[index].dedupeMs ?? entry.dedupeMs, db)
            tables.history.add(entry.items[index].history, isDuplicate: isKnown)
            try tables.history.flush(isWhole: false, nowUnixMs: now, tables.hot, db)
            if isKnown {
                commit.duplicates.insert(index)
                continue
            }
            try tables.seen.remember(
                entry.items[index].shown, nowUnixMs: now, tables.hot, db)
            let isCounted = !entry.items[index].badges.isEmpty
            if isCounted {
                var item = entry.items[index]
                commit.badges[index] = try countBadges(&item, db)
                delta -= try insert(item, entry.receivedUnixMs, now, db)
            } else {
                delta -= try insert(entry.items[index], entry.receivedUnixMs, now, db)
            }
            delta += entry.items[index].deliveries.count
        }
        return .committed(commit)
    }

    /// Applies an item's badge steps to its deliveries. Returns the number after each step.
    private func countBadges(_ item: inout StoreEntry.Item, _ db: Database) throws -> [Int32?] {
        let link = SQLiteTables(tables.hot, db)
        return try item.badges.map { step in
            let number = try BadgeTable.number(after: step.number, of: step.user, link)
            if let number {
                for place in step.places { item.deliveries[place].badge = number }
            }
            return number
        }
    }

    /// Returns how many older reports the item replaced.
    private func insert(
        _ item: StoreEntry.Item, _ receivedUnixMs: UInt64, _ now: UInt64, _ db: Database
    ) throws -> Int {
        try tables.insert(
            item, receivedUnixMs: receivedUnixMs, nowUnixMs: now,
            leaseUntilUnixMs: now + options.leaseMs,
            nextID: &lastID, db)
    }

    private func sweep(_ db: Database) throws {
        let now = options.nowUnixMs()
        guard now > lastSweepMs + 10_000 || now < lastSweepMs else { return }
        lastSweepMs = now
        lookForFile(db)
        try tables.forgetSeen(nowUnixMs: now, db)
        try tables.history.trim(
            max: HistoryTables.sweepMax, nowUnixMs: now, tables.hot, db)
        for (name, count) in try tables.outcomes.trim(nowUnixMs: now, db) {
            options.onNotice(.outcomesLost(receiver: name, count: count))
        }
    }

    private func postpone(_ packs: [OutcomePack]) {
        let lost = tables.outcomes.postpone(packs)
        if lost > 0 { options.onNotice(.outcomesLost(receiver: "", count: lost)) }
    }

    /// The group failed: requests get the error, outcomes are kept for the next try.
    private func giveUp(_ jobs: [SQLiteStore.Job], _ error: any Error, _ db: Database) {
        let words = files.fault(error).message
        if error is DatabaseError { health.failed() }
        options.onNotice(.fault(words))
        for job in jobs {
            switch job {
            case .append(_, let done): done(.failed(words))
            case .lease(let lane, let wish, let done): done(leaseUnmarked(lane, wish, words, db))
            case .settle, .queue(_, true, _): retained.append(job)
            case .work(_, let done), .queue(_, false, let done): done(words)
            }
        }
    }

    /// A full disk cannot record a lease. Deliveries are leased anyway, since only sending
    /// them frees room. The lane knows which ones it holds, and a crash releases them all.
    private func leaseUnmarked(
        _ lane: LaneKey, _ wish: LeaseWish, _ words: String, _ db: Database
    ) -> Result<StoreLease, StoreFailure> {
        do {
            var out = try db.readOnly {
                try tables.lease(
                    lane, wish, nowUnixMs: options.nowUnixMs(), token, isMarked: false,
                    nextID: &lastID, db)
            }
            // The lane asks again later; asked at once, it would get the same ones.
            out.hasMore = false
            out.nextDueInMs = 200
            return .success(out)
        } catch {
            // Deliveries leased before the error reach no lane and must not wait for their lease to end.
            tables.rolledBack()
            return .failure(StoreFailure(message: words))
        }
    }

    /// Tries for up to 2 seconds to write what is still unwritten.
    func finish(_ db: Database) {
        let deadline = SystemClock.monotonicNs + 2_000_000_000
        let pause = Gate(())
        while hasRetained || (room.isEnough && tables.outcomes.hasUnwritten),
            SystemClock.monotonicNs < deadline
        {
            let until = SystemClock.monotonicNs + 50_000_000
            pause.wait(until: { _ in (SystemClock.monotonicNs >= until ? () : nil, until) })
            health.hurry()
            commit([], db)
        }
        for job in retained {
            switch job {
            case .settle(_, _, let done): done(.failure(SQLiteStore.closed))
            case .queue(_, _, let done): done(SQLiteStore.closed.message)
            case .append, .lease, .work: break
            }
        }
    }

    /// Closes the file.
    func close() {
        checkpointer.stop()
        tables.close()
        try? queue.close()
        files.unlock()
    }
}
