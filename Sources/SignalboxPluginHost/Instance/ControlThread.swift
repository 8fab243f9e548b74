internal import SignalboxThreads

/// The thread for an instance's `[control]` calls.
final class ControlThread: Sendable {
    private struct State {
        var jobs: [@Sendable () -> Void] = []
        var wakeNs: UInt64?
        var isStopping = false
        var hasEnded = false
    }

    private enum Next {
        case job(@Sendable () -> Void)
        case tick
        case end
    }

    private let gate = Gate(State())

    /// Starts the thread; `tick` runs at the time set with `wake`. Throws if the system is out of threads: the gateway
    /// then continues without the instance.
    init(tick: @escaping @Sendable () -> Void) throws(PluginFault) {
        let gate = gate
        guard SystemThread.isStarted("sbx-control", { Self.run(gate, tick) }) else {
            throw PluginFault(.unreachable, "the system refused a thread for it")
        }
    }

    /// Queues a job. False if the thread has ended.
    @discardableResult
    func run(_ job: @escaping @Sendable () -> Void) -> Bool {
        gate.update { state in
            if !state.hasEnded { state.jobs.append(job) }
            return !state.hasEnded
        }
    }

    /// Runs a job and suspends until it is done; nil if the thread has ended.
    func value<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value? {
        await withCheckedContinuation { continuation in
            let isTaken = run { continuation.resume(returning: body()) }
            if !isTaken { continuation.resume(returning: nil) }
        }
    }

    /// Asks for a tick at a monotonic time, unless an earlier one is set.
    func wake(atNs ns: UInt64) {
        gate.update { state in state.wakeNs = min(state.wakeNs ?? .max, ns) }
    }

    /// Ends the thread after the queued jobs; there are no further ticks.
    func stop() { gate.update { $0.isStopping = true } }

    private static func run(_ gate: Gate<State>, _ tick: () -> Void) {
        while true {
            let next: Next = gate.wait(until: { state in
                if !state.jobs.isEmpty { return (.job(state.jobs.removeFirst()), nil) }
                if state.isStopping {
                    state.hasEnded = true
                    return (.end, nil)
                }
                guard let at = state.wakeNs else { return (nil, nil) }
                if at <= SystemClock.monotonicNs {
                    state.wakeNs = nil
                    return (.tick, nil)
                }
                return (nil, at)
            })
            switch next {
            case .job(let job): job()
            case .tick: tick()
            case .end: return
            }
        }
    }
}
