internal import SignalboxCore
internal import SignalboxThreads

/// A connection that is made again when it is lost, and the transactions on it.
///
/// Used by one thread at a time.
final class Session {
    /// How long a commit may take before this asks for its outcome on a new connection.
    static let commitMaxNs: UInt64 = 5_000_000_000
    /// How long statements may take by default.
    static let statementsMaxNs: UInt64 = 10_000_000_000
    /// How long a job waits for a lock that is not free, unless it has more time.
    var patienceNs: UInt64 = 1_000_000_000
    /// How long a job waits for a connection that has to be made again.
    private static let connectMaxNs: UInt64 = 700_000_000
    /// How often it looks up while it waits.
    private static let stepNs: UInt64 = 100_000_000
    /// How often a transaction is tried again that another one was in the way of.
    private static let triesMax = 8
    /// Marks that are kept.
    private static let marksMax: Int64 = 64

    let clock: DatabaseClock
    private let connector: Connector
    private let life: Life
    let tally = ConnectionTally()
    /// Sessions of one life write their marks in channels of their own.
    private let channel: Int64
    private var number: Int64 = 0
    /// The life of the latest transaction: a gateway may begin another life while it asks for a commit's outcome.
    private var lifeNumber: Int64
    private var link: PostgresLink?
    /// Called now and then while it waits for the database: by its thread, and by who uses it at the moment.
    var pauses: (thread: () -> Void, user: () -> Void) = ({}, {})
    /// The connection was lost during a commit, or is back.
    var turned: (StoreFailure?) -> Void = { _ in }
    /// Whether to keep asking for a commit's outcome, after so many nanoseconds.
    var goesOn: (UInt64) -> Bool = { _ in true }

    init(
        _ address: PostgresAddress, usesNames: Bool, _ life: Life, channel: Int64,
        _ clock: DatabaseClock
    ) {
        connector = Connector(address, usesNames: usesNames)
        self.life = life
        lifeNumber = life.number
        self.channel = channel
        self.clock = clock
    }

    var isConnected: Bool { link?.isAlive == true }

    func pause() {
        pauses.thread()
        pauses.user()
    }

    /// Connects, if it is not.
    func connect() throws(PostgresFault) { _ = try live() }

    private func live() throws(PostgresFault) -> PostgresLink {
        if let link, !link.hasEnded() { return link }
        link = nil
        let endNs = SystemClock.monotonicNs + Self.connectMaxNs
        while true {
            let now = SystemClock.monotonicNs
            if let made = try connector.link(byNs: min(endNs, now + Self.stepNs)) {
                tally.connected()
                made.pause = { [unowned self] in pause() }
                link = made
                return made
            }
            pause()
            guard SystemClock.monotonicNs < endNs else {
                throw PostgresFault(kind: .lost, message: "connecting takes long")
            }
        }
    }

    func mark(_ number: Int64) -> Parameters {
        let out = Parameters(life.token.owner, lifeNumber, channel, number)
        return out
    }

    /// Runs statements as one transaction. `body` may be called again, if another transaction was in its way; it ends
    /// with `commit`, or leaves that to this.
    ///
    /// When this throws, nothing was changed.
    func transaction<Value>(
        byNs deadlineNs: UInt64? = nil,
        _ body: (Transaction) throws(TransactionFault) -> Value
    ) throws(TransactionFault) -> Value {
        let startNs = SystemClock.monotonicNs
        let lockedUntilNs = deadlineNs ?? startNs + patienceNs
        let deadlineNs = deadlineNs ?? startNs + Self.statementsMaxNs
        var tries = 0
        while true {
            tries += 1
            let link: PostgresLink
            do throws(PostgresFault) { link = try live() } catch { throw .database(error) }
            number += 1
            lifeNumber = life.number
            let transaction = Transaction(
                link, self, number: number, deadlineNs: deadlineNs)
            do throws(TransactionFault) {
                let value = try body(transaction)
                if !transaction.isOver { _ = try transaction.commit() }
                return value
            } catch {
                guard case .database(let fault) = error else {
                    transaction.rollBack()
                    throw error
                }
                if fault.kind == .refused, !fault.isAway {
                    transaction.rollBack()
                    let now = SystemClock.monotonicNs
                    // The server ends a lock wait, not this code, so the connection stays usable.
                    let mayPass =
                        fault.isLocked
                        ? now + Limits().lockMs * 1_000_000 < lockedUntilNs
                        : fault.isPassing && now < deadlineNs && tries < Self.triesMax
                    if mayPass {
                        pause()
                        continue
                    }
                } else if self.link === link {
                    self.link = nil
                }
                tally.failed(fault)
                throw error
            }
        }
    }

    /// Look-ups without a transaction of their own.
    func look<Value>(
        _ body: (PostgresLink, _ deadlineNs: UInt64) throws(PostgresFault) -> Value
    ) throws(PostgresFault) -> Value {
        let link = try live()
        do throws(PostgresFault) {
            return try body(link, SystemClock.monotonicNs + Self.statementsMaxNs)
        } catch {
            if error.kind != .refused || error.isAway { self.link = nil }
            tally.failed(error)
            throw error
        }
    }

    /// Asks for the outcome of a commit whose answer was lost, until the database tells it, however long that takes.
    func wasCommitted(
        _ number: Int64, _ lost: PostgresFault
    ) throws(TransactionFault) -> Bool {
        let start = SystemClock.monotonicNs
        var waits = Pauses()
        link = nil
        turned(lost.failure)
        defer { if isConnected { turned(nil) } }
        while goesOn(SystemClock.monotonicNs - start) {
            pause()
            do throws(PostgresFault) {
                let link = try live()
                return try ask(MarkSQL.claim, number, link).count == 0
            } catch {
                // The commit is still in progress if its mark is locked.
                if error.kind != .refused || error.isAway { link = nil }
                waits.wait(pause)
            }
        }
        throw .database(lost)
    }

    private func ask(
        _ statement: Statement, _ number: Int64, _ link: PostgresLink
    ) throws(PostgresFault) -> Rows {
        link.send(statement, claim(number))
        let rows = try link.finish(byNs: SystemClock.monotonicNs + Self.commitMaxNs)
        guard let found = rows.first else {
            throw PostgresFault(kind: .lost, message: "the server gave no answer")
        }
        return found
    }

    private func claim(_ number: Int64) -> Parameters {
        let out = Parameters(lifeNumber, channel, number)
        return out
    }

    /// Marks that are old enough to be deleted; nil if that is not due yet. Below the range are dead index entries,
    /// while somebody keeps an old snapshot.
    var oldMarks: Parameters? {
        guard number % Self.marksMax == 0 else { return nil }
        var range = claim(number - 4 * Self.marksMax)
        range.add(number - Self.marksMax)
        return range
    }
}

/// Waits between tries to connect: longer each time, and never the same for two gateways.
struct Pauses {
    private var nextMs: UInt64 = 50
    private static let maxMs: UInt64 = 2_000

    /// The next wait, in nanoseconds.
    mutating func nextNs() -> UInt64 {
        defer { nextMs = min(Self.maxMs, nextMs * 2) }
        return UInt64.random(in: nextMs / 2...nextMs) * 1_000_000
    }

    mutating func wait(_ pause: () -> Void) {
        let end = SystemClock.monotonicNs + nextNs()
        let gate = Gate(())
        while SystemClock.monotonicNs < end {
            let until = min(end, SystemClock.monotonicNs + 100_000_000)
            gate.wait(until: { _ in (SystemClock.monotonicNs >= until ? () : nil, until) })
            pause()
        }
    }
}
