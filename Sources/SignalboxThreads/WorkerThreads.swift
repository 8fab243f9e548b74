internal import DequeModule

/// A fixed set of threads that run short jobs in order of arrival: the `[worker]` threads of the
/// plugin contract. Never the Swift task pool, so that a plugin that blocks starves no task.
public final class WorkerThreads: Sendable {
    /// Something to run; must return soon.
    public typealias Job = @Sendable () -> Void

    /// A function in a collection by itself would be wrapped, and allocated, anew.
    private struct Item {
        let run: Job
    }

    private struct State {
        var jobs: Deque<Item> = []
        var isStopping = false
    }

    private let gate: Gate<State>
    private let waitingMax: Int

    /// Starts `count` threads. Beyond `waitingMax` jobs, `submit` refuses.
    public init(count: Int, waitingMax: Int) {
        let gate = Gate(State())
        self.gate = gate
        self.waitingMax = waitingMax
        for number in 1...max(1, count) {
            SystemThread.start("sbx-worker-\(number)") { Self.run(gate) }
        }
    }

    /// Runs a job soon. False: too many are waiting, or the threads are stopping.
    public func submit(_ job: @escaping Job) -> Bool {
        gate.update { state in
            guard !state.isStopping, state.jobs.count < waitingMax else { return false }
            state.jobs.append(Item(run: job))
            return true
        }
    }

    /// Runs a job soon, whatever is waiting: for jobs that are bounded elsewhere.
    public func submitBounded(_ job: @escaping Job) {
        gate.update { state in state.jobs.append(Item(run: job)) }
    }

    /// Lets the threads end after the jobs that are waiting.
    public func stop() {
        gate.updateAll { state in state.isStopping = true }
    }

    private static func run(_ gate: Gate<State>) {
        while let job = gate.wait(for: { state in
            if let job = state.jobs.popFirst() { return .some(.some(job)) }
            return state.isStopping ? .some(nil) : nil
        }) {
            job.run()
        }
    }
}
