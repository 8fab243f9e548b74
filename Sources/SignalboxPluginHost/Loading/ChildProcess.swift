internal import CLinux
internal import Glibc
internal import SignalboxThreads

/// Runs a program and reads its output until it ends or times out; its child processes end with it.
package struct ChildProcess {
    /// How it ended, and what it wrote.
    package struct Output: Sendable {
        /// Standard output, up to 1 MiB.
        package var text: String
        /// Standard error, up to 1 MiB.
        package var errors: String
        /// The exit status, unless a signal ended it.
        package var status: Int32
        /// The signal that ended it, if one did.
        package var signal: Int32?
        /// Whether it missed its deadline and was killed.
        package var isLate: Bool
    }

    /// Why it could not be started.
    package struct Fault: Error, CustomStringConvertible {
        /// A message for people.
        package var message: String

        /// The message.
        package var description: String { message }
    }

    private var arguments: [String]
    /// Its standard input.
    package var input: [UInt8] = []
    /// Variables in addition to those of this process; these take precedence.
    package var environment: [String: String] = [:]

    /// Whether it gets only the variables of a plugin's process, and no descriptor from 4 on.
    package var isScrubbed = false

    /// Prepares a call; `arguments[0]` is the program's path.
    package init(_ arguments: [String]) { self.arguments = arguments }

    /// Runs it.
    ///
    /// `report` gets each line the program writes to descriptor 3, and may return a new timeout in
    /// milliseconds, counted from then.
    package func run(
        timeoutMs: UInt64, report: (String) -> UInt64? = { _ in nil }
    ) throws(Fault) -> Output {
        var pipes: [Pipe] = []
        for _ in 0..<3 { if let pipe = Pipe() { pipes.append(pipe) } }
        guard pipes.count == 3, let file = tmpfile() else {
            throw Fault(message: "pipes for a child process cannot be made")
        }
        defer { fclose(file) }
        _ = fwrite(input, 1, input.count, file)
        fflush(file)
        rewind(file)
        let pid = try start(standardInput: fileno(file), pipes)
        for pipe in pipes { pipe.closeWriter() }
        var loop = ReadingLoop(
            pipes: pipes, deadlineNs: SystemClock.monotonicNs + timeoutMs * 1_000_000)
        // It may have closed its output, and run on.
        let isLate = !loop.run(report) || !Self.hasEnded(pid, deadlineNs: loop.deadlineNs)
        if isLate { kill(-pid, SIGKILL) } else { linux_kill_group_of_ended(pid) }
        var raw: Int32 = 0
        while waitpid(pid, &raw, 0) < 0, errno == EINTR {}
        let signal = raw & 0x7F
        return Output(
            text: loop.text(0), errors: loop.text(1), status: raw >> 8 & 0xFF,
            signal: signal == 0 ? nil : signal, isLate: isLate)
    }

    /// Waits for its end, which is not yet reaped; without a descriptor for it, it is said to be due.
    private static func hasEnded(_ pid: pid_t, deadlineNs: UInt64) -> Bool {
        let end = linux_child_end(pid)
        guard end >= 0 else { return true }
        defer { close(end) }
        while true {
            let now = SystemClock.monotonicNs
            guard now < deadlineNs else { return false }
            var entry = pollfd(fd: end, events: Int16(POLLIN), revents: 0)
            if poll(&entry, 1, Int32(clamping: (deadlineNs - now) / 1_000_000 + 1)) > 0 {
                return true
            }
        }
    }

    private func start(standardInput: Int32, _ pipes: [Pipe]) throws(Fault) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, standardInput, 0)
        for (index, pipe) in pipes.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, pipe.writer, Int32(index + 1))
        }
        if isScrubbed { linux_spawn_close_from(&actions, Int32(pipes.count) + 1) }
        // Only the crash itself matters, so it needs no backtrace.
        var given = ["SWIFT_BACKTRACE": "enable=no"].merging(environment) { $1 }
        for entry in isScrubbed ? RunnerEnvironment.entries : RunnerEnvironment.all {
            let parts = entry.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2, given[String(parts[0])] == nil {
                given[String(parts[0])] = String(parts[1])
            }
        }
        let (pid, status) = PluginSpawn.start(
            arguments, &actions, environment: given.map { "\($0.key)=\($0.value)" })
        guard status == 0 else {
            throw Fault(message: "\(arguments[0]) cannot be started")
        }
        return pid
    }
}

/// A pipe whose ends no other child inherits.
private final class Pipe {
    let reader: Int32
    private(set) var writer: Int32

    init?() {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { return nil }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        (reader, writer) = (ends[0], ends[1])
    }

    func closeWriter() {
        close(writer)
        writer = -1
    }

    deinit {
        close(reader)
        if writer >= 0 { close(writer) }
    }
}

/// Reads standard output, standard error and descriptor 3 at the same time.
private struct ReadingLoop {
    private static let bytesMax = 1 << 20
    private let pipes: [Pipe]
    /// `report` may have moved it.
    private(set) var deadlineNs: UInt64
    private var bytes: [[UInt8]] = [[], [], []]
    private var isOpen = [true, true, true]
    private var chunk = [UInt8](repeating: 0, count: 16 * 1024)

    init(pipes: [Pipe], deadlineNs: UInt64) {
        self.pipes = pipes
        self.deadlineNs = deadlineNs
    }

    func text(_ index: Int) -> String { String(decoding: bytes[index], as: UTF8.self) }

    /// False if the time was up.
    mutating func run(_ report: (String) -> UInt64?) -> Bool {
        while isOpen.contains(true) {
            let now = SystemClock.monotonicNs
            guard now < deadlineNs else { return false }
            // poll() skips negative descriptors.
            var entries = pipes.indices.map {
                pollfd(fd: isOpen[$0] ? pipes[$0].reader : -1, events: Int16(POLLIN), revents: 0)
            }
            let waitMs = Int32(clamping: (deadlineNs - now) / 1_000_000 + 1)
            guard poll(&entries, 3, waitMs) > 0 else { continue }
            for index in entries.indices where entries[index].revents != 0 { take(index, report) }
        }
        return true
    }

    private mutating func take(_ index: Int, _ report: (String) -> UInt64?) {
        let count = read(pipes[index].reader, &chunk, chunk.count)
        if count < 0, errno == EINTR { return }
        guard count > 0 else {
            isOpen[index] = false
            return
        }
        if index < 2 {
            if bytes[index].count < Self.bytesMax { bytes[index] += chunk[..<count] }
            return
        }
        bytes[index] += chunk[..<count]
        while let end = bytes[index].firstIndex(of: UInt8(ascii: "\n")) {
            let line = String(decoding: bytes[index][..<end], as: UTF8.self)
            bytes[index].removeSubrange(...end)
            if let ms = report(line) { deadlineNs = SystemClock.monotonicNs + ms * 1_000_000 }
        }
        // No line of ours is that long.
        if bytes[index].count > Self.bytesMax { bytes[index] = [] }
    }
}
