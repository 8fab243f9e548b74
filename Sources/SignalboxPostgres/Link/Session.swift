internal import SignalboxCore
internal import SignalboxThreads

/// One life of an owner, as the database knows it.
struct Life: Sendable {
    /// Unique among all lives of all owners; leases name it.
    var number: Int64
    var token: LeaseToken
}

/// A connection that is made again when it is lost, and the transactions on it.
///
/// Used by one thread at a time.
final class Session {
    /// How long the database may take to commit before the connection is given up.
    static let commitMaxNs: UInt64 = 10_000_000_000
    /// How long those wait for an answer that a commit concerns whose fate is unknown.
    private static let unknownMaxNs: UInt64 = 5_000_000_000
    /// How long statements may take by default.
    static let statementsMaxNs: UInt64 = 10_000_000_000
    /// How often a transaction is tried again that another one was in the way of.
    private static let triesMax = 8
    /// Marks that are kept.
    private static let marksMax: Int64 = 64

    let clock: DatabaseClock
    private let address: PostgresAddress
    private let usesNames: Bool
    private let life: Life
    /// Sessions of one life write their marks in channels of their own.
    private let channel: Int64
    private var number: Int64 = 0
    private var link: PostgresLink?
    /// Called now and then while it waits for the database.
    var pause: () -> Void = {}
    /// The connection was lost under a commit, or is there again.
    var turned: (StoreFailure?) -> Void = { _ in }
    /// It takes long to learn what became of a commit.
    var waitsLong: () -> Void = {}
    /// Whether to go on asking what became of a commit, after so many nanoseconds.
    var goesOn: (UInt64) -> Bool = { _ in true }

    init(
        _ address: PostgresAddress, usesNames: Bool, _ life: Life, channel: Int64,
        _ clock: DatabaseClock
    ) {
        self.address = address
        self.usesNames = usesNames
        self.life = life
        self.channel = channel
        self.clock = clock
    }

    var isConnected: Bool { link?.isAlive == true }

    /// Connects, if it is not.
    func connect() throws(PostgresFault) { _ = try live() }

    private func live() throws(PostgresFault) -> PostgresLink {
        if let link, !link.hasEnded() { return link }
        link = nil
        let made = try Self.open(address, usesNames: usesNames)
        link = made
        return made
    }

    /// A connection whose statements and transactions end by themselves if this process is gone without a word.
    static func open(
        _ address: PostgresAddress, usesNames: Bool
    ) throws(PostgresFault) -> PostgresLink {
        let made = try PostgresLink(address, usesNames: usesNames)
        guard usesNames else { return made }
        made.send(Statement("", "SET statement_timeout = '15s'"))
        made.send(Statement("", "SET idle_in_transaction_session_timeout = '15s'"))
        _ = try made.finish(byNs: SystemClock.monotonicNs + commitMaxNs)
        return made
    }

    func mark(_ number: Int64) -> Parameters {
        var out = Parameters()
        out.add(life.token.owner)
        out.add(life.number)
        out.add(channel)
        out.add(number)
        return out
    }

    /// Runs statements as one transaction. `body` may be called again, if another transaction was in its way; it ends
    /// with `commit`, or leaves that to this.
    ///
    /// When this throws, nothing was changed.
    func transaction<Value>(
        maxNs: UInt64 = statementsMaxNs,
        _ body: (Transaction) throws(TransactionFault) -> Value
    ) throws(TransactionFault) -> Value {
        var tries = 0
        while true {
            tries += 1
            let link: PostgresLink
            do throws(PostgresFault) { link = try live() } catch { throw .database(error) }
            number += 1
            let transaction = Transaction(
                link, self, number: number, deadlineNs: SystemClock.monotonicNs + maxNs)
            do throws(TransactionFault) {
                let value = try body(transaction)
                if !transaction.isOver { _ = try transaction.commit() }
                if number % Self.marksMax == 0 { forgetMarks() }
                return value
            } catch {
                guard case .database(let fault) = error else {
                    transaction.rollBack()
                    throw error
                }
                if fault.kind == .refused, !fault.isAway {
                    transaction.rollBack()
                    if fault.isPassing, tries < Self.triesMax { continue }
                } else {
                    self.link = nil
                }
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
            throw error
        }
    }

    /// Asks what became of a commit whose answer was lost; until the database says so, whatever that takes.
    func wasCommitted(
        _ number: Int64, _ lost: PostgresFault
    ) throws(TransactionFault) -> Bool {
        let start = SystemClock.monotonicNs
        var pauses = Pauses()
        var hasWaitedLong = false
        link = nil
        turned(lost.failure)
        defer { if isConnected { turned(nil) } }
        while goesOn(SystemClock.monotonicNs - start) {
            pause()
            if !hasWaitedLong, SystemClock.monotonicNs - start > Self.unknownMaxNs {
                hasWaitedLong = true
                waitsLong()
            }
            do throws(PostgresFault) {
                let found = try live().run(
                    MarkSQL.claim, claim(number),
                    byNs: SystemClock.monotonicNs + Self.commitMaxNs)
                return found.count == 0
            } catch {
                link = nil
                pauses.wait(pause)
            }
        }
        throw .database(lost)
    }

    private func claim(_ number: Int64) -> Parameters {
        var out = Parameters()
        out.add(life.number)
        out.add(channel)
        out.add(number)
        return out
    }

    private func forgetMarks() {
        guard let link else { return }
        // It is tried again with later ones.
        _ = try? link.run(
            MarkSQL.forget, claim(number - Self.marksMax),
            byNs: SystemClock.monotonicNs + Self.statementsMaxNs)
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
