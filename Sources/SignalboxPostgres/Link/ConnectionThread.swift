internal import SignalboxCore
internal import SignalboxThreads

/// A thread with a connection, and jobs that wait for it.
///
/// While the database is away, jobs are refused at once and the thread keeps reconnecting, so that no caller waits
/// for a connection.
final class ConnectionThread<Job: Sendable>: Sendable {
    private struct Entry {
        var job: Job
        /// When it is refused if it has not begun.
        var untilNs: UInt64?
        /// It waits until the database is back.
        var isPatient = false
    }

    private struct Inbox {
        var entries: [Entry] = []
        /// Until when the entries may wait for others; nil if they may not wait.
        var lingerEndNs: UInt64?
        var away: StoreFailure?
        var isClosing = false
        var isClosed = false
    }

    /// What a thread does with its jobs.
    struct Duties: Sendable {
        /// How many jobs are taken at a time.
        var groupMax = 1
        /// How long jobs that `mayLinger` wait for others, counted from the first one.
        var lingerNs: UInt64 = 0
        var mayLinger: @Sendable (Job) -> Bool = { _ in false }
        /// How often the thread does its periodic work, busy or not.
        var restNs: @Sendable () -> UInt64? = { nil }
        /// Runs jobs, or the periodic work if there are no jobs. Returns the failure if the database is away.
        var perform: @Sendable ([Job], Session) -> StoreFailure?
        var refuse: @Sendable (Job, StoreFailure) -> Void
        /// The database is away, or back.
        var turned: @Sendable (StoreFailure?) -> Void = { _ in }
    }

    /// Jobs that wait at most while the database is away.
    private static var patientMax: Int { 10_000 }

    static var closed: StoreFailure { StoreFailure(message: "the store is closed") }

    private let inbox = Gate(Inbox())
    private let duties: Duties
    private let tally: ConnectionTally

    /// Starts the thread; `session` is used by it alone from now on.
    init(_ name: String, _ session: Lent<Session>, _ duties: Duties) {
        self.duties = duties
        tally = session.value.tally
        SystemThread.start(name) { self.run(session.value) }
    }

    /// Why nothing can be done now; nil if the database is available.
    var away: StoreFailure? { inbox.update { $0.away } }

    /// For metrics.
    func figures(_ name: String) -> [StoreFigure] {
        tally.figures(desk: name, waiting: inbox.update { $0.entries.count })
    }

    /// Takes a job. Returns why not.
    ///
    /// A patient one waits until the database is back, as long as there are not too many.
    func submit(_ job: Job, untilNs: UInt64? = nil, isPatient: Bool = false) -> StoreFailure? {
        var refusal: StoreFailure?
        inbox.updateQuietly { inbox in
            refusal = inbox.isClosing ? Self.closed : inbox.away
            if isPatient, !inbox.isClosing, inbox.entries.count < Self.patientMax { refusal = nil }
            guard refusal == nil else { return false }
            inbox.entries.append(Entry(job: job, untilNs: untilNs, isPatient: isPatient))
            let wasLingering = inbox.lingerEndNs != nil
            if !duties.mayLinger(job) {
                inbox.lingerEndNs = nil
                return wasLingering || inbox.entries.count == 1
            }
            guard inbox.entries.count == 1 else { return false }
            inbox.lingerEndNs = SystemClock.monotonicNs + duties.lingerNs
            return true
        }
        if refusal != nil { tally.refused(1) }
        return refusal
    }

    /// Ends the thread once all jobs are done, and waits for that.
    func close() async {
        inbox.updateAll { $0.isClosing = true }
        await SystemThread.value { self.inbox.wait(for: { $0.isClosed ? () : nil }) }
    }

    private func run(_ session: Session) {
        session.pauses.thread = { self.expire() }
        session.turned = { failure in
            self.setAway(failure)
            self.duties.turned(failure)
        }
        session.goesOn = { nanoseconds in
            // A store that closes does not wait for a database that does not come back.
            nanoseconds < 2_000_000_000 || !self.inbox.update { $0.isClosing }
        }
        var isLast = false
        var restedNs = SystemClock.monotonicNs
        while !isLast {
            let (jobs, last) = next(untilNs: duties.restNs().map { restedNs + $0 })
            isLast = last
            if jobs.isEmpty, isLast { break }
            if jobs.isEmpty { restedNs = SystemClock.monotonicNs }
            if let failure = duties.perform(jobs, session) { stayAway(failure, session) }
        }
        inbox.updateAll { $0.isClosed = true }
    }

    /// The next jobs; none: the time is over, or the thread closes.
    private func next(untilNs restNs: UInt64?) -> (jobs: [Job], isLast: Bool) {
        inbox.wait(until: { inbox in
            let isDue = restNs.map { SystemClock.monotonicNs >= $0 } ?? false
            if isDue, !inbox.isClosing { return (([], false), nil) }
            guard inbox.isClosing || !inbox.entries.isEmpty else { return (nil, restNs) }
            if let end = inbox.lingerEndNs, SystemClock.monotonicNs < end, !inbox.isClosing {
                return (nil, end)
            }
            inbox.lingerEndNs = nil
            let group = inbox.entries.prefix(duties.groupMax).map(\.job)
            inbox.entries.removeFirst(group.count)
            return ((group, inbox.isClosing && inbox.entries.isEmpty), nil)
        })
    }

    /// Refuses what has waited for too long.
    private func expire() {
        let now = SystemClock.monotonicNs
        let late = inbox.update { inbox -> [Job] in
            let late = inbox.entries.filter { $0.untilNs.map { $0 <= now } ?? false }
            guard !late.isEmpty else { return [] }
            inbox.entries.removeAll { $0.untilNs.map { $0 <= now } ?? false }
            return late.map(\.job)
        }
        tally.refused(late.count)
        for job in late { duties.refuse(job, .slow) }
    }

    /// Refuses all jobs until the database is back.
    private func stayAway(_ failure: StoreFailure, _ session: Session) {
        var pauses = Pauses()
        setAway(failure)
        duties.turned(failure)
        while true {
            do throws(PostgresFault) {
                try session.connect()
                setAway(nil)
                return duties.turned(nil)
            } catch {
                let words = StoreFailure(message: "the database is away: \(error.message)")
                setAway(words)
                duties.turned(words)
            }
            let until = SystemClock.monotonicNs + pauses.nextNs()
            let isClosing = inbox.wait(until: { inbox in
                if inbox.isClosing { return (true, nil) }
                return SystemClock.monotonicNs >= until ? (false, nil) : (nil, until)
            })
            if isClosing { return refuseAll() }
        }
    }

    private func refuseAll() {
        let waiting = inbox.update { inbox in
            defer { inbox.entries = [] }
            return inbox.entries.map(\.job)
        }
        for job in waiting { duties.refuse(job, Self.closed) }
    }

    private func setAway(_ failure: StoreFailure?) {
        let waiting = inbox.update { inbox -> [Job] in
            inbox.away = failure
            guard failure != nil else { return [] }
            defer { inbox.entries.removeAll { !$0.isPatient } }
            return inbox.entries.filter { !$0.isPatient }.map(\.job)
        }
        tally.refused(waiting.count)
        for job in waiting { duties.refuse(job, failure ?? Self.closed) }
    }
}

extension StoreFailure {
    /// An event was not stored in time, or it is unknown whether it was.
    static let slow = StoreFailure(message: "the database is too slow")
}

/// Something that a thread does on its connection.
struct Errand: Sendable {
    var run: @Sendable (Session) -> TransactionFault?
    var refuse: @Sendable (StoreFailure) -> Void
}

extension ConnectionThread where Job == Errand {
    /// A thread that does errands one by one, and sweeps now and then, busy or not.
    static func errands(
        _ name: String, _ session: Lent<Session>, restNs: UInt64? = nil,
        sweep: @escaping @Sendable (Session) -> TransactionFault? = { _ in nil }
    ) -> ConnectionThread {
        ConnectionThread(
            name, session,
            Duties(
                restNs: { restNs },
                perform: { jobs, session in
                    let fault = jobs.isEmpty ? sweep(session) : jobs.first?.run(session)
                    guard case .database(let fault) = fault, fault.isAway, !session.isConnected
                    else { return nil }
                    return fault.failure
                }, refuse: { $0.refuse($1) }))
    }

    /// Runs `body` soon on the thread, and calls `done` with its result.
    ///
    /// With `mustHappen`, it is retried until the database is back. After `withinNs` the caller is told that the
    /// database is too slow, whatever the result turns out to be.
    func perform<Value: Sendable>(
        owner: String, mustHappen: Bool = false, withinNs: UInt64? = nil,
        _ body: @escaping @Sendable (Session) throws(TransactionFault) -> Value,
        _ done: @escaping @Sendable (Result<Value, StoreFailure>) -> Void
    ) {
        let untilNs = withinNs.map { SystemClock.monotonicNs + $0 }
        let errand = Errand(
            run: { session in
                var isAnswered = false
                session.pauses.user = {
                    guard let untilNs, !isAnswered, SystemClock.monotonicNs >= untilNs
                    else { return }
                    isAnswered = true
                    session.tally.refused(1)
                    done(.failure(.slow))
                }
                defer { session.pauses.user = {} }
                do throws(TransactionFault) {
                    let value = try body(session)
                    if !isAnswered { done(.success(value)) }
                    return nil
                } catch {
                    if isAnswered { return error }
                    if mustHappen, case .database(let fault) = error, fault.isAway {
                        self.perform(owner: owner, mustHappen: true, body, done)
                    } else {
                        done(.failure(error.failure(owner: owner)))
                    }
                    return error
                }
            }, refuse: { done(.failure($0)) })
        if let refusal = submit(errand, untilNs: untilNs, isPatient: mustHappen) {
            done(.failure(refusal))
        }
    }
}
