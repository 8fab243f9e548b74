internal import GRDB
internal import SignalboxThreads

/// Moves committed pages from the log into the database file, on its own connection and
/// thread, so that no commit waits for it.
final class Checkpointer: Sendable {
    private enum Phase {
        case running, stopping, stopped
    }

    private static let everyNs: UInt64 = 250_000_000
    private let phase = Gate(Phase.running)

    init(path: String) {
        let phase = phase
        var configuration = Configuration()
        configuration.busyMode = .immediateError
        // Opened here: a thread that starts late must not create a file that was moved away meanwhile.
        // Without its own connection the writer's automatic checkpoint does it.
        let queue = try? DatabaseQueue(path: path, configuration: configuration)
        SystemThread.start("sbx-checkpoint") {
            while Self.pause(phase) {
                _ = try? queue?.writeWithoutTransaction { try $0.checkpoint(.passive) }
            }
            try? queue?.close()
            phase.updateAll { $0 = .stopped }
        }
    }

    /// Stops it and closes its connection.
    func stop() {
        phase.updateAll { $0 = .stopping }
        phase.wait(for: { $0 == .stopped ? () : nil })
    }

    /// Waits for the next round; false at the end.
    private static func pause(_ phase: Gate<Phase>) -> Bool {
        let due = SystemClock.monotonicNs + everyNs
        return phase.wait(until: { phase in
            if phase != .running { return (false, nil) }
            return SystemClock.monotonicNs >= due ? (true, nil) : (nil, due)
        })
    }
}
