internal import DequeModule

/// A fixed set of threads that run short jobs in order of arrival: the `[worker]` threads of the
/// plugin contract. They are not in the Swift task pool, so a plugin that blocks starves no task.
public final class WorkerThreads: Sendable {
    /// A job; must return quickly.
    public typealias Job = @Sendable () -> Void

    /// Wrapped in a struct, because a closure stored directly in a collection is allocated again.
    private struct Item {
        let run: Job
    }

    private struct State {
        var jobs: Deque<Item> = []
        var isStopping = false
    }

    private let gate: Gate<State>
    private let waitingMax: Int

    /// Starts `count` threads. `submit` refuses jobs when `waitingMax` are waiting.
    public init(count: Int, waitingMax: Int) {
        let gate = Gate(State())
        self.gate = gate
        self.waitingMax = waitingMax
        for number in 1...max(1, count) {
            SystemThread.start("sbx-worker-\(number)") { Self.run(gate) }
        }
    }

    /// Queues a job; false if too many are waiting or the threads are stopping.
    public func submit(_ job: @escaping Job) -> Bool {
        gate.update { state in
            guard !state.isStopping, state.jobs.count < waitingMax else { return false }
            state.jobs.append(Item(run: job))
            return true
        }
    }

    /// Queues a job regardless of how many wait: for jobs that are limited elsewhere.
    public func submitBounded(_ job: @escaping Job) {
        gate.update { state in state.jobs.append(Item(run: job)) }
    }

    /// Ends the threads after all waiting jobs.
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
