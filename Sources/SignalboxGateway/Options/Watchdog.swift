package import Logging
internal import SignalboxThreads

/// Tells the service manager that the process works, as long as the threads that must never block respond.
///
/// It asks all of them at once, on its own thread, and stays silent until all have answered. The manager restarts a
/// process that is silent for too long. Store threads are not asked: a restart fixes neither a slow disk nor an
/// unreachable database, and `/readyz` reports both.
package final class Watchdog: Sendable {
    /// Threads that must answer.
    package struct Part: Sendable {
        /// The name of the threads.
        let name: String
        /// Calls back on one of the threads, asynchronously.
        let ask: @Sendable (@escaping @Sendable () -> Void) -> Void

        package init(
            name: String, ask: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
        ) {
            self.name = name
            self.ask = ask
        }
    }

    private struct State {
        /// Parts that have not answered yet.
        var silent: Set<String> = []
        var isStopping = false
    }

    private enum Step {
        case answered
        case late([String])
        case end
    }

    private let supervisor: Supervisor
    private let parts: [Part]
    private let logger: Logger
    private let patienceNs: UInt64
    private let gate = Gate(State())

    /// Starts the thread; nil if the service manager does not watch.
    package init?(_ supervisor: Supervisor?, _ logger: Logger, _ parts: [Part]) {
        guard let supervisor, let patienceMs = supervisor.patienceMs, patienceMs > 0 else {
            return nil
        }
        self.supervisor = supervisor
        self.parts = parts
        self.logger = logger
        patienceNs = patienceMs * 1_000_000
        SystemThread.start("sbx-watchdog") { self.run() }
    }

    /// No part is asked after this returns.
    package func stop() { gate.update { $0.isStopping = true } }

    private func run() {
        while ask() {
            let next = SystemClock.monotonicNs + patienceNs / 3
            var isLate = false
            while true {
                switch answer(byNs: isLate ? nil : next) {
                case .end: return
                case .late(let names):
                    isLate = true
                    tellLate(names.sorted().joined(separator: ", "))
                    continue
                case .answered: supervisor.isAlive()
                }
                break
            }
            if isLate { tellBack() }
            guard isRunning(untilNs: next) else { return }
        }
    }

    /// Asks all parts; false if it was stopped. Under the lock, so that no part is asked after `stop`.
    private func ask() -> Bool {
        gate.update { state in
            guard !state.isStopping else { return false }
            state.silent = Set(parts.map(\.name))
            for part in parts {
                part.ask { self.gate.update { _ = $0.silent.remove(part.name) } }
            }
            return true
        }
    }

    /// Waits until all have answered, or until a deadline.
    private func answer(byNs ns: UInt64?) -> Step {
        gate.wait(until: { state in
            if state.isStopping { return (.end, nil) }
            if state.silent.isEmpty { return (.answered, nil) }
            if let ns, SystemClock.monotonicNs >= ns { return (.late(Array(state.silent)), nil) }
            return (nil, ns)
        })
    }

    /// Waits until a time; false if it was stopped.
    private func isRunning(untilNs ns: UInt64) -> Bool {
        gate.wait(until: { state in
            if state.isStopping { return (false, nil) }
            return SystemClock.monotonicNs >= ns ? (true, nil) : (nil, ns)
        })
    }

    private func tellLate(_ names: String) {
        logger.error(
            "threads hang, the service manager will restart the gateway",
            metadata: ["threads": "\(names)", "waited.ms": "\(patienceNs / 3_000_000)"])
        supervisor.isSilent("Threads hang: \(names)")
    }

    private func tellBack() {
        logger.notice("threads that hung work again")
        supervisor.isSilent("Running")
    }
}
