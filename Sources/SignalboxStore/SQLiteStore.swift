internal import GRDB
public import SignalboxCore
public import SignalboxTables
internal import SignalboxThreads

/// The embedded store: one SQLite file, one writer at a time, group commit.
///
/// Jobs that arrive during a commit go into the next one, so many requests share one fsync. A lone job is committed
/// by the worker that brings it; groups are committed by the store's thread.
public final class SQLiteStore: DeliveryQueue {
    /// How a store is set up.
    public struct Options: Sendable {
        /// Folder of the files; created if missing.
        public var folder: String
        /// A store that does not exist is an error, and nothing is created.
        public var mustExist = false
        /// Most deliveries that may wait.
        public var waitingMax = 10_000_000
        /// Lease of a delivery that its lane takes over at commit, in milliseconds.
        public var leaseMs: UInt64 = 120_000
        /// Largest database file, in bytes; 0 for no limit but the disk.
        public var bytesMax = 0
        /// Milliseconds since 1970.
        public var nowUnixMs: @Sendable () -> UInt64
        /// Receives notices, on a thread of the store.
        public var onNotice: @Sendable (StoreNotice) -> Void
        /// Free bytes on the disk of a file.
        var freeBytes: @Sendable (String) -> UInt64 = StoreFiles.freeBytes

        /// Makes options.
        public init(
            folder: String, nowUnixMs: @escaping @Sendable () -> UInt64,
            onNotice: @escaping @Sendable (StoreNotice) -> Void
        ) {
            self.folder = folder
            self.nowUnixMs = nowUnixMs
            self.onNotice = onNotice
        }
    }

    enum Job: Sendable {
        case append(StoreEntry, done: @Sendable (StoreAnswer) -> Void)
        case lease(
            LaneKey, LeaseWish, done: @Sendable (Result<StoreLease, StoreFailure>) -> Void)
        case settle(
            [LeaseEnd], OutcomePack, done: @Sendable (Result<LeaseRefusal, StoreFailure>) -> Void)
        /// Anything else; `done` gets an error message, or nil.
        case work(
            @Sendable (HotStatements, Database) throws -> Void, done: @Sendable (String?) -> Void)
        /// Work on the queue; with `mustHappen` it is retried until it succeeds.
        case queue(QueueWork, mustHappen: Bool, done: @Sendable (String?) -> Void)
    }

    /// Work on the queue. Gets the largest id in use; returns how many more deliveries wait afterwards.
    typealias QueueWork =
        @Sendable (Database, inout QueueTables, _ lastID: inout UInt64) throws -> Int

    let options: Options
    private let inbox: Gate<StoreInbox<Job>>
    /// Used only by the leading thread, see `StoreInbox`.
    private let writer: StoreWriter
    let reader: StoreReader
    let gauges: StoreGauges
    var token: LeaseToken { writer.token }
    var nowUnixMs: @Sendable () -> UInt64 { options.nowUnixMs }
    /// What it knows of the outbox.
    public let outboxState = OutboxState()
    /// Is told of rows that cannot be read.
    public let damage: DamagedRows

    /// Opens a store, or creates it.
    public static func open(_ options: Options) throws(StoreError) -> SQLiteStore {
        if options.mustExist { try SQLiteContents.require(options.folder) }
        let files = try StoreFiles(folder: options.folder)
        if let damage = LogDamage.find(database: files.path) {
            options.onNotice(.logDamaged(damage.words(database: files.path)))
        }
        let queue = try files.database(bytesMax: options.bytesMax)
        try files.requireNoCopy(queue)
        let damage = DamagedRows { options.onNotice(.damaged(count: 1, "\(files.path): \($0)")) }
        var tables = QueueTables(damage)
        let start: QueueTables.Start
        do {
            if let name = try BlockTables.takeBack(queue) {
                options.onNotice(
                    .damaged(
                        count: 0,
                        "\(files.path): deliveries that senders had taken over cannot be read; they are not "
                            + "sent, and stay in the table \(name) for a repair"))
            }
            try RowRepair(damage).run(queue)
            let opened = try queue.write { db in
                var fresh = QueueTables(damage)
                let start = try fresh.start(db)
                return (fresh, start)
            }
            tables = opened.0
            start = opened.1
        } catch {
            throw files.fault(error)
        }
        let writer = StoreWriter(queue, files, tables, options, start)
        let reader = try StoreReader(files: files)
        let inbox = Gate(StoreInbox<Job>(retryNs: writer.wakeNs))
        SystemThread.start("sbx-store") { Self.run(writer, inbox) }
        return SQLiteStore(options, inbox, writer, reader, damage)
    }

    private init(
        _ options: Options, _ inbox: Gate<StoreInbox<Job>>, _ writer: StoreWriter,
        _ reader: StoreReader, _ damage: DamagedRows
    ) {
        self.options = options
        self.inbox = inbox
        self.writer = writer
        self.reader = reader
        self.damage = damage
        gauges = writer.gauges
    }

    /// Deliveries that were committed and are not settled.
    public var waitingCount: Int { gauges.waiting.value }

    /// Only the disk's reserve is left.
    public var isDiskFull: Bool { gauges.diskFull.value > 0 }

    /// The database file was removed or replaced.
    public var isFileGone: Bool { gauges.fileGone.value > 0 }

    /// The room on its disk.
    public var figures: [StoreFigure] {
        [
            StoreFigure(
                "signalbox_disk_free_bytes", [],
                Int64(clamping: options.freeBytes(writer.files.path))),
            StoreFigure(
                "signalbox_disk_reserve_bytes", [], Int64(clamping: StoreRoom.freeBytesMin)),
        ]
    }

    /// The last write failed, outcomes cannot be written, or the log cannot be copied into the database.
    public var isFailing: Bool { gauges.failing.value > 0 || gauges.checkpoints.value > 0 }

    /// Commits an entry.
    public func append(_ entry: StoreEntry, done: @escaping @Sendable (StoreAnswer) -> Void) {
        if !submit(.append(entry, done: done)) { done(.failed("the store is closed")) }
    }

    /// Reserves ids that were never given out before.
    public func reserveIDs(
        _ count: Int, done: @escaping @Sendable (Result<Range<UInt64>, StoreFailure>) -> Void
    ) {
        submitQueue(
            { db, tables, lastID in
                let first = lastID + 1
                lastID += UInt64(count)
                try tables.keep(lastID: lastID, db)
                return (first..<lastID + 1, 0)
            }, done)
    }

    /// Leases deliveries of a lane.
    public func lease(
        _ lane: LaneKey, _ wish: LeaseWish,
        done: @escaping @Sendable (Result<StoreLease, StoreFailure>) -> Void
    ) {
        if !submit(.lease(lane, wish, done: done)) { done(.failure(Self.closed)) }
    }

    /// Makes leases last so many milliseconds from now.
    public func extend(
        _ ids: [UInt64], under token: LeaseToken, forMs: UInt64,
        done: @escaping @Sendable (Result<LeaseRefusal, StoreFailure>) -> Void
    ) {
        guard token == self.token else { return done(.success(.fenced)) }
        let until = nowUnixMs() + forMs
        submitQueue(
            { db, tables, _ in
                var refusal = LeaseRefusal()
                refusal.lost = try tables.extend(ids, untilUnixMs: until, db)
                return (refusal, 0)
            }, done)
    }

    /// Makes deliveries of a lane due that wait only for their provider to be back.
    public func hasten(_ lane: LaneKey) {
        let now = nowUnixMs()
        submitQueue({ db, tables, _ in (try tables.hasten(lane, nowUnixMs: now, db), 0) }) { _ in }
    }

    /// Lanes with deliveries that nobody has leased.
    public func waitingLanes(
        dueForMs: UInt64?, done: @escaping @Sendable (Result<[LaneKey], StoreFailure>) -> Void
    ) {
        let now = nowUnixMs()
        let due = dueForMs.map { now - min(now, $0) }
        submitQueue({ db, tables, _ in (try tables.waitingLanes(dueUnixMs: due, db), 0) }, done)
    }

    /// Calls back with lanes that a replay gave work.
    public func watch(_ onWork: @escaping @Sendable ([LaneKey]) -> Void) {
        writer.watcher.set(onWork)
    }

    /// Ends leases, and appends their outcomes in the same commit.
    public func settle(
        _ ends: [LeaseEnd], under token: LeaseToken, outcomes: OutcomePack,
        done: @escaping @Sendable (Result<LeaseRefusal, StoreFailure>) -> Void
    ) {
        guard token == self.token else { return done(.success(.fenced)) }
        if !submit(.settle(ends, outcomes, done: done)) { done(.failure(Self.closed)) }
    }

    static let closed = StoreFailure(message: "the store is closed")

    /// Runs work in the next commit, and answers with its value.
    func submitWork<Value: Sendable>(
        _ body: @escaping @Sendable (HotStatements, Database) throws -> Value,
        done: @escaping @Sendable (Result<Value, StoreFailure>) -> Void
    ) {
        let found = Carried<Value?>(nil)
        let job = Job.work({ found.set(try body($0, $1)) }) { fault in
            if fault == nil, let value = found.value { return done(.success(value)) }
            done(.failure(fault.map { StoreFailure(message: $0) } ?? Self.closed))
        }
        if !submit(job) { done(.failure(Self.closed)) }
    }

    /// Runs work on the queue in the next commit. `body` gets the largest id in use, and returns a value
    /// and how many more deliveries wait afterwards.
    func submitQueue<Value: Sendable>(
        mustHappen: Bool = false,
        _ body:
            @escaping @Sendable (
                Database, inout QueueTables, _ lastID: inout UInt64
            ) throws -> (Value, waiting: Int),
        _ done: @escaping @Sendable (Result<Value, StoreFailure>) -> Void
    ) {
        let found = Carried<Value?>(nil)
        let job = Job.queue(
            { db, tables, lastID in
                let (value, delta) = try body(db, &tables, &lastID)
                found.set(value)
                return delta
            }, mustHappen: mustHappen,
            done: { fault in
                if fault == nil, let value = found.value {
                    done(.success(value))
                } else {
                    done(.failure(fault.map { StoreFailure(message: $0) } ?? Self.closed))
                }
            })
        if !submit(job) { done(.failure(Self.closed)) }
    }

    /// The same, as an async call.
    func queueWork<Value: Sendable>(
        _ body:
            @escaping @Sendable (
                Database, inout QueueTables, _ lastID: inout UInt64
            ) throws -> (Value, waiting: Int)
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            submitQueue(body) { continuation.resume(with: $0) }
        }
    }

    /// Closes the store after all pending work.
    public func close() async {
        // First, because the writer's connection must close last: it removes the log.
        let reader = reader
        await SystemThread.value { reader.close() }
        inbox.updateAll { $0.isClosing = true }
        let inbox = inbox
        await SystemThread.value { inbox.wait(for: { $0.isClosed ? () : nil }) }
    }

    private func submit(_ job: Job) -> Bool {
        let workers = WorkerThreads.current
        var outcomes: Int?
        var caller = StoreInbox<Job>.Caller.other
        switch job {
        case .append: if workers?.hasSpare == true { caller = .spareWorker }
        case .settle(let ends, _, _):
            outcomes = ends.count
            if let workers { caller = workers.hasSpare ? .spareWorker : .worker }
        case .lease, .work, .queue: break
        }
        var duty = StoreInbox<Job>.Duty.none
        inbox.updateQuietly { inbox in
            duty = inbox.add(
                job, outcomes: outcomes, by: caller, nowNs: SystemClock.monotonicNs)
            return duty == .call
        }
        switch duty {
        case .refused: return false
        case .none, .call: break
        case .lead: lead()
        case .look(let ns): workers?.remind(self, atNs: ns) { self.lead() }
        }
        return true
    }

    /// Commits the waiting jobs on this worker thread, unless another thread already leads.
    private func lead() {
        var group: [Job] = []
        var isLeading = false
        inbox.updateQuietly { inbox in
            isLeading = inbox.lead(&group, nowNs: SystemClock.monotonicNs)
            return false
        }
        guard isLeading else { return }
        WorkerThreads.current?.forget(self)
        writer.withConnection { db in writer.commit(group, db) }
        let retryNs = writer.wakeNs
        var isClosing = false
        inbox.updateQuietly { inbox in
            isClosing = inbox.isClosing
            return inbox.led(retryNs: retryNs)
        }
        // Then the thread is not the only one that waits.
        if isClosing { inbox.updateAll { _ in } }
    }

    private static func run(_ writer: StoreWriter, _ inbox: Gate<StoreInbox<Job>>) {
        var group: [Job] = []
        var isLast = false
        while !isLast {
            isLast = inbox.wait(until: { inbox in
                inbox.take(&group, nowNs: SystemClock.monotonicNs)
            })
            writer.withConnection { db in
                repeat {
                    writer.commit(group, db)
                    group.removeAll(keepingCapacity: group.count <= 64)
                } while !isLast && Self.takesMore(&group, writer, inbox)
                if isLast { writer.finish(db) }
            }
        }
        writer.close()
        inbox.updateAll { $0.isClosed = true }
    }

    /// The group is committed; whether the thread leads again at once.
    private static func takesMore(
        _ group: inout [Job], _ writer: StoreWriter, _ inbox: Gate<StoreInbox<Job>>
    ) -> Bool {
        let retryNs = writer.wakeNs
        var isLeading = false
        inbox.updateQuietly { inbox in
            _ = inbox.led(retryNs: retryNs)
            isLeading = inbox.lead(&group, nowNs: SystemClock.monotonicNs)
            return false
        }
        return isLeading
    }
}
