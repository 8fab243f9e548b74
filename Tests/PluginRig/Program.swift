import CLinux
import Foundation

/// A program that a test has started.
///
/// Not Foundation's `Process`: to list the open descriptors it copies whole directory entries, even
/// if the last one is shorter than 256 bytes, and sometimes reads past the end of its memory.
package final class Program: @unchecked Sendable {
    package let processIdentifier: pid_t
    private let lock = NSLock()
    private var known: Int32?

    /// Starts one; `environment` is laid over the process's own. It gets nothing of what is open here but its
    /// output, its errors and these sockets, as descriptors from 3 on.
    package init(
        _ command: [String], at folder: URL, environment: [String: String] = [:],
        sockets: [Int32] = [], output: Pipe, errors: Pipe
    ) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        let ends = [output, errors].map { $0.fileHandleForWriting.fileDescriptor }
        for (index, end) in ends.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, end, Int32(index + 1))
        }
        for (index, socket) in sockets.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, socket, Int32(index + 3))
        }
        _ = linux_spawn_close_from(&actions, Int32(sockets.count + 3))
        let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        var arguments = (["/usr/bin/env", "-C", folder.path] + command).map { strdup($0) } + [nil]
        var entries = variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in arguments + entries { free(text) } }
        var pid: pid_t = 0
        let status = posix_spawn(&pid, "/usr/bin/env", &actions, nil, &arguments, &entries)
        guard status == 0 else {
            throw PluginRig.Failure(
                description: "\(command[0]) cannot be started: \(String(cString: strerror(status)))"
            )
        }
        processIdentifier = pid
        // Our ends are closed, so that a reader sees the end when the program is gone.
        try? output.fileHandleForWriting.close()
        if errors !== output { try? errors.fileHandleForWriting.close() }
    }

    package func terminate() { kill(processIdentifier, SIGTERM) }

    /// Blocks until the program ends. Returns the exit status, or a signal's number, negated.
    @discardableResult
    package func wait() -> Int32 {
        lock.lock()
        defer { lock.unlock() }
        if let known { return known }
        var raw: Int32 = 0
        while waitpid(processIdentifier, &raw, 0) < 0, errno == EINTR {}
        let signal = raw & 0x7F
        let status = signal == 0 ? raw >> 8 & 0xFF : -signal
        known = status
        return status
    }
}
