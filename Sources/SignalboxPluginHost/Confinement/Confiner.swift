internal import CLinux
internal import Glibc
internal import SignalboxThreads
internal import Synchronization

/// Confines this process before any code of a plugin runs in it.
///
/// Decision 55 gives the reasons, and what the kernel must support.
public enum Confiner {
    /// Open files of a plugin's process, and of one in a sandbox.
    private static let filesMax: UInt64 = 4_096
    private static let sandboxFilesMax: UInt64 = 256
    /// Limit of the private writable memory of a plugin's process, in bytes: a plugin that leaks ends there.
    package static let memoryMax: UInt64 = 2 << 30
    /// By how much the OOM killer prefers a plugin's process to the gateway, in thousandths of the memory.
    private static let survival: Int32 = 300
    /// Threads of a sandbox.
    private static let threadsMax: UInt64 = 1_024

    /// The version of Landlock that the kernel offers, or 0.
    package static var landlockVersion: Int { Int(landlock_version()) }

    private struct State {
        var confinement: Confinement?
        var refusal: String?
        var lacks: [String] = []
    }

    private static let state = Mutex(State())

    /// Whether this process is a sandbox.
    static var isSandbox: Bool { state.withLock { $0.confinement == .sandbox } }
    /// Why no plugin may be loaded in this process; nil if one may.
    static var refusal: String? { state.withLock { $0.refusal } }
    /// What this sandbox lacks because the kernel or container does not allow it.
    static var lacks: [String] { state.withLock { $0.lacks } }

    /// Confines this process as the gateway says on standard input.
    ///
    /// Call it first in `main`: it must come before any other thread. If it fails, no plugin can be loaded.
    public static func enter() {
        let plan = readPlan()
        let fault = confine(plan)
        state.withLock { state in
            state.confinement = plan.confinement
            state.refusal = fault
        }
    }

    /// Confines this process, in which a plugin is examined, like that of an isolated plugin, and forbids it from
    /// starting processes. Call it while there is one thread.
    ///
    /// `isWatched`: a memory checker runs, whose own tables would count against the memory limit. `onProcess` is
    /// called on a separate thread at the first attempt to start a process, unless a checker runs or the kernel
    /// cannot tell. Returns what is missing, or nil.
    package static func enterExamination(
        isWatched: Bool, onProcess: @escaping @Sendable () -> Void
    ) -> String? {
        _ = linux_die_with_parent()
        limit(isSandbox: false, hasMemory: !isWatched)
        _ = confine_privileges()
        var attempts: Int32 = -1
        let status =
            isWatched ? seccomp_no_processes(1, nil) : seccomp_no_processes(0, &attempts)
        if status != 0 {
            return
                "the processes that the plugin starts are not bounded: this kernel or container has no "
                + "seccomp filters (\(String(cString: strerror(status))))"
        }
        guard attempts >= 0 else { return nil }
        let (all, bell) = (attempts, linux_bell())
        SystemThread.start("sbx-check") { _ = seccomp_refuse_attempts(all, bell) }
        // On another thread: `onProcess` may allocate, and malloc stays locked until the fork is answered.
        SystemThread.start("sbx-check") {
            var entry = pollfd(fd: bell, events: Int16(POLLIN), revents: 0)
            while poll(&entry, 1, -1) < 0, errno == EINTR {}
            if entry.revents & Int16(POLLIN) != 0 { onProcess() }
        }
        return nil
    }

    /// Lets this thread start no process, for good: a library that is only described has nothing to start.
    package static func forbidProcesses() {
        guard confine_privileges() == 0 else { return }
        _ = seccomp_no_processes(0, nil)
    }

    /// When a person runs the command, standard input holds no plan.
    private static func readPlan() -> ConfinementPlan {
        var facts = stat()
        guard fstat(STDIN_FILENO, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else {
            return ConfinementPlan()
        }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16 * 1024)
        while bytes.count < 1 << 20 {
            let count = read(STDIN_FILENO, &chunk, chunk.count)
            guard count > 0 else { break }
            bytes += chunk[..<count]
        }
        let null = open("/dev/null", O_RDONLY)
        if null > STDIN_FILENO {
            dup2(null, STDIN_FILENO)
            close(null)
        }
        guard let plan = ConfinementPlan(bytes: bytes) else { return ConfinementPlan() }
        // Even a plugin in an endless loop must not outlive its gateway.
        _ = linux_die_with_parent()
        return plan
    }

    /// Returns what a sandbox must have and this one has not; nil if it is sound.
    private static func confine(_ plan: ConfinementPlan) -> String? {
        let isSandbox = plan.confinement == .sandbox
        if plan.has(.limits) { limit(isSandbox: isSandbox, hasMemory: true) }
        if isSandbox, plan.has(.namespaces) { enterNamespaces(plan) }
        if plan.has(.privileges) {
            let status = confine_privileges()
            if isSandbox, status != 0 { return words("no_new_privs (Linux 3.5)", status) }
        }
        if plan.has(.landlock) {
            let status = isSandbox ? LandlockRules.enterSandbox(plan) : LandlockRules.enterProcess()
            if isSandbox, status != 0 { return words("Landlock (Linux 5.13)", status) }
        }
        if plan.has(.capabilities) {
            let status = confine_capabilities(isSandbox ? 1 : 0)
            if isSandbox, status != 0 { return words("to drop its capabilities", status) }
        }
        // The runtime's backtraces are made by another process, which must look into this one.
        let isTraced =
            !isSandbox
            && (getenv("SWIFT_BACKTRACE").map { strstr($0, "enable=no") == nil } ?? false)
        if plan.has(.dumps), !isTraced { _ = confine_dumps() }
        if isSandbox, plan.has(.seccomp) {
            let status = seccomp_enter()
            if status != 0 { return words("seccomp filters (Linux 4.14)", status) }
        }
        return nil
    }

    private static func limit(isSandbox: Bool, hasMemory: Bool) {
        _ = confine_cores()
        _ = confine_files(isSandbox ? sandboxFilesMax : filesMax)
        if hasMemory { _ = confine_memory(memoryMax) }
        _ = confine_survival(survival)
    }

    /// Containers often forbid them; then the filter of system calls does without.
    private static func enterNamespaces(_ plan: ConfinementPlan) {
        let status = confine_namespaces()
        guard status == 0 else {
            state.withLock { $0.lacks.append("namespaces: \(String(cString: strerror(status)))") }
            return
        }
        if plan.has(.limits) { _ = confine_threads(threadsMax) }
    }

    private static func words(_ what: String, _ status: Int32) -> String {
        "isolation: sandbox needs \(what), which this kernel or container does not offer "
            + "(\(String(cString: strerror(status)))); use isolation: process if you trust the plugin"
    }
}
