internal import Glibc

/// Starts threads.
public enum Thread {
    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Runs something that blocks on a thread of its own and waits for it by suspending, so that it
    /// holds none of the task pool.
    public static func value<Value: Sendable>(
        _ body: @escaping @Sendable () -> Value
    ) async -> Value {
        await withCheckedContinuation { continuation in
            start { continuation.resume(returning: body()) }
        }
    }

    /// Runs `body` on a new detached thread with all signals blocked: signals are the program's.
    public static func start(_ body: @escaping @Sendable () -> Void) {
        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        var thread = pthread_t()
        let argument = Unmanaged.passRetained(Body(body)).toOpaque()
        let status = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            }, argument)
        // Without its threads the gateway cannot do anything that was promised.
        precondition(status == 0, "the system refused a thread")
        pthread_detach(thread)
    }
}

/// What the machine has.
public enum Threads {
    /// Processors that this process may use.
    public static var cores: Int { max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))) }
}
