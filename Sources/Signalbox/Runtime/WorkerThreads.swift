internal import Glibc
internal import Synchronization

/// A fixed set of threads that run short jobs in order of arrival: the `[worker]` threads of the
/// plugin contract. Never the Swift task pool, so that a plugin that blocks starves no task.
final class WorkerThreads: Sendable {
    typealias Job = @Sendable () -> Void

    private struct State {
        var jobs: [Job] = []
        var head = 0
        var isStopping = false
        var running = 0

        var waiting: Int { jobs.count - head }

        mutating func next() -> Job? {
            guard head < jobs.count else { return nil }
            let job = jobs[head]
            head += 1
            if head == jobs.count {
                jobs.removeAll(keepingCapacity: jobs.capacity < 4096)
                head = 0
            }
            return job
        }
    }

    private let gate: Gate<State>
    private let waitingMax: Int

    /// Starts `count` threads. Beyond `waitingMax` jobs, `submit` refuses.
    init(count: Int, waitingMax: Int) {
        let gate = Gate(State())
        self.gate = gate
        self.waitingMax = waitingMax
        for _ in 0..<count {
            Thread.start { Self.run(gate) }
        }
    }

    /// Runs a job soon. False: too many are waiting, or the threads are stopping.
    func submit(_ job: @escaping Job) -> Bool {
        gate.update { state in
            guard !state.isStopping, state.waiting < waitingMax else { return false }
            state.jobs.append(job)
            return true
        }
    }

    /// Runs a job soon, whatever is waiting: for jobs that are bounded elsewhere.
    func submitBounded(_ job: @escaping Job) {
        gate.update { state in state.jobs.append(job) }
    }

    /// Lets the threads end after the jobs that are waiting.
    func stop() {
        gate.updateAll { state in state.isStopping = true }
    }

    private static func run(_ gate: Gate<State>) {
        while let job = gate.wait(for: { state in
            if let job = state.next() { return .some(.some(job)) }
            return state.isStopping ? .some(nil) : nil
        }) {
            job()
        }
    }
}

/// A value behind a mutex, with a condition to wait for its changes.
///
/// `@unchecked Sendable`: `value` is touched only while `mutex` is held.
final class Gate<Value>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var value: Value

    init(_ value: Value) {
        self.value = value
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        // Deadlines are on the monotonic clock: a set wall clock must not hold a thread.
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// Changes the value and wakes one waiting thread.
    @discardableResult
    func update<Result>(_ change: (inout Value) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer {
            pthread_cond_signal(condition)
            pthread_mutex_unlock(mutex)
        }
        return change(&value)
    }

    /// Changes the value and wakes all waiting threads.
    func updateAll(_ change: (inout Value) -> Void) {
        update(change)
        pthread_cond_broadcast(condition)
    }

    /// Blocks until `attempt` gives something.
    func wait<Result>(for attempt: (inout Value) -> Result?) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let result = attempt(&value) { return result }
            pthread_cond_wait(condition, mutex)
        }
    }

    /// Blocks until `attempt` gives something or the monotonic time that it asked for has come.
    ///
    /// `attempt` says either what it found or until when (nanoseconds; nil: for ever) to wait.
    func wait<Result>(until attempt: (inout Value) -> (result: Result?, wakeNs: UInt64?)) -> Result
    {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            let (result, wakeNs) = attempt(&value)
            if let result { return result }
            guard let wakeNs else {
                pthread_cond_wait(condition, mutex)
                continue
            }
            var deadline = timespec(
                tv_sec: Int(wakeNs / 1_000_000_000), tv_nsec: Int(wakeNs % 1_000_000_000))
            pthread_cond_timedwait(condition, mutex, &deadline)
        }
    }
}

/// Starts threads.
enum Thread {
    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Runs `body` on a new detached thread with all signals blocked: signals are the program's.
    static func start(_ body: @escaping @Sendable () -> Void) {
        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        var thread = pthread_t()
        let argument = Unmanaged.passRetained(Body(body)).toOpaque()
        let status = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            }, argument)
        // Without its threads the gateway cannot do anything that was promised.
        precondition(status == 0, "the system refused a thread")
        pthread_detach(thread)
    }
}
