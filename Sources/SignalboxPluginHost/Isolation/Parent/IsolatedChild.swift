internal import SignalboxCore
internal import SignalboxThreads
internal import Synchronization

/// One process of an isolated plugin, from its start to its end.
final class IsolatedChild: Sendable {
    let process: RunnerProcess
    let peer: WirePeer
    let flights = OpenFlights()
    private let errors: StandardError
    let bornNs = SystemClock.monotonicNs
    /// It has answered a role call.
    let hasWorked = Atomic(false)
    /// Why the gateway ended it; nil if it did not.
    private let verdict = Mutex<String?>(nil)

    /// Starts the process, and threads that read its messages and its standard error; `log` gets the lines of that.
    ///
    /// The first thread calls `onGone` when there is nothing more to read, and `onEnd` after all
    /// waiting calls have been answered.
    init(
        command: [String], plan: ConfinementPlan,
        log: @escaping @Sendable (String) -> Void,
        handle:
            @escaping @Sendable (IsolatedChild, WireMethod, WireFrame)
            throws(WireFault) -> Void,
        onGone: @escaping @Sendable (IsolatedChild) -> Void,
        onEnd: @escaping @Sendable (IsolatedChild, WireFault?) -> Void
    ) throws(PluginFault) {
        let started = try RunnerProcess.start(command, plan: plan)
        process = started.process
        errors = StandardError(socket: started.errors, log: log)
        peer = WirePeer(WireChannel(socket: started.socket, peerEnd: process.end))
        let isRead = SystemThread.isStarted("sbx-isolated") { [self] in
            var fault: WireFault?
            do throws(WireFault) {
                try peer.run(onGone: { onGone(self) }) { method, frame throws(WireFault) in
                    try handle(self, method, frame)
                }
            } catch {
                fault = error
            }
            onEnd(self, fault)
        }
        guard isRead else {
            process.kill()
            _ = reap()
            throw PluginFault(.unreachable, "the system refused a thread for its process")
        }
    }

    /// Kills the process; if it is called again, the first reason counts.
    func kill(because why: String) {
        verdict.withLock { if $0 == nil { $0 = why } }
        process.kill()
    }

    /// Waits for the process to end, and describes how it did.
    func reap() -> String {
        peer.channel.close()
        let how = process.reap()
        errors.end()
        return verdict.withLock { $0 }.map { "was ended by the gateway: \($0)" } ?? how
    }
}

/// Deliveries held by a plugin with its own transport, by flight.
final class OpenFlights: Sendable {
    private struct Flight {
        let begunNs = SystemClock.monotonicNs
        var open: Set<UInt64>
        var onOutcomes: @Sendable ([Outcome]) -> Void
    }

    private struct State {
        var last: UInt64 = 0
        var flights: [UInt64: Flight] = [:]
        var hasSettled = false
    }

    private let state = Mutex(State())

    /// When the newest open flight began, in monotonic nanoseconds; nil if no flight is open.
    var youngestNs: UInt64? {
        state.withLock { state in state.flights.values.lazy.map(\.begunNs).max() }
    }

    /// Whether a delivery has had its outcome.
    var hasSettled: Bool { state.withLock { $0.hasSettled } }

    func begin(
        _ items: [UInt64], onOutcomes: @escaping @Sendable ([Outcome]) -> Void
    ) -> UInt64 {
        state.withLock { state in
            state.last += 1
            state.flights[state.last] = Flight(open: Set(items), onOutcomes: onOutcomes)
            return state.last
        }
    }

    /// Removes deliveries that the plugin did not take, so they stay with the gateway.
    func giveBack(_ flight: UInt64, _ items: some Sequence<UInt64>) {
        state.withLock { state in
            state.flights[flight]?.open.subtract(items)
            if state.flights[flight]?.open.isEmpty == true { state.flights[flight] = nil }
        }
    }

    /// Settles outcomes. Returns how many are for deliveries that are not open.
    func settle(_ flight: UInt64, _ outcomes: [Outcome]) -> Int {
        let (sound, tell) = state.withLock {
            state -> ([Outcome], (@Sendable ([Outcome]) -> Void)?) in
            guard state.flights[flight] != nil else { return ([], nil) }
            let tell = state.flights[flight]?.onOutcomes
            let sound = outcomes.filter {
                state.flights[flight]?.open.remove($0.item) != nil
            }
            if state.flights[flight]?.open.isEmpty == true { state.flights[flight] = nil }
            if !sound.isEmpty { state.hasSettled = true }
            return (sound, tell)
        }
        if !sound.isEmpty { tell?(sound) }
        return outcomes.count - sound.count
    }

    /// Closes all flights after the process has ended. Returns the open deliveries and their callbacks.
    func end() -> [(items: [UInt64], tell: @Sendable ([Outcome]) -> Void)] {
        state.withLock { state in
            defer { state.flights = [:] }
            return state.flights.values.map { ($0.open.sorted(), $0.onOutcomes) }
        }
    }
}
