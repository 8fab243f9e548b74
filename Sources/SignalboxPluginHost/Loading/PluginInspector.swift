internal import Glibc
public import SignalboxCore
internal import SignalboxJSON
internal import SignalboxThreads

/// Looks at a library in a process of its own, so that one that crashes is reported and not fatal.
public enum PluginInspector {
    private static let mark = "signalbox-plugin "

    /// What a library says of itself, found out by running `command` with the file as last argument.
    ///
    /// The command must call `describe`. It blocks for at most `timeoutMs`.
    public static func inspect(
        _ file: String, command: [String], timeoutMs: UInt64 = 10_000
    ) -> Result<PluginDescriptor, LoadFault> {
        look(at: file, command: command, timeoutMs: timeoutMs).map(\.descriptor)
    }

    /// The same, with the schema of a route's `build.options`.
    static func look(
        at file: String, command: [String], timeoutMs: UInt64 = 10_000
    ) -> Result<(descriptor: PluginDescriptor, buildOptionsSchema: String?), LoadFault> {
        let output: ChildProcess.Output
        switch ChildProcess.run(command + [file], timeoutMs: timeoutMs) {
        case .failure(let fault):
            return .failure(LoadFault("plugin-not-inspected", "\(file): \(fault.message)"))
        case .success(let given): output = given
        }
        if let signal = output.signal {
            let name = strsignal(signal).map { String(cString: $0) } ?? "unknown"
            return .failure(
                LoadFault(
                    "plugin-crashes",
                    "\(file) crashes while it is loaded (signal \(signal): \(name))"))
        }
        for line in output.text.split(separator: "\n") where line.hasPrefix(mark) {
            if let json = try? JSONValue.parse(String(line.dropFirst(mark.count))) {
                return read(json, file)
            }
        }
        return .failure(
            LoadFault(
                "plugin-crashes",
                "\(file) ends the process while it is loaded (exit \(output.status))"))
    }

    /// The line that the inspecting process prints: the descriptor, or the refusal.
    public static func describe(_ file: String) -> String {
        do throws(LoadFault) {
            let library = try PluginLibrary.load(PluginSearchPath.absolute(file) ?? file)
            guard case .object(var members) = json(library.descriptor) else { return mark }
            let schema = library.buildOptionsSchema.map { JSONValue.string($0) }
            members.append(.init("build_options_schema", schema ?? .null))
            return mark + JSONValue.object(members).text
        } catch {
            let members: [JSONValue.Member] = [
                .init("code", .string(error.code)), .init("message", .string(error.message)),
            ]
            return mark + JSONValue.object(members).text
        }
    }

    /// A descriptor as JSON.
    public static func json(_ descriptor: PluginDescriptor) -> JSONValue {
        let schema = descriptor.configSchema.map { (try? JSONValue.parse($0)) ?? .string($0) }
        return .object([
            .init("path", .string(descriptor.path)), .init("id", .string(descriptor.id)),
            .init("version", .string(descriptor.version)),
            .init("summary", .string(descriptor.summary)), .init("abi", .string(descriptor.abi)),
            .init("roles", .array(descriptor.roles.map(JSONValue.string))),
            .init("needs", .array(descriptor.needs.map(JSONValue.string))),
            .init("config_schema", schema ?? .null),
        ])
    }

    private static func read(
        _ json: JSONValue, _ file: String
    ) -> Result<(descriptor: PluginDescriptor, buildOptionsSchema: String?), LoadFault> {
        if let code = json["code"]?.string {
            return .failure(LoadFault(code, json["message"]?.string ?? file))
        }
        func texts(_ key: String) -> [String] {
            guard case .array(let items) = json[key] else { return [] }
            return items.compactMap(\.string)
        }
        let schema = json["config_schema"].flatMap { $0 == .null ? nil : $0.text }
        let descriptor = PluginDescriptor(
            path: json["path"]?.string ?? file, id: json["id"]?.string ?? "",
            version: json["version"]?.string ?? "", summary: json["summary"]?.string ?? "",
            abi: json["abi"]?.string ?? "", roles: texts("roles"), needs: texts("needs"),
            configSchema: schema)
        return .success((descriptor, json["build_options_schema"]?.string))
    }
}

/// Runs a program and reads what it prints.
enum ChildProcess {
    struct Output {
        var text: String
        var status: Int32
        /// The signal that ended it, if one did.
        var signal: Int32?
    }

    struct Fault: Error {
        var message: String
    }

    static func run(_ arguments: [String], timeoutMs: UInt64) -> Result<Output, Fault> {
        var pipes: [Int32] = [0, 0]
        guard pipe(&pipes) == 0 else { return .failure(Fault(message: "no pipe")) }
        // The child gets its end as standard output only.
        for end in pipes { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(pipes[0]) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, pipes[1], 1)
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        var argv: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        defer { for argument in argv { free(argument) } }
        // A crash is what is looked for; nobody reads its backtrace.
        var environment: [UnsafeMutablePointer<CChar>?] = [strdup("SWIFT_BACKTRACE=enable=no")]
        var next = environ
        while let entry = next.pointee {
            if strncmp(entry, "SWIFT_BACKTRACE=", 16) != 0 { environment.append(strdup(entry)) }
            next += 1
        }
        environment.append(nil)
        defer { for entry in environment { free(entry) } }
        var pid: pid_t = 0
        let status = posix_spawn(&pid, arguments[0], &actions, nil, &argv, &environment)
        close(pipes[1])
        guard status == 0 else { return .failure(Fault(message: "cannot start the inspection")) }
        let (text, isLate) = read(pipes[0], deadlineNs: Clock.monotonicNs + timeoutMs * 1_000_000)
        if isLate { kill(pid, SIGKILL) }
        var raw: Int32 = 0
        while waitpid(pid, &raw, 0) < 0, errno == EINTR {}
        if isLate { return .failure(Fault(message: "loading it takes over \(timeoutMs / 1000) s")) }
        let signal = raw & 0x7F
        return .success(
            Output(text: text, status: raw >> 8 & 0xFF, signal: signal == 0 ? nil : signal))
    }

    private static func read(_ pipe: Int32, deadlineNs: UInt64) -> (text: String, isLate: Bool) {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16 * 1024)
        while true {
            let now = Clock.monotonicNs
            guard now < deadlineNs else { return ("", true) }
            var entry = pollfd(fd: pipe, events: Int16(POLLIN), revents: 0)
            let waitMs = Int32(clamping: (deadlineNs - now) / 1_000_000 + 1)
            guard poll(&entry, 1, waitMs) != 0 else { continue }
            let count = Glibc.read(pipe, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return (String(decoding: bytes, as: UTF8.self), false) }
            if bytes.count < 1 << 20 { bytes += chunk[..<count] }
        }
    }
}
