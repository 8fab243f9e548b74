internal import CLinux
internal import Glibc
internal import SignalboxThreads
internal import Synchronization

/// The process that a plugin runs in.
final class RunnerProcess: Sendable {
    /// The descriptor of its socket in the process itself.
    static let socket: Int32 = 3
    /// How long it may take to end after its socket is closed.
    private static let endMs: UInt64 = 500

    /// Whether it still runs, or how it ended.
    private enum Fate {
        case running
        case ended(String)
    }

    let pid: pid_t
    private let fate = Mutex(Fate.running)

    private init(pid: pid_t) { self.pid = pid }

    /// Starts a program with a socket to it, and with what it is to do to itself on its standard input; `errors` is the
    /// other end of its standard error.
    ///
    /// The process dies with the calling thread, so that thread must live as long as the process.
    static func start(
        _ command: [String], plan: ConfinementPlan
    ) throws(PluginFault) -> (process: RunnerProcess, socket: Int32, errors: Int32) {
        let (socket, own) = try pair()
        defer { close(own) }
        var isStarted = false
        defer { if !isStarted { close(socket) } }
        let (errors, ownErrors) = try pair()
        defer { close(ownErrors) }
        defer { if !isStarted { close(errors) } }
        guard let input = MemoryFile("plan"), write(input.file, plan.bytes, plan.bytes.count) > 0
        else { throw PluginFault(.unreachable, "no memory for its process: \(words(errno))") }
        lseek(input.file, 0, SEEK_SET)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // The second first: it may have the number of the first's place.
        posix_spawn_file_actions_adddup2(&actions, ownErrors, STDERR_FILENO)
        posix_spawn_file_actions_adddup2(&actions, own, Self.socket)
        posix_spawn_file_actions_adddup2(&actions, input.file, STDIN_FILENO)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
        if plan.has(.descriptors) { linux_spawn_close_from(&actions, Self.socket + 1) }
        let (pid, status) = PluginSpawn.start(
            command, &actions,
            environment: plan.has(.environment) ? RunnerEnvironment.entries : RunnerEnvironment.all)
        guard status == 0 else {
            throw PluginFault(
                .unreachable, "its process cannot be started: \(command[0]): \(words(status))")
        }
        isStarted = true
        return (RunnerProcess(pid: pid), socket, errors)
    }

    private static func pair() throws(PluginFault) -> (Int32, Int32) {
        var ends: [Int32] = [-1, -1]
        guard linux_socket_pair(&ends) == 0 else {
            throw PluginFault(.unreachable, "no socket for its process: \(words(errno))")
        }
        return (ends[0], ends[1])
    }

    /// Kills it if it still runs, with what it has started.
    func kill() {
        fate.withLock { if case .running = $0 { Glibc.kill(-pid, SIGKILL) } }
    }

    /// A descriptor that can be read once it has ended; -1: the system has none. The caller closes it.
    var end: Int32 { linux_child_end(pid) }

    /// Waits for its end, which is due now, ends what it has started, and describes how it ended: "was ended by SIGSEGV
    /// (Segmentation fault)".
    func reap() -> String {
        let deadline = SystemClock.monotonicNs + Self.endMs * 1_000_000
        let pause = Gate(())
        while true {
            let isLate = SystemClock.monotonicNs >= deadline
            if isLate { kill() }
            let ended = fate.withLock { fate -> String? in
                if case .ended(let how) = fate { return how }
                var raw: Int32 = 0
                linux_kill_group_of_ended(pid)
                var usage = rusage()
                let found = wait4(pid, &raw, isLate ? 0 : WNOHANG, &usage)
                guard found != 0, found == pid || errno != EINTR else { return nil }
                // It may have been reaped elsewhere, for example because the program ignores SIGCHLD.
                let how = found == pid ? Self.words(status: raw, heldKiB: usage.ru_maxrss) : "ended"
                fate = .ended(how)
                return how
            }
            if let ended { return ended }
            let until = min(deadline, SystemClock.monotonicNs + 1_000_000)
            pause.wait(until: { _ in (SystemClock.monotonicNs >= until ? () : nil, until) })
        }
    }

    static func words(status: Int32, heldKiB: Int) -> String {
        // Then its end may come from the bound, or from a machine without memory.
        let isLarge = UInt64(heldKiB) << 10 >= Confiner.memoryMax / 2
        guard isLarge else { return ending(status) }
        let most = Confiner.memoryMax >> 20
        return ending(status) + "; it held \(heldKiB >> 10) MiB of memory, and \(most) are the most"
    }

    private static func ending(_ status: Int32) -> String {
        let signal = status & 0x7F
        guard signal != 0 else { return "ended itself (exit \(status >> 8 & 0xFF))" }
        let text = strsignal(signal).map { String(cString: $0) } ?? "unknown"
        // Only the filter of a sandbox ends a process this way.
        let why = signal == SIGSYS ? ": it made a call that isolation: sandbox forbids" : ""
        return "was ended by \(SignalNames.name(signal)) (\(text))\(why)"
    }

    private static func words(_ number: Int32) -> String { String(cString: strerror(number)) }
}
