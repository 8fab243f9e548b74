internal import GRDB
internal import SignalboxThreads

/// Moves what was committed from the log into the database file, on a connection and a thread of its
/// own, so that no commit waits for it.
final class Checkpointer: Sendable {
    private enum Phase {
        case running, stopping, stopped
    }

    private static let everyNs: UInt64 = 250_000_000
    private let phase = Gate(Phase.running)

    init(path: String) {
        let phase = phase
        SystemThread.start("sbx-checkpoint") {
            var configuration = Configuration()
            configuration.busyMode = .immediateError
            // Without a connection of its own the writer's automatic checkpoint is left.
            let queue = try? DatabaseQueue(path: path, configuration: configuration)
            while Self.pause(phase) {
                _ = try? queue?.writeWithoutTransaction { try $0.checkpoint(.passive) }
            }
            try? queue?.close()
            phase.updateAll { $0 = .stopped }
        }
    }

    /// Ends it; when this returns its connection is closed.
    func stop() {
        phase.updateAll { $0 = .stopping }
        phase.wait(for: { $0 == .stopped ? () : nil })
    }

    /// Waits for the next turn; false: there is none.
    private static func pause(_ phase: Gate<Phase>) -> Bool {
        let due = SystemClock.monotonicNs + everyNs
        return phase.wait(until: { phase in
            if phase != .running { return (false, nil) }
            return SystemClock.monotonicNs >= due ? (true, nil) : (nil, due)
        })
    }
}
