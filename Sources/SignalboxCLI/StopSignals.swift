import Glibc

/// SIGTERM and SIGINT, waited for instead of handled.
enum StopSignals {
    /// Keeps the signals for `wait`; must run before the program starts threads.
    static func block() {
        var set = signals
        pthread_sigmask(SIG_BLOCK, &set, nil)
        // A peer that closes its end must not end the program.
        signal(SIGPIPE, SIG_IGN)
    }

    /// Waits for the first one; from then on a second one ends the program at once.
    static func wait() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let waiter = Waiter(continuation)
            var thread = pthread_t()
            pthread_create(
                &thread, nil,
                { argument in
                    guard let argument else { return nil }
                    let waiter = Unmanaged<Waiter>.fromOpaque(argument).takeRetainedValue()
                    StopSignals.take()
                    waiter.continuation.resume()
                    StopSignals.take()
                    _exit(130)
                }, Unmanaged.passRetained(waiter).toOpaque())
            pthread_detach(thread)
        }
    }

    private final class Waiter: Sendable {
        let continuation: CheckedContinuation<Void, Never>
        init(_ continuation: CheckedContinuation<Void, Never>) { self.continuation = continuation }
    }

    private static func take() {
        var set = signals
        var number: Int32 = 0
        sigwait(&set, &number)
    }

    private static var signals: sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, SIGTERM)
        sigaddset(&set, SIGINT)
        return set
    }
}
