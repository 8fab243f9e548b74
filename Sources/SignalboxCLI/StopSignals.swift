import Glibc
import Synchronization

/// Waits for SIGTERM, SIGINT and SIGHUP.
enum StopSignals {
    /// The two ends of the pipe that the signal handler writes to; -1: not created yet.
    private static let reader = Atomic<Int32>(-1)
    private static let bell = Atomic<Int32>(-1)
    private static let isEnding = Atomic<Bool>(false)

    /// A stop signal ends the program at once: it has nothing to finish yet.
    static var endsAtOnce: Bool {
        get { isEnding.load(ordering: .relaxed) }
        set { isEnding.store(newValue, ordering: .relaxed) }
    }

    /// Catches the signals from now on, including those that arrive before `wait`.
    static func catchAll(andHangUp isHangUp: Bool = false) {
        // A peer that closes its end must not end the program.
        signal(SIGPIPE, SIG_IGN)
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return }
        reader.store(ends[0], ordering: .sequentiallyConsistent)
        bell.store(ends[1], ordering: .sequentiallyConsistent)
        for number in [SIGTERM, SIGINT] + (isHangUp ? [SIGHUP] : []) {
            // A signal handler may do no more than load a number, write a byte and exit.
            signal(number) { number in
                if number != SIGHUP, StopSignals.isEnding.load(ordering: .relaxed) { _exit(0) }
                var byte = UInt8(truncatingIfNeeded: number)
                _ = write(StopSignals.bell.load(ordering: .relaxed), &byte, 1)
            }
        }
    }

    /// Waits for a stop signal; afterwards a second one ends the program at once.
    ///
    /// Each SIGHUP until then calls `onHangUp`, on its own thread.
    static func wait(onHangUp: @escaping @Sendable () -> Void = {}) async {
        let reader = reader.load(ordering: .relaxed)
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let waiter = Unmanaged.passRetained(Waiter(continuation, reader, onHangUp))
            var thread = pthread_t()
            pthread_create(
                &thread, nil,
                { argument in
                    guard let argument else { return nil }
                    let waiter = Unmanaged<Waiter>.fromOpaque(argument).takeRetainedValue()
                    waiter.readStop(waiter.onHangUp)
                    waiter.continuation.resume()
                    waiter.readStop {}
                    _exit(130)
                }, waiter.toOpaque())
            pthread_detach(thread)
        }
    }

    private final class Waiter: Sendable {
        let continuation: CheckedContinuation<Void, Never>
        let onHangUp: @Sendable () -> Void
        private let reader: Int32

        init(
            _ continuation: CheckedContinuation<Void, Never>, _ reader: Int32,
            _ onHangUp: @escaping @Sendable () -> Void
        ) {
            self.onHangUp = onHangUp
            self.continuation = continuation
            self.reader = reader
        }

        /// Reads until a stop signal arrives.
        func readStop(_ onHangUp: () -> Void) {
            while true {
                var byte: UInt8 = 0
                let count = Glibc.read(reader, &byte, 1)
                if count < 0, errno == EINTR { continue }
                guard count == 1, Int32(byte) == SIGHUP else { return }
                onHangUp()
            }
        }
    }
}
