import Glibc
import Synchronization

/// SIGTERM and SIGINT as something to wait for.
enum StopSignals {
    /// The two ends of the pipe that the handler rings; -1: none yet.
    private static let reader = Atomic<Int32>(-1)
    private static let bell = Atomic<Int32>(-1)

    /// Catches the signals from now on, also those that come before `wait`.
    static func catchAll() {
        // A peer that closes its end must not end the program.
        signal(SIGPIPE, SIG_IGN)
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return }
        reader.store(ends[0], ordering: .sequentiallyConsistent)
        bell.store(ends[1], ordering: .sequentiallyConsistent)
        for number in [SIGTERM, SIGINT] {
            // Only what is allowed in a handler: load a number, write a byte.
            signal(number) { _ in
                var byte: UInt8 = 1
                _ = write(StopSignals.bell.load(ordering: .relaxed), &byte, 1)
            }
        }
    }

    /// Waits for the first signal; from then on a second one ends the program at once.
    static func wait() async {
        let reader = reader.load(ordering: .relaxed)
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let waiter = Unmanaged.passRetained(Waiter(continuation, reader))
            var thread = pthread_t()
            pthread_create(
                &thread, nil,
                { argument in
                    guard let argument else { return nil }
                    let waiter = Unmanaged<Waiter>.fromOpaque(argument).takeRetainedValue()
                    waiter.read()
                    waiter.continuation.resume()
                    waiter.read()
                    _exit(130)
                }, waiter.toOpaque())
            pthread_detach(thread)
        }
    }

    private final class Waiter: Sendable {
        let continuation: CheckedContinuation<Void, Never>
        private let reader: Int32

        init(_ continuation: CheckedContinuation<Void, Never>, _ reader: Int32) {
            self.continuation = continuation
            self.reader = reader
        }

        func read() {
            var byte: UInt8 = 0
            while Glibc.read(reader, &byte, 1) < 0, errno == EINTR {}
        }
    }
}
