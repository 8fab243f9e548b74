/// One thread that rings lanes when their next retry is due. A lane has at most one alarm.
public final class AlarmClock: Sendable {
    private struct State {
        var once = -1
        var alarms: [Int: (ns: UInt64, ring: @Sendable () -> Void)] = [:]
        var isStopping = false
    }

    private let gate = Gate(State())

    /// Starts the thread.
    public init() {
        let gate = gate
        SystemThread.start("sbx-alarms") { Self.run(gate) }
    }

    /// Calls `ring` once in `ms` milliseconds; replaces the alarm of that lane.
    public func set(lane: Int, inMs ms: UInt64, ring: @escaping @Sendable () -> Void) {
        let at = SystemClock.monotonicNs + ms * 1_000_000
        gate.update { state in state.alarms[lane] = (at, ring) }
    }

    /// Calls `ring` once in `ms` milliseconds, whatever else is set.
    public func after(ms: UInt64, ring: @escaping @Sendable () -> Void) {
        let at = SystemClock.monotonicNs + ms * 1_000_000
        gate.update { state in
            state.alarms[state.once] = (at, ring)
            state.once -= 1
        }
    }

    /// Ends the thread; alarms that are set do not ring.
    public func stop() {
        gate.update { state in
            state.isStopping = true
            state.alarms = [:]
        }
    }

    private static func run(_ gate: Gate<State>) {
        while true {
            let due: [@Sendable () -> Void] = gate.wait(until: { state in
                if state.isStopping { return ([], nil) }
                let now = SystemClock.monotonicNs
                let ready = state.alarms.filter { $0.value.ns <= now }
                for lane in ready.keys { state.alarms[lane] = nil }
                if !ready.isEmpty { return (ready.values.map(\.ring), nil) }
                return (nil, state.alarms.values.map(\.ns).min())
            })
            if due.isEmpty { return }
            for ring in due { ring() }
        }
    }
}
