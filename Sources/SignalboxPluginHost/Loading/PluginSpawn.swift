internal import Glibc

/// Starts the processes that plugins run in.
enum PluginSpawn {
    /// Starts a program in a process group of its own, so that what it starts can be ended with it, with no signal
    /// blocked, ignored or handled as in this process. Returns the system's error if it cannot be started.
    static func start(
        _ command: [String], _ actions: inout posix_spawn_file_actions_t, environment: [String]
    ) -> (pid: pid_t, status: Int32) {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        var all = sigset_t()
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes,
            Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))
        var argv: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
        defer { for argument in argv { free(argument) } }
        var entries: [UnsafeMutablePointer<CChar>?] = environment.map { strdup($0) } + [nil]
        defer { for entry in entries { free(entry) } }
        var pid: pid_t = 0
        let status = posix_spawn(&pid, command[0], &actions, &attributes, &argv, &entries)
        return (pid, status)
    }
}
