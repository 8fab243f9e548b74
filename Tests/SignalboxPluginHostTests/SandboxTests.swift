import Foundation
import PluginRig
import SignalboxCore
import SignalboxJSON
import Testing

@testable import SignalboxPluginHost

/// A hostile plugin tries one thing after the other.
///
/// Serialized: it looks at what this process has. On kernels before 6.12 some layers are thinner than these tests ask.
@Suite(.serialized, .enabled(if: Confiner.landlockVersion >= 6))
struct SandboxTests {
    /// What it tries, what holds it back in a sandbox (each alone), and what in a mere process (nothing: it works there).
    struct Attack: CustomTestStringConvertible, Sendable {
        var name: String
        var target = ""
        var sandbox: Set<Protection>
        var process: Set<Protection> = []
        /// Layers that hold it back on some kernels only.
        var sometimes: Set<Protection> = []

        var testDescription: String { "\(name) \(target)" }
    }

    /// Only root has capabilities to lose.
    static let isRoot = geteuid() == 0
    /// What keeps it from looking into this process.
    static let looking: Set<Protection> = isRoot ? [.landlock, .capabilities] : [.landlock]
    static let memory = looking.union([.namespaces])

    static let attacks: [Attack] =
        [
            // From Linux 6.13 on, CAP_PERFMON reads it whatever Landlock says.
            .init(
                name: "environ", sandbox: memory.subtracting([.landlock]), process: looking,
                sometimes: [.landlock]),
            .init(name: "memory", sandbox: memory, process: looking),
            .init(
                name: "look", target: "MEMORY", sandbox: memory.union([.seccomp]), process: looking),
            .init(name: "trace", sandbox: memory.union([.seccomp]), process: looking),
            .init(name: "read", target: "SECRET", sandbox: [.landlock]),
            .init(name: "read", target: "BESIDE", sandbox: [.landlock]),
            .init(name: "read", target: "/etc/passwd", sandbox: [.landlock]),
            .init(name: "write", target: "NEW", sandbox: [.landlock]),
            .init(name: "truncate", target: "SECRET", sandbox: [.landlock, .seccomp]),
            .init(name: "chmod", target: "SECRET", sandbox: [.seccomp]),
            .init(name: "tcp", target: "PORT", sandbox: [.landlock, .seccomp, .namespaces]),
            .init(name: "unix", target: "SOCKET", sandbox: [.seccomp]),
            .init(
                name: "abstract", target: "ABSTRACT", sandbox: [.landlock, .seccomp, .namespaces]),
            .init(name: "exec", sandbox: [.landlock, .seccomp]),
            .init(name: "fork", sandbox: [.seccomp]),
            .init(name: "kill", sandbox: [.landlock, .seccomp], process: [.landlock]),
            .init(name: "limit", sandbox: [.seccomp]),
            .init(name: "owner", sandbox: [.seccomp]),
            .init(name: "files", sandbox: [.limits]),
            .init(name: "hoard", sandbox: [.limits], process: [.limits]),
            // The kernel ends the gateway first if memory runs out.
            .init(name: "survive", sandbox: [.limits], process: [.limits]),
            .init(name: "hoard shared", sandbox: [.seccomp]),
            .init(name: "hoard zero", sandbox: [.landlock]),
            .init(name: "hoard file", sandbox: [.seccomp]),
            .init(name: "dump", sandbox: [.dumps], process: [.dumps]),
            // Landlock and seccomp need it themselves.
            .init(
                name: "gain", sandbox: [.privileges], process: [.privileges],
                sometimes: [.landlock, .seccomp]),
            .init(
                name: "descriptor", target: "DESCRIPTOR", sandbox: [.descriptors],
                process: [.descriptors]),
            .init(
                name: "variable", target: "VARIABLE", sandbox: [.environment],
                process: [.environment]),
        ] + (isRoot ? [] : [.init(name: "threads", sandbox: [.limits])])

    /// On many systems a process may only be traced by the one that started it.
    static func isHeldByYama(_ attack: Attack) -> Bool {
        let scope = try? String(
            contentsOfFile: "/proc/sys/kernel/yama/ptrace_scope", encoding: .utf8)
        return !isRoot && scope.map { $0 != "0\n" } ?? false
            && ["memory", "look", "trace"].contains(attack.name)
    }

    @Test(arguments: attacks)
    func `in a sandbox it fails, and each layer holds it back alone`(_ attack: Attack) async throws
    {
        let prey = try await Prey()
        #expect(try await prey.isHit(attack, .sandbox, without: []) == false)
        for layer in attack.sandbox {
            let others = attack.sandbox.union(attack.sometimes).subtracting([layer])
            #expect(
                try await prey.isHit(attack, .sandbox, without: others) == false,
                "\(layer) alone does not hold it back")
        }
        guard !Self.isHeldByYama(attack) else { return }
        #expect(
            try await prey.isHit(
                attack, .sandbox, without: attack.sandbox.union(attack.sometimes)),
            "it fails whatever is left out, so this test shows nothing")
    }

    @Test(arguments: attacks)
    func `a process of its own holds back little`(_ attack: Attack) async throws {
        let prey = try await Prey()
        #expect(
            try await prey.isHit(attack, .process, without: []) == attack.process.isEmpty)
        guard !Self.isHeldByYama(attack) else { return }
        #expect(try await prey.isHit(attack, .process, without: attack.process))
    }

    @Test(arguments: [
        (Confinement.process, "variable 0, environ 0, descriptor 0, passwd 1"),
        (.sandbox, "variable 0, environ 0, descriptor 0, passwd 0"),
    ])
    func `to describe it gives it no more`(confinement: Confinement, words: String) async throws {
        let prey = try await Prey()
        var options = IsolationOptions()
        options.runner = try PluginRig.runner()
        let code = try IsolatedLibrary.inspect(
            prey.library, confinement: confinement, options: options)
        #expect(code.descriptor.summary == words)
        options.omitted = Set(Protection.allCases)
        let open = try IsolatedLibrary.inspect(
            prey.library, confinement: confinement, options: options)
        #expect(
            open.descriptor.summary == "variable 1, environ 1, descriptor 1, passwd 1")
    }

    @Test func `a file that its config names can be read`() async throws {
        let prey = try await Prey()
        let attack = Attack(name: "read", target: "SECRET", sandbox: [])
        #expect(try await prey.isHit(attack, .sandbox, without: [], files: [prey.secret]))
    }

    @Test func `a plan is what was written, and other bytes are none`() {
        var plan = ConfinementPlan()
        #expect(ConfinementPlan(bytes: plan.bytes) == plan)
        plan.confinement = .sandbox
        plan.library = "/a b/libX.so"
        plan.files = ["/ü", "relative"]
        plan.omitted = [.seccomp, .limits]
        #expect(ConfinementPlan(bytes: plan.bytes) == plan)
        for text in ["", "\0\0\0\0", "signalbox-confinement\0cage\0\0", "PATH=/bin"] {
            #expect(ConfinementPlan(bytes: Array(text.utf8)) == nil)
        }
    }
}

/// What a hostile plugin is after.
private final class Prey {
    let library: String
    let secret: String
    private let folder: URL
    private let memory: UnsafeMutablePointer<CChar>
    private let pipe: [Int32]
    private let inherited: Int32
    private let tcp: Int32
    private let unix: Int32
    private let abstract: Int32
    private var port: UInt16 = 0

    /// A variable of this process that a plugin must not see. (Setting one would disturb other tests.)
    static let variable: String = {
        let wanted = RunnerEnvironment.entries.map { $0.prefix { $0 != "=" } }
        return RunnerEnvironment.all.map { $0.prefix { $0 != "=" } }
            .first { !wanted.contains($0) }.map(String.init) ?? ""
    }()

    static let built = Task.detached {
        let file = PluginRig.root.appending(path: "Tests/Fixtures/Isolation/hostile.c")
        let source = try String(contentsOf: file, encoding: .utf8)
        return try await PluginRig.compile(
            source.replacingOccurrences(of: "@VARIABLE@", with: variable))
    }

    init() async throws {
        library = try await Self.built.value
        folder = try Workshop.folder("prey")
        secret = folder.appending(path: "apns.p8").path
        try "a secret".write(toFile: secret, atomically: true, encoding: .utf8)
        let beside = URL(filePath: library).deletingLastPathComponent().appending(
            path: "gateway.yaml")
        try "version: 1".write(to: beside, atomically: true, encoding: .utf8)
        memory = strdup("hunter2")
        var ends: [Int32] = [0, 0]
        _ = Glibc.pipe(&ends)
        // It stays open in programs that are started.
        inherited = fcntl(ends[1], F_DUPFD, 200)
        pipe = ends
        tcp = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let opened = tcp
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(opened, $0, size)
                listen(opened, 8)
                getsockname(opened, $0, &size)
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        unix = Self.listener(folder.appending(path: "s").path, isAbstract: false)
        abstract = Self.listener(folder.lastPathComponent, isAbstract: true)
    }

    private static func listener(_ name: String, isAbstract: Bool) -> Int32 {
        let made = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = (isAbstract ? [0] : []) + Array(name.utf8)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let size = socklen_t(2 + bytes.count)
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = bind(made, $0, size)
            }
        }
        listen(made, 8)
        return made
    }

    deinit {
        for file in pipe + [inherited, tcp, unix, abstract] { close(file) }
        free(memory)
    }

    private func target(_ word: String) -> String {
        switch word {
        case "MEMORY": "\(UInt(bitPattern: memory))"
        case "SECRET": secret
        case "BESIDE": URL(filePath: library).deletingLastPathComponent().path + "/gateway.yaml"
        case "NEW": folder.appending(path: "new").path
        case "PORT": "\(port)"
        case "SOCKET": folder.appending(path: "s").path
        case "ABSTRACT": folder.lastPathComponent
        case "DESCRIPTOR": "\(inherited)"
        case "VARIABLE": Self.variable
        default: word
        }
    }

    /// Whether an attack works. A delivery through the same plugin must work in any case.
    func isHit(
        _ attack: SandboxTests.Attack, _ confinement: Confinement, without: Set<Protection>,
        files: [String] = []
    ) async throws -> Bool {
        let services = RigServices()
        let config: JSONValue = [
            "try": .string(attack.name), "target": .string(target(attack.target)),
        ]
        do {
            let instance = try await PluginRig.isolated(
                library, config: config, services: services, confinement: confinement,
                files: files, change: { $0.omitted = without })
            try await deliver(instance)
        } catch let fault as PluginFault {
            // It is over for the process: the filter has ended it, or it has become another program.
            if fault.message.hasSuffix("ended itself (exit 7)") { return true }
            #expect(
                fault.message.contains("made a call that isolation: sandbox forbids"), "\(fault)")
            let harmless = try await PluginRig.isolated(
                library, services: services, confinement: confinement, files: files,
                change: { $0.omitted = without })
            try await deliver(harmless)
            return false
        }
        let line = services.lines.first { $0.contains(" \(attack.name): ") }
        return try #require(line, "\(services.lines)").hasSuffix(": worked")
    }

    private func deliver(_ instance: IsolatedInstance) async throws {
        let roles = try await instance.roles(limits: Limits())
        let role = try #require(roles.sendHTTP)
        let result = role.prepare(app: "a", deliveries: IsolatedRoleTests.deliveries(["t"]))
        if case .ready(let requests, _) = result {
            #expect(requests.items == [1])
        } else {
            Issue.record("it delivers nothing: \(result)")
        }
        #expect(await instance.stop(deadlineMs: 5_000))
    }
}
