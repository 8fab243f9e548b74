internal import CLinux
internal import Glibc

/// Operating system threads, each with a name that `top -H` and debuggers show.
public enum SystemThread {
    private final class Body: Sendable {
        let name: String
        let run: @Sendable () -> Void
        init(_ name: String, _ run: @escaping @Sendable () -> Void) {
            self.name = name
            self.run = run
        }
    }

    /// Number of online processors.
    public static var cores: Int { max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))) }

    /// Lets a handler of signals run on the calling thread although that has used up its stack; for threads that others
    /// have made. It lasts as long as the thread.
    public static func prepareForOverflow() { _ = linux_signal_stack() }

    /// Names the calling thread. Linux shows the first 15 bytes.
    public static func nameCurrent(_ name: String) { linux_name_thread(name) }

    /// Runs a blocking call on its own thread and suspends until it returns.
    ///
    /// It blocks no thread of the task pool, unless the system refuses a thread.
    public static func value<Value: Sendable>(
        _ body: @escaping @Sendable () -> Value
    ) async -> Value {
        await withCheckedContinuation { continuation in
            let run: @Sendable () -> Void = { continuation.resume(returning: body()) }
            if !isStarted("sbx-wait", run) { run() }
        }
    }

    /// Signals of faults of the thread itself. While one is blocked, a fault ends the process without its handler.
    public static let faults = [SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP]

    /// Runs `body` on a new detached thread with all signals blocked but those of its own faults.
    ///
    /// The program handles signals on its own threads.
    ///
    /// Linux shows the first 15 bytes of `name`.
    public static func start(_ name: String, _ body: @escaping @Sendable () -> Void) {
        let isThere = isStarted(name, body)
        // The gateway cannot work without its threads.
        precondition(isThere, "the system refused a thread")
    }

    /// The same for a thread that a running gateway can lack for a while. False if the system refused it.
    public static func isStarted(
        _ name: String, _ body: @escaping @Sendable () -> Void
    ) -> Bool {
        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        for fault in faults { sigdelset(&all, fault) }
        pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        var thread = pthread_t()
        let argument = Unmanaged.passRetained(Body(name, body))
        let status = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                let body = Unmanaged<Body>.fromOpaque(argument).takeRetainedValue()
                linux_name_thread(body.name)
                let stack = linux_signal_stack()
                body.run()
                linux_end_signal_stack(stack)
                return nil
            }, argument.toOpaque())
        guard status == 0 else {
            argument.release()
            return false
        }
        pthread_detach(thread)
        return true
    }
}
