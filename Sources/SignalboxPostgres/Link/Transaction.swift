internal import SignalboxCore
internal import SignalboxThreads

/// Why a transaction did not happen.
enum TransactionFault: Error {
    /// The database refused something, or is away. Nothing was changed.
    case database(PostgresFault)
    /// Another life of this owner has begun: this one no longer holds anything.
    case fenced
    /// Another gateway has taken over what this one believed to hold.
    case takenOver
    /// An event that was taken for new was stored before.
    case known
    /// The caller's request cannot be done.
    case failure(StoreFailure)

    func failure(owner: String) -> StoreFailure {
        switch self {
        case .database(let fault): fault.failure
        case .fenced: StoreFailure(message: "another gateway named \(owner) has started")
        case .takenOver: StoreFailure(message: "another gateway took over these deliveries")
        case .known: StoreFailure(message: "an event is stored already")
        case .failure(let failure): failure
        }
    }
}

/// A transaction in progress. Without `commit` it has no effect.
final class Transaction {
    private let link: PostgresLink
    private let session: Session
    private let number: Int64
    private(set) var isOver = false
    private var isFirst = true
    /// Statements before those of the caller.
    private let leadCount = 2
    /// How long its statements may take together, before it commits.
    var deadlineNs: UInt64

    init(_ link: PostgresLink, _ session: Session, number: Int64, deadlineNs: UInt64) {
        self.link = link
        self.session = session
        self.number = number
        self.deadlineNs = deadlineNs
        link.send(.begin)
        link.send(MarkSQL.write, session.mark(number))
    }

    /// Sends a statement. Returns its place in what the next `finish` or `commit` gives.
    @discardableResult
    func send(_ statement: Statement, _ parameters: Parameters = Parameters()) -> Int {
        link.send(statement, parameters) - (isFirst ? leadCount : 0)
    }

    /// Waits for the rows of what was sent.
    func finish() throws(TransactionFault) -> [Rows] {
        do throws(PostgresFault) {
            return began(try link.finish(byNs: deadlineNs))
        } catch {
            throw translated(error)
        }
    }

    func run(
        _ statement: Statement, _ parameters: Parameters = Parameters()
    ) throws(TransactionFault) -> Rows {
        let place = send(statement, parameters)
        return try finish()[place]
    }

    /// Commits. Returns the rows of the statements sent before; nil if it was committed but the answers were lost.
    func commit() throws(TransactionFault) -> [Rows]? {
        if let old = session.oldMarks { link.send(MarkSQL.forget, old) }
        link.send(.commit)
        isOver = true
        let startNs = SystemClock.monotonicNs
        defer { session.tally.committed(inNs: SystemClock.monotonicNs - startNs) }
        do throws(PostgresFault) {
            return began(try link.finish(byNs: startNs + Session.commitMaxNs))
        } catch {
            // A server that closes the connection sends an error, even if it has already committed.
            guard error.kind != .refused || error.isEnd else {
                // A refused statement before it ended the transaction, not the commit.
                isOver = false
                throw translated(error)
            }
            if try session.wasCommitted(number, error) { return nil }
            throw .database(error)
        }
    }

    private func began(_ rows: [Rows]) -> [Rows] {
        guard isFirst else { return rows }
        isFirst = false
        if rows.count > 1, rows[1].count > 0 { session.clock.hear(rows[1].number(0, 0)) }
        return Array(rows.dropFirst(leadCount))
    }

    private func translated(_ fault: PostgresFault) -> TransactionFault {
        guard fault.kind == .refused else { return .database(fault) }
        return switch fault.sqlState {
        // A division by zero is how a statement says that it did not find what it had to.
        case "22012": isFirst && fault.statement == 1 ? .fenced : .takenOver
        // The root of a negative number is how it says that it found too much.
        case "2201F": .known
        default: .database(fault)
        }
    }

    /// Rolls back a failed transaction; the connection stays usable.
    func rollBack() {
        guard !isOver else { return }
        isOver = true
        link.send(.rollback)
        _ = try? link.finish(byNs: SystemClock.monotonicNs + Session.commitMaxNs)
    }
}

/// The marks that decide whether a transaction was committed.
///
/// Every transaction writes a mark of its own. When the connection is lost during a commit, the gateway writes the same
/// mark: if it exists, the transaction was committed; if not, it can no longer be committed.
enum MarkSQL {
    /// Fails if another life of the owner has begun, and keeps one from beginning until the commit.
    static let write = Statement(
        "mark",
        """
        WITH life AS (SELECT life FROM signalbox.gateway WHERE name = $1::text AND life = $2::bigint
            FOR SHARE),
          mark AS (INSERT INTO signalbox.mark (part, life, channel, n)
            SELECT \(CurrentHalf.of("mark")), life, $3::bigint, $4::bigint FROM life RETURNING 1)
        SELECT \(ClockSQL.nowMs) / (SELECT count(*) FROM mark)
        """)

    /// One row: the mark was missing, and never will be written. The same if it is asked again.
    ///
    /// It always writes. A commit that was interrupted while it waited for the standby is visible before it is safe;
    /// one that follows it is safe only together with it.
    static let claim = Statement(
        "claim",
        """
        WITH claim AS (INSERT INTO signalbox.mark AS m (part, life, channel, n, is_claim)
          SELECT part, $1::bigint, $2::bigint, $3::bigint, true
          FROM (VALUES (0::bigint), (1::bigint)) AS halves (part)
          ON CONFLICT (life, channel, n, part) DO UPDATE SET is_claim = m.is_claim
          RETURNING m.is_claim)
        SELECT 1 FROM claim HAVING bool_and(is_claim)
        """)

    static let forget = Statement(
        "forget_marks",
        """
        DELETE FROM signalbox.mark
        WHERE life = $1::bigint AND channel = $2::bigint AND n >= $3::bigint AND n < $4::bigint
        """
    )
}
