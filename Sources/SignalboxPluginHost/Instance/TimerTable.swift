internal import Glibc
internal import SignalboxThreads

/// The timers of one instance.
final class TimerTable: Sendable {
    private static let timersMax = 1_000

    private struct State {
        var next: UInt64 = 1
        var pending: Set<UInt64> = []
        /// Timers whose function is running, with the thread that runs it.
        var running: [UInt64: pthread_t] = [:]
        var isStopping = false
    }

    private let gate = Gate(State())

    /// Sets a timer; 0 if there are too many or the instance is stopping.
    func after(
        _ ms: UInt64, services: any HostServices, _ body: @escaping @Sendable () -> Void
    ) -> UInt64 {
        let id = gate.update { state -> UInt64 in
            guard !state.isStopping, state.pending.count + state.running.count < Self.timersMax
            else { return 0 }
            let id = state.next
            state.next += 1
            state.pending.insert(id)
            return id
        }
        if id != 0 { services.onWorker(afterMs: ms) { self.fire(id, body) } }
        return id
    }

    /// Cancels a timer; waits for its function if that is running on another thread.
    func cancel(_ id: UInt64) {
        let me = pthread_self()
        gate.update { _ = $0.pending.remove(id) }
        gate.wait(for: { state in
            guard let thread = state.running[id], pthread_equal(thread, me) == 0 else { return () }
            return nil
        })
    }

    /// Cancels all timers and waits for running functions. False if some still run at the deadline.
    func stop(deadlineNs: UInt64) -> Bool {
        gate.update { state in
            state.isStopping = true
            state.pending = []
        }
        return gate.wait(until: { state in
            if state.running.isEmpty { return (true, nil) }
            return SystemClock.monotonicNs >= deadlineNs ? (false, nil) : (nil, deadlineNs)
        })
    }

    private func fire(_ id: UInt64, _ body: () -> Void) {
        let isDue = gate.update { state in
            guard state.pending.remove(id) != nil else { return false }
            state.running[id] = pthread_self()
            return true
        }
        guard isDue else { return }
        body()
        gate.updateAll { $0.running[id] = nil }
    }
}
