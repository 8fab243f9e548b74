/// One thread that wakes lanes when their next retry is due. A lane has at most one alarm.
public final class AlarmClock: Sendable {
    private struct State {
        var alarms = Alarms<@Sendable () -> Void>()
        /// Key of the next alarm without a lane; counts down.
        var nextOnce = -1
        var isStopping = false
    }

    private let gate = Gate(State())

    /// Starts the thread.
    public init() {
        let gate = gate
        SystemThread.start("sbx-alarms") { Self.run(gate) }
    }

    /// Calls `ring` once after `ms` milliseconds; replaces the lane's previous alarm.
    public func set(lane: Int, inMs ms: UInt64, ring: @escaping @Sendable () -> Void) {
        let at = Self.time(inMs: ms)
        gate.updateQuietly { state in
            guard !state.isStopping else { return false }
            return state.alarms.set(lane, atNs: at, ring: ring)
        }
    }

    /// Calls `ring` once after `ms` milliseconds; replaces no other alarm.
    public func after(ms: UInt64, ring: @escaping @Sendable () -> Void) {
        let at = Self.time(inMs: ms)
        gate.updateQuietly { state in
            guard !state.isStopping else { return false }
            defer { state.nextOnce -= 1 }
            return state.alarms.set(state.nextOnce, atNs: at, ring: ring)
        }
    }

    /// Ends the thread; pending and later alarms do not ring and are not kept.
    public func stop() {
        gate.update { state in
            state.isStopping = true
            state.alarms.removeAll()
        }
    }

    /// The time in monotonic nanoseconds, limited to the largest time of the system's clock.
    private static func time(inMs ms: UInt64) -> UInt64 {
        let now = SystemClock.monotonicNs
        let (ns, isTooLong) = ms.multipliedReportingOverflow(by: 1_000_000)
        let (at, isTooLate) = now.addingReportingOverflow(ns)
        return isTooLong || isTooLate ? UInt64(Int64.max) : min(at, UInt64(Int64.max))
    }

    private static func run(_ gate: Gate<State>) {
        while true {
            let due: [@Sendable () -> Void] = gate.wait(until: { state in
                if state.isStopping { return ([], nil) }
                let due = state.alarms.takeDue(nowNs: SystemClock.monotonicNs)
                return due.isEmpty ? (nil, state.alarms.nextNs) : (due, nil)
            })
            if due.isEmpty { return }
            for ring in due { ring() }
        }
    }
}
