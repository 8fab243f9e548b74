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
        /// All threads, and what the watchdog saw of them.
        var sights: [Sight] = []
        /// Threads that replace blocked ones; some may be about to end.
        var spareCount = 0
        /// Threads that must end, because blocked ones are back.
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
        /// Another thread took it out of `resting` to run a job.
        let isCalled = Gate(false)
        let call = CallSlot()
    }

    /// What the watch saw of a thread.
    private struct Sight {
        let worker: Worker
        /// Its open call when the watch looked last, and since when that is seen.
        var call: UInt64?
        var sinceNs: UInt64 = 0
        /// The call is slow.
        var isSlow = false
        /// Another thread works in its place.
        var hasSpare = false
        var isTold = false
    }

    private let state = Mutex(State())
    private let waitingMax: Int
    private let sparesMax: Int
    private let watch: CallWatch?
    /// Whether the watchdog checks the calls from time to time.
    private let isWatched = Atomic(false)

    /// Starts `count` threads. `submit` refuses jobs when `waitingMax` are waiting. With a `watch`, spare threads
    /// replace those that are in a slow call (`watched`).
    public init(count: Int, waitingMax: Int, watch: CallWatch? = nil) {
        self.waitingMax = waitingMax
        self.watch = watch
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

    /// The same for the last thing a job does: the worker that submits it runs it next and wakes no other thread.
    public func submitNext(_ job: @escaping Job) { add(job, isNext: Self.current === self) }

    private func add(_ job: @escaping Job, isNext: Bool) {
        let worker = state.withLock { state -> Worker? in
            state.jobs.append(Item(run: job))
            return isNext && state.jobs.count == 1 ? nil : state.resting.popLast()
        }
        worker?.isCalled.update { $0 = true }
    }

    /// Runs a job at a time of the monotonic clock, unless `forget` comes first. Call it on a worker: it rests no
    /// longer than that, so no thread is woken now.
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

    /// Runs a call that may block: a worker that has been in it for 25 to 50 ms gets a stand-in, unless there are
    /// too many already or the system refuses one. A call within another one is a part of that.
    public static func watched<Result>(
        _ owner: CallOwner, _ kind: CallKind, _ body: () throws -> Result
    ) rethrows -> Result {
        guard let worker = currentWorker, worker.call.begin(owner, kind) else { return try body() }
        defer { if worker.call.end() { current?.isBack(worker, owner) } }
        return try body()
    }

    /// A slow call has ended: one of the threads ends instead of resting.
    private func isBack(_ worker: Worker, _ owner: CallOwner) {
        owner.isSlow(-1)
        state.withLock { state in
            guard let place = state.sights.firstIndex(where: { $0.worker === worker }) else {
                return
            }
            if state.sights[place].hasSpare { state.surplusCount += 1 }
            state.sights[place] = Sight(worker: worker)
        }
    }

    /// Looks at the calls, and does so again while a thread works. Thread: of the alarms.
    private func look(_ watch: CallWatch) {
        let now = SystemClock.monotonicNs
        let (goesOn, long) = state.withLock { state -> (Bool, [LongCall]) in
            var long: [LongCall] = []
            for place in state.sights.indices {
                if let call = look(at: place, nowNs: now, &state) { long.append(call) }
            }
            let isBusy = !state.isStopping && state.resting.count < state.sights.count
            // Under the lock, so that a worker taken out of `resting` later sees it.
            isWatched.store(isBusy, ordering: .releasing)
            return (isBusy, long)
        }
        if goesOn { watch.alarms.after(ms: CallWatch.periodMs) { self.look(watch) } }
        for call in long { watch.onLong(call) }
    }

    /// Looks at one thread; returns its call if the call must be reported now.
    private func look(at place: Int, nowNs: UInt64, _ state: inout State) -> LongCall? {
        let slot = state.sights[place].worker.call
        let open = slot.openCall
        guard let open, open == state.sights[place].call else {
            // A slow call has ended, and its thread reports that once the lock is free.
            guard !state.sights[place].isSlow else { return nil }
            state.sights[place].call = open
            state.sights[place].sinceNs = nowNs
            return nil
        }
        let isNew = !state.sights[place].isSlow
        if isNew, !slot.mark(open) { return nil }
        // A marked call cannot end before the lock is free, so its owner exists.
        guard let (owner, kind) = slot.owning else { return nil }
        if isNew {
            state.sights[place].isSlow = true
            owner.isSlow(1)
        }
        if !state.sights[place].hasSpare { state.sights[place].hasSpare = addSpare(&state) }
        guard nowNs - state.sights[place].sinceNs >= CallWatch.longNs,
            !state.sights[place].isTold
        else { return nil }
        state.sights[place].isTold = true
        return LongCall(owner: owner.name, kind: kind)
    }

    private func addSpare(_ state: inout State) -> Bool {
        if state.surplusCount > 0 {
            state.surplusCount -= 1
            return true
        }
        guard state.spareCount < sparesMax else { return false }
        guard SystemThread.isStarted("sbx-spare", { self.work(Worker()) }) else { return false }
        state.spareCount += 1
        return true
    }

    /// A resting thread works again: starts the watchdog unless it is running.
    private func beWatched() {
        guard let watch, !isWatched.load(ordering: .acquiring),
            !isWatched.exchange(true, ordering: .acquiringAndReleasing)
        else { return }
        watch.alarms.after(ms: CallWatch.periodMs) { self.look(watch) }
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

    private static let key = newKey()
    private static let workerKey = newKey()

    private static func newKey() -> pthread_key_t {
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        return key
    }

    /// The pool that the calling thread belongs to, which outlives it; nil if it is not a worker.
    public static var current: WorkerThreads? {
        pthread_getspecific(key).map {
            Unmanaged<WorkerThreads>.fromOpaque($0).takeUnretainedValue()
        }
    }

    private static var currentWorker: Worker? {
        pthread_getspecific(workerKey).map {
            Unmanaged<Worker>.fromOpaque($0).takeUnretainedValue()
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
        pthread_setspecific(Self.workerKey, Unmanaged.passUnretained(worker).toOpaque())
        state.withLock { $0.sights.append(Sight(worker: worker)) }
        beWatched()
        defer { state.withLock { state in state.sights.removeAll { $0.worker === worker } } }
        while true {
            switch next(worker) {
            case .job(let item): item.run()
            case .rest(let untilNs):
                rest(worker, untilNs)
                beWatched()
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
                // No other thread was woken for the job that it submitted last, or for its reminder.
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
