internal import SignalboxCore

/// A job for the writer.
enum QueueJob: Sendable {
    /// It is answered by then.
    case append(StoreEntry, untilNs: UInt64, done: @Sendable (StoreAnswer) -> Void)
    case settle(
        [LeaseEnd], OutcomePack, done: @Sendable (Result<LeaseRefusal, StoreFailure>) -> Void)
    case lease(LaneKey, LeaseWish, done: @Sendable (Result<StoreLease, StoreFailure>) -> Void)
    case extend(
        [UInt64], forMs: UInt64, done: @Sendable (Result<LeaseRefusal, StoreFailure>) -> Void)
    case hasten(LaneKey)
    case waitingLanes(
        dueForMs: UInt64?, done: @Sendable (Result<[LaneKey], StoreFailure>) -> Void)
    case reserve(Int, done: @Sendable (Result<Range<UInt64>, StoreFailure>) -> Void)
    /// The last job: the gateway is stopping.
    case leave

    /// It may wait two more milliseconds, to share the commit of jobs that arrive by then.
    var mayLinger: Bool {
        switch self {
        case .settle, .extend, .hasten: true
        case .append, .lease, .waitingLanes, .reserve, .leave: false
        }
    }

    /// Answers that it was not done.
    func refuse(_ failure: StoreFailure) {
        switch self {
        case .append(_, _, let done): done(.failed(failure.message))
        case .settle(_, _, let done), .extend(_, _, let done): done(.failure(failure))
        case .lease(_, _, let done): done(.failure(failure))
        case .hasten, .leave: break
        case .waitingLanes(_, let done): done(.failure(failure))
        case .reserve(_, let done): done(.failure(failure))
        }
    }

    /// Answers that another life of the owner has begun.
    func fence(_ failure: StoreFailure) {
        switch self {
        case .settle(_, _, let done), .extend(_, _, let done): done(.success(.fenced))
        default: refuse(failure)
        }
    }
}

/// Jobs that share a transaction, and what follows from it once it is committed.
final class Group {
    let jobs: [QueueJob]
    /// How many more deliveries wait afterwards.
    var delta = 0
    /// How many deliveries are appended at most.
    var appended = 0
    /// Whether it asks which events are new before it stores them. If not, all are taken for new.
    var asksFirst = false
    /// It has no events, and finds out whether one would be stored.
    var isProbe = false
    /// Blocks that it takes for granted to hold.
    var blocks: [HeldBlock] = []
    /// Changes of what the writer knows.
    var effects: [() -> Void] = []
    var replies: [() -> Void] = []
    /// History that it writes.
    private(set) var history: [HistoryRow] = []
    /// Events with a deadline up to then were already answered, whether or not the transaction commits.
    private(set) var lateNs: UInt64 = 0
    /// Whether some were answered since the transaction began.
    private(set) var hasLate = false
    private var questions: [(place: Int, read: (Rows) -> Void)] = []

    init(_ jobs: [QueueJob]) { self.jobs = jobs }

    /// When the last of its events must be answered; nil if it has no events.
    var awaitedUntilNs: UInt64? {
        jobs.lazy.compactMap { if case .append(_, let untilNs, _) = $0 { untilNs } else { nil } }
            .max()
    }

    /// Answers events that have waited for too long. If they are stored after all, they are sent when their leases
    /// expire, and an event that is sent again is a duplicate. Returns how many.
    func answerLate(nowNs: UInt64) -> Int {
        var count = 0
        for case .append(_, let untilNs, let done) in jobs
        where untilNs > lateNs && untilNs <= nowNs {
            count += 1
            done(.failed(StoreFailure.slow.message))
        }
        lateNs = nowNs
        if count > 0 { hasLate = true }
        return count
    }

    /// Jobs that wait for their answers.
    var open: [QueueJob] {
        jobs.filter { if case .append(_, let untilNs, _) = $0 { untilNs > lateNs } else { true } }
    }

    /// Events that wait for their answers.
    var openEvents: Int { open.count { if case .append = $0 { true } else { false } } }

    func refuse(_ failure: StoreFailure) { for job in open { job.refuse(failure) } }

    /// The transaction begins, maybe once more, or is over.
    func reset() {
        hasLate = false
        delta = 0
        appended = 0
        blocks = []
        effects = []
        replies = []
        history = []
        questions = []
    }

    /// Adds to the history that it writes.
    func note(_ pack: HistoryPack, isDuplicate: Bool = false) {
        guard !pack.isEmpty else { return }
        if history.last.map({ $0.size > HistoryRow.bytesMax }) ?? true {
            history.append(HistoryRow())
        }
        pack.append(to: &history[history.count - 1], isDuplicate: isDuplicate)
    }

    /// Sends a statement whose rows are read with the next `finish` or `commit`.
    func ask(
        _ transaction: Transaction, _ statement: Statement, _ parameters: Parameters,
        _ read: @escaping (Rows) -> Void
    ) {
        questions.append((transaction.send(statement, parameters), read))
    }

    func finish(_ transaction: Transaction) throws(TransactionFault) {
        read(try transaction.finish())
    }

    /// Sends a statement and waits for its rows, and for those of all before it.
    func run(
        _ transaction: Transaction, _ statement: Statement, _ parameters: Parameters = Parameters()
    ) throws(TransactionFault) -> Rows {
        let place = transaction.send(statement, parameters)
        let rows = try transaction.finish()
        read(rows)
        return rows[place]
    }

    /// Rows whose answers were lost with the connection are not read.
    func commit(_ transaction: Transaction) throws(TransactionFault) {
        let rows = try transaction.commit()
        if let rows { read(rows) }
    }

    private func read(_ rows: [Rows]) {
        let asked = questions
        questions = []
        for (place, read) in asked { read(rows[place]) }
    }
}
