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

    /// `onChange` gets the fault when copying fails for the first time, and nil when it succeeds again. Thread: its own.
    init(path: String, onChange: @escaping @Sendable ((any Error)?) -> Void) {
        let phase = phase
        var configuration = Configuration()
        configuration.busyMode = .immediateError
        // Opened here: a thread that starts late must not create a file that was moved away meanwhile.
        // Without its own connection the writer's automatic checkpoint does it.
        let queue = try? DatabaseQueue(path: path, configuration: configuration)
        SystemThread.start("sbx-checkpoint") {
            var isFailing = false
            while Self.pause(phase) {
                let fault = Self.checkpoint(queue)
                guard isFailing != (fault != nil) else { continue }
                isFailing = fault != nil
                onChange(fault)
            }
            try? queue?.close()
            phase.updateAll { $0 = .stopped }
        }
    }

    /// Why the log could not be copied; nil if it was, or another connection is copying it.
    private static func checkpoint(_ queue: DatabaseQueue?) -> (any Error)? {
        do {
            _ = try queue?.writeWithoutTransaction { try $0.checkpoint(.passive) }
        } catch let fault as DatabaseError
            where [.SQLITE_BUSY, .SQLITE_LOCKED].contains(fault.resultCode.primaryResultCode)
        {
            return nil
        } catch {
            return error
        }
        return nil
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
