internal import GRDB
public import SignalboxCore
internal import SignalboxThreads
internal import Synchronization

/// The embedded store: one SQLite file, one writing thread, group commit.
///
/// Whatever is asked for while a commit is on its way to the disk is done in the next one, so many
/// requests share one fsync.
public final class SQLiteStore: DeliveryStore {
    /// How a store is set up.
    public struct Options: Sendable {
        /// Folder of the files; made if it is not there.
        public var folder: String
        /// Most deliveries that wait.
        public var waitingMax = 10_000_000
        /// How long a lease of a delivery that is taken over at once lasts, in milliseconds.
        public var leaseMs: UInt64 = 120_000
        /// Largest database file, in bytes; 0: as large as the disk allows.
        public var bytesMax = 0
        /// Milliseconds since 1970.
        public var nowUnixMs: @Sendable () -> UInt64
        /// Told of what the store notices beside its answers.
        public var onNotice: @Sendable (StoreNotice) -> Void

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
        case lease(LaneKey, LeaseWish, done: @Sendable (StoreLease) -> Void)
        case settle([StoreChange], OutcomePack, done: @Sendable () -> Void)
        /// Anything else; `done` gets what went wrong, or nil.
        case work(
            @Sendable (Database, () -> UInt64) throws -> Void, done: @Sendable (String?) -> Void)
        /// Something with the queue; one that `mustHappen` is tried until it succeeds.
        case queue(QueueWork, mustHappen: Bool, done: @Sendable (String?) -> Void)
    }

    /// A job with the queue; it gets the largest id in use, and says how many more deliveries wait afterwards.
    typealias QueueWork =
        @Sendable (Database, inout QueueTables, _ lastID: inout UInt64) throws -> Int

    private struct Inbox {
        var jobs: [Job] = []
        var isClosing = false
        var isClosed = false
    }

    /// The largest id that was ever used.
    public let lastID: UInt64
    private let inbox: Gate<Inbox>
    private let waiting: SharedCount
    private let diskFull: SharedCount
    private let fileGone: SharedCount
    let outcomes: SharedCount
    let nowUnixMs: @Sendable () -> UInt64
    let reader: StoreReader

    /// Opens or makes a store.
    public static func open(_ options: Options) throws(StoreError) -> SQLiteStore {
        let files = try StoreFiles(folder: options.folder)
        let queue = try files.database(bytesMax: options.bytesMax)
        var tables = QueueTables()
        let start: QueueTables.Start
        do {
            let opened = try queue.write { db in
                var fresh = QueueTables()
                let start = try fresh.start(db)
                return (fresh, start)
            }
            tables = opened.0
            start = opened.1
        } catch {
            throw files.fault(error)
        }
        let inbox = Gate(Inbox())
        let waiting = SharedCount(start.waiting)
        let diskFull = SharedCount(0)
        let fileGone = SharedCount(0)
        let outcomes = SharedCount(Int(clamping: tables.outcomes.next))
        let writer = StoreWriter(
            queue: queue, files: files, tables: tables, options: options, waiting: waiting,
            diskFull: diskFull, fileGone: fileGone, outcomes: outcomes, lastID: start.lastID)
        let reader = try StoreReader(files: files)
        SystemThread.start("sbx-store") { Self.run(writer, inbox) }
        return SQLiteStore(
            start, inbox, waiting, diskFull, fileGone, outcomes, reader,
            nowUnixMs: options.nowUnixMs)
    }

    private init(
        _ start: QueueTables.Start, _ inbox: Gate<Inbox>, _ waiting: SharedCount,
        _ diskFull: SharedCount, _ fileGone: SharedCount, _ outcomes: SharedCount,
        _ reader: StoreReader,
        nowUnixMs: @escaping @Sendable () -> UInt64
    ) {
        // Ids between here and the next block were perhaps given out by the process of before.
        lastID = start.lastID
        self.inbox = inbox
        self.waiting = waiting
        self.diskFull = diskFull
        self.fileGone = fileGone
        self.outcomes = outcomes
        self.nowUnixMs = nowUnixMs
        self.reader = reader
    }

    /// Deliveries that were committed and are not settled.
    public var waitingCount: Int { waiting.value }

    /// The disk has no room left but its reserve.
    public var isDiskFull: Bool { diskFull.value > 0 }

    /// The database file was removed or replaced.
    public var isFileGone: Bool { fileGone.value > 0 }

    /// Commits an entry.
    public func append(_ entry: StoreEntry, done: @escaping @Sendable (StoreAnswer) -> Void) {
        if !submit(.append(entry, done: done)) { done(.failed("the store is closed")) }
    }

    /// Lends deliveries of a lane.
    public func lease(
        _ lane: LaneKey, _ wish: LeaseWish, done: @escaping @Sendable (StoreLease) -> Void
    ) {
        if !submit(.lease(lane, wish, done: done)) { done(StoreLease()) }
    }

    /// Makes deliveries of a lane due that wait only for their provider to be back.
    public func hasten(_ lane: LaneKey, nowUnixMs: UInt64) {
        submitQueue({ db, tables, _ in
            try tables.hasten(lane, nowUnixMs: nowUnixMs, db)
            return 0
        }) { _ in }
    }

    /// Lanes with deliveries that nobody has leased.
    public func waitingLanes(
        dueUnixMs: UInt64?, done: @escaping @Sendable ([LaneKey]) -> Void
    ) {
        let found = Carried<[LaneKey]>([])
        submitQueue({ db, tables, _ in
            let lanes = try tables.waitingLanes(dueUnixMs: dueUnixMs, db)
            found.set(lanes)
            return 0
        }) { _ in done(found.value) }
    }

    /// Ends leases, and tells of their ends in the same commit.
    public func settle(
        _ changes: [StoreChange], outcomes: OutcomePack, done: @escaping @Sendable () -> Void
    ) {
        if !submit(.settle(changes, outcomes, done: done)) { done() }
    }

    func submitWork(
        _ body: @escaping @Sendable (Database, () -> UInt64) throws -> Void,
        _ done: @escaping @Sendable (String?) -> Void
    ) {
        if !submit(.work(body, done: done)) { done("the store is closed") }
    }

    func submitQueue(
        mustHappen: Bool = false, _ body: @escaping QueueWork,
        _ done: @escaping @Sendable (String?) -> Void
    ) {
        let job = Job.queue(body, mustHappen: mustHappen, done: done)
        if !submit(job) { done("the store is closed") }
    }

    /// Deliveries came back from elsewhere than an append.
    func addWaiting(_ count: Int) { waiting.add(count) }

    /// Ends the store once everything that was asked for is done.
    public func close() async {
        // First, since the writer's connection must be the last: it tidies the files up.
        let reader = reader
        await SystemThread.value { reader.close() }
        inbox.updateAll { $0.isClosing = true }
        let inbox = inbox
        await SystemThread.value { inbox.wait(for: { $0.isClosed ? () : nil }) }
    }

    private func submit(_ job: Job) -> Bool {
        var isTaken = false
        inbox.updateAll { inbox in
            guard !inbox.isClosing else { return }
            inbox.jobs.append(job)
            isTaken = true
        }
        return isTaken
    }

    private static let groupMax = 4_096

    private static func run(_ writer: StoreWriter, _ inbox: Gate<Inbox>) {
        while true {
            let wakeNs = writer.isWaiting ? SystemClock.monotonicNs + 100_000_000 : nil
            let (jobs, isClosing): ([Job], Bool) = inbox.wait(until: { inbox in
                let isDue = wakeNs.map { SystemClock.monotonicNs >= $0 } ?? false
                guard inbox.isClosing || !inbox.jobs.isEmpty || isDue else { return (nil, wakeNs) }
                let part = Array(inbox.jobs.prefix(groupMax))
                inbox.jobs.removeFirst(part.count)
                return ((part, inbox.isClosing && inbox.jobs.isEmpty), nil)
            })
            writer.commit(jobs)
            if isClosing {
                writer.close()
                inbox.updateAll { $0.isClosed = true }
                return
            }
        }
    }
}

/// What a store notices beside its answers.
public enum StoreNotice: Sendable {
    /// Something could not be written; the store goes on trying.
    case fault(String)
    /// So many deliveries cannot be read, and are dead letters now.
    case damaged(count: Int, String)
    /// Nothing more is appended: the disk has no room left but its reserve.
    case diskFull(String)
    /// There is room again.
    case diskHasRoom(String)
    /// The database file was removed or replaced: what is committed now is lost when the process ends.
    case fileGone(String)
    /// The database file is where it was.
    case fileIsBack(String)
    /// So many outcomes are lost to a receiver of them: they were too old or too many. Without a name: to all
    /// of them, since the disk was full.
    case outcomesLost(receiver: String, count: Int)

    /// Words for a log.
    public var text: String {
        switch self {
        case .fault(let text), .damaged(_, let text), .diskFull(let text), .diskHasRoom(let text),
            .fileGone(let text), .fileIsBack(let text):
            text
        case .outcomesLost(_, let count): "\(count) outcomes are lost"
        }
    }
}

/// A number that one thread writes and others read.
final class SharedCount: Sendable {
    private let number: Atomic<Int>

    init(_ value: Int) { number = Atomic(value) }

    var value: Int { number.load(ordering: .relaxed) }

    func set(_ value: Int) { number.store(value, ordering: .relaxed) }

    func add(_ delta: Int) { number.wrappingAdd(delta, ordering: .relaxed) }
}
