internal import DequeModule
internal import Glibc
internal import Synchronization

/// A fixed set of threads that run short jobs in order of arrival: the `[worker]` threads of the
/// plugin contract. They are not in the Swift task pool, so a plugin that blocks starves no task.
///
/// Each wake-up is one switch of threads, so a job wakes one worker at most: the one that has rested for the
/// shortest time.
public final class WorkerThreads: Sendable {
    /// A job; must return quickly.
    public typealias Job = @Sendable () -> Void

    /// Wrapped in a struct, because a closure stored directly in a collection is allocated again.
    private struct Item {
        let run: Job
    }

    /// A job for a later time.
    private struct Reminder {
        let owner: ObjectIdentifier
        let ns: UInt64
        let item: Item
    }

    private struct State {
        var jobs: Deque<Item> = []
        var reminders: [Reminder] = []
        /// Workers that wait for a job, in the order in which they began to.
        var resting: [Worker] = []
        /// Threads in the place of those that are blocked; some may be about to end.
        var spareCount = 0
        /// Threads that are to end, since one that was blocked is back.
        var surplusCount = 0
        var isStopping = false

        /// The next job; one whose time has come goes first.
        mutating func takeJob() -> Item? {
            if !reminders.isEmpty {
                let now = SystemClock.monotonicNs
                if let due = reminders.firstIndex(where: { $0.ns <= now }) {
                    return reminders.remove(at: due).item
                }
            }
            return jobs.popFirst()
        }
    }

    /// One thread, as the others see it.
    private final class Worker: Sendable {
        /// Somebody took it out of `resting` to run a job.
        let isCalled = Gate(false)
    }

    private let state = Mutex(State())
    private let waitingMax: Int
    private let sparesMax: Int

    /// Starts `count` threads. `submit` refuses jobs when `waitingMax` are waiting.
    public init(count: Int, waitingMax: Int) {
        self.waitingMax = waitingMax
        sparesMax = max(64, 4 * count)
        for number in 1...max(1, count) {
            SystemThread.start("sbx-worker-\(number)") { self.work(Worker()) }
        }
    }

    /// Queues a job; false if too many are waiting or the threads are stopping.
    public func submit(_ job: @escaping Job) -> Bool {
        let (isTaken, worker) = state.withLock { state -> (Bool, Worker?) in
            guard !state.isStopping, state.jobs.count < waitingMax else { return (false, nil) }
            state.jobs.append(Item(run: job))
            return (true, state.resting.popLast())
        }
        worker?.isCalled.update { $0 = true }
        return isTaken
    }

    /// Queues a job regardless of how many wait: for jobs that are limited elsewhere.
    public func submitBounded(_ job: @escaping Job) { add(job, isNext: false) }

    /// The same for what a job does last: the worker that submits it runs it next and wakes nobody for it.
    public func submitNext(_ job: @escaping Job) { add(job, isNext: Self.current === self) }

    private func add(_ job: @escaping Job, isNext: Bool) {
        let worker = state.withLock { state -> Worker? in
            state.jobs.append(Item(run: job))
            return isNext && state.jobs.count == 1 ? nil : state.resting.popLast()
        }
        worker?.isCalled.update { $0 = true }
    }

    /// Runs a job at a time of the monotonic clock, unless `forget` comes first. To be called by one of the workers:
    /// it does not rest longer than that, so nobody is woken now.
    public func remind(_ owner: AnyObject, atNs ns: UInt64, _ job: @escaping Job) {
        let reminder = Reminder(owner: ObjectIdentifier(owner), ns: ns, item: Item(run: job))
        state.withLock { $0.reminders.append(reminder) }
    }

    /// Drops the reminders of an owner.
    public func forget(_ owner: AnyObject) {
        let owner = ObjectIdentifier(owner)
        state.withLock { $0.reminders.removeAll { $0.owner == owner } }
    }

    /// Threads in the place of blocked ones.
    package var spareCount: Int { state.withLock { $0.spareCount } }

    /// Runs what blocks the calling thread for long. If that is a worker, another thread runs jobs in its place, unless
    /// there are too many already or the system refuses one.
    public static func covered<Result>(_ body: () -> Result) -> Result {
        guard let workers = current, workers.beginCover() else { return body() }
        defer { workers.state.withLock { $0.surplusCount += 1 } }
        return body()
    }

    private func beginCover() -> Bool {
        let isThere = state.withLock { state -> Bool? in
            if state.surplusCount > 0 {
                state.surplusCount -= 1
                return true
            }
            guard state.spareCount < sparesMax else { return false }
            state.spareCount += 1
            return nil
        }
        if let isThere { return isThere }
        if SystemThread.isStarted("sbx-spare", { self.work(Worker()) }) { return true }
        state.withLock { $0.spareCount -= 1 }
        return false
    }

    /// No job waits, and a worker rests: the calling worker may block for a moment.
    public var hasSpare: Bool { state.withLock { $0.jobs.isEmpty && !$0.resting.isEmpty } }

    /// Ends the threads after all waiting jobs.
    public func stop() {
        let resting = state.withLock { state in
            state.isStopping = true
            defer { state.resting = [] }
            return state.resting
        }
        for worker in resting { worker.isCalled.update { $0 = true } }
    }

    // MARK: Threads

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        return key
    }()

    /// The threads that the calling one belongs to, which live as long as it does; nil: it is no worker.
    public static var current: WorkerThreads? {
        pthread_getspecific(key).map {
            Unmanaged<WorkerThreads>.fromOpaque($0).takeUnretainedValue()
        }
    }

    private enum Next {
        case job(Item)
        case rest(untilNs: UInt64?)
        /// It ends, and this one sees to what it was to do next.
        case end(heir: Worker?)
    }

    private func work(_ worker: Worker) {
        pthread_setspecific(Self.key, Unmanaged.passUnretained(self).toOpaque())
        while true {
            switch next(worker) {
            case .job(let item): item.run()
            case .rest(let untilNs): rest(worker, untilNs)
            case .end(let heir):
                heir?.isCalled.update { $0 = true }
                return
            }
        }
    }

    private func next(_ worker: Worker) -> Next {
        state.withLock { state in
            if state.surplusCount > 0 {
                state.surplusCount -= 1
                state.spareCount -= 1
                // Nobody else was woken for a job that it submitted last, or for its reminder.
                let isDone = state.jobs.isEmpty && state.reminders.isEmpty
                return .end(heir: isDone ? nil : state.resting.popLast())
            }
            if let item = state.takeJob() { return .job(item) }
            if state.isStopping { return .end(heir: nil) }
            state.resting.append(worker)
            return .rest(untilNs: state.reminders.lazy.map(\.ns).min())
        }
    }

    private func rest(_ worker: Worker, _ untilNs: UInt64?) {
        let wasCalled = worker.isCalled.wait(until: { isCalled in
            if isCalled {
                isCalled = false
                return (true, nil)
            }
            guard let untilNs else { return (nil, nil) }
            return SystemClock.monotonicNs >= untilNs ? (false, nil) : (nil, untilNs)
        })
        if !wasCalled { state.withLock { $0.resting.removeAll { $0 === worker } } }
    }
}
