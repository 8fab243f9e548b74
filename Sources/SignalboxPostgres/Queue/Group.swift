internal import SignalboxCore

/// A job for the writer.
enum QueueJob: Sendable {
    case append(StoreEntry, done: @Sendable (StoreAnswer) -> Void)
    case settle(
        [LeaseEnd], OutcomePack, done: @Sendable (Result<LeaseRefusal, StoreFailure>) -> Void)
    case lease(LaneKey, LeaseWish, done: @Sendable (Result<StoreLease, StoreFailure>) -> Void)
    case extend(
        [UInt64], forMs: UInt64, done: @Sendable (Result<LeaseRefusal, StoreFailure>) -> Void)
    case hasten(LaneKey)
    case waitingLanes(
        dueForMs: UInt64?, done: @Sendable (Result<[LaneKey], StoreFailure>) -> Void)
    case reserve(Int, done: @Sendable (Result<Range<UInt64>, StoreFailure>) -> Void)

    /// Answers that it was not done.
    func refuse(_ failure: StoreFailure) {
        switch self {
        case .append(_, let done): done(.failed(failure.message))
        case .settle(_, _, let done), .extend(_, _, let done): done(.failure(failure))
        case .lease(_, _, let done): done(.failure(failure))
        case .hasten: break
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
    /// Blocks that it takes for granted to hold.
    var blocks: [HeldBlock] = []
    /// Changes of what the writer knows.
    var effects: [() -> Void] = []
    var replies: [() -> Void] = []
    /// Its events were answered already: it took too long to learn what became of it.
    private(set) var isAbandoned = false
    private var questions: [(place: Int, read: (Rows) -> Void)] = []

    init(_ jobs: [QueueJob]) { self.jobs = jobs }

    /// Answers events whose fate is unknown. If they were stored, they are sent when their leases end, and
    /// an event that comes again is a duplicate.
    func abandon() {
        isAbandoned = true
        let failure = StoreFailure(message: "the database was lost while it stored the event")
        for job in jobs { if case .append = job { job.refuse(failure) } }
    }

    func refuse(_ failure: StoreFailure) {
        for job in jobs {
            if isAbandoned, case .append = job { continue }
            job.refuse(failure)
        }
    }

    /// The transaction begins, maybe once more, or is over.
    func reset() {
        delta = 0
        appended = 0
        blocks = []
        effects = []
        replies = []
        questions = []
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
