import Foundation
import PluginRig
import SignalboxCore
import SignalboxPluginHost
import Testing

/// What happens to a plugin when its file changes, and where a plugin finds its libraries.
@Suite struct PluginFileTests {
    enum Harm: CaseIterable { case overwritten, cut, removed }

    private static func harm(_ path: String, _ harm: Harm) throws {
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        defer { try? file.close() }
        switch harm {
        case .overwritten:
            let size = Int(try file.seekToEnd())
            try file.seek(toOffset: 0)
            try file.write(contentsOf: Data(repeating: 0xFF, count: size))
        case .cut: try file.truncate(atOffset: 0)
        case .removed: try FileManager.default.removeItem(atPath: path)
        }
    }

    @Test(arguments: Harm.allCases)
    func `a plugin goes on working whatever becomes of its file`(harm: Harm) async throws {
        let roles = RoleTests()
        let source = roles.source(prepare: RoleTests.sendAll)
        let file = try await PluginRig.compile(source)
        let instance = try await PluginRig.instance(of: file, services: roles.services)
        try Self.harm(file, harm)
        let role = try #require(SendHTTPRole(instance))
        guard
            case .ready(let batch, _) = role.prepare(
                app: "", deliveries: RoleTests.deliveries(1...3))
        else { throw PluginRig.Failure(description: "not ready") }
        #expect(batch.items == [1, 2, 3])
        #expect(await instance.stop(deadlineMs: 5_000))
    }

    /// The system's loader accepts a truncated file.
    ///
    /// The first access to the missing part would end the process.
    @Test(arguments: [0.1, 0.3, 0.5])
    func `a file that is not whole is refused with words`(share: Double) async throws {
        let file = try await PluginRig.compile(LoadTests.source())
        let whole = try Data(contentsOf: URL(filePath: file))
        try whole.prefix(Int(Double(whole.count) * share)).write(to: URL(filePath: file))
        let fault = #expect(throws: LoadFault.self) { try PluginLibrary.load(file) }
        #expect(fault?.code == "plugin-not-loadable")
        #expect(fault?.message.contains("is incomplete") == true, "\(fault?.message ?? "")")
    }

    @Test func `an isolated plugin goes on working when its file is cut`() async throws {
        let roles = RoleTests()
        let file = try await PluginRig.compile(roles.source(prepare: RoleTests.sendAll))
        let instance = try await PluginRig.isolated(file, services: roles.services)
        try Self.harm(file, .cut)
        #expect(await instance.stop(deadlineMs: 5_000))
        #expect(roles.services.faults == [])
    }

    @Test func `an unchanged file is loaded once, a changed one again`() async throws {
        let file = try await PluginRig.compile(LoadTests.source())
        let first = try PluginLibrary.load(file)
        #expect(try PluginLibrary.load(file) === first)
        let other = try await PluginRig.compile(LoadTests.source("plugin.version = \"0.2\";"))
        // Written into the file itself, as `cp` does.
        try Data(contentsOf: URL(filePath: other)).write(to: URL(filePath: file), options: [])
        let second = try PluginLibrary.load(file)
        #expect(second.descriptor.version == "0.2" && second.descriptor.path == file)
        #expect(first.descriptor.version == "0.1")
        #expect(try PluginLibrary.load(file) === second)
    }

    @Test(arguments: [
        ("$ORIGIN", "plugins"), ("${ORIGIN}/runtime", "plugins/runtime"),
        ("$ORIGIN/../shared", "shared"), ("$ORIGIN/../../lib", "../lib"),
    ])
    func `libraries beside a plugin are found`(origin: String, place: String) async throws {
        let base = FileManager.default.temporaryDirectory
            .appending(path: UUID().uuidString).appending(path: "base")
        let (plugins, beside) = (base.appending(path: "plugins"), base.appending(path: place))
        for folder in [plugins, beside] {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        }
        let part = plugins.appending(path: "part.c")
        try "const char *part(void) { return \"beside\"; }"
            .write(to: part, atomically: true, encoding: .utf8)
        _ = try await PluginRig.compile(
            file: part.path, to: beside.appending(path: "libpart.so").path)
        let main = plugins.appending(path: "main.c")
        try
            ("extern const char *part(void);\n"
            + LoadTests.source("plugin.summary = part();"))
            .write(to: main, atomically: true, encoding: .utf8)
        let name = "lib\(UUID().uuidString).so"
        let library = try await PluginRig.compile(
            file: main.path, to: plugins.appending(path: name).path,
            flags: ["-L\(beside.path)", "-lpart", "-Wl,-rpath,\(origin)"])
        #expect(try PluginLibrary.load(library).descriptor.summary == "beside")
        // Loading leaves no files behind.
        for folder in [NSTemporaryDirectory(), "/tmp", "/dev/shm", "/var/tmp"] {
            let left = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            for entry in left where entry.hasPrefix("signalbox-load-") {
                let found = try? FileManager.default.subpathsOfDirectory(
                    atPath: "\(folder)/\(entry)")
                #expect(found?.contains { $0.hasSuffix(name) } != true)
            }
        }
    }

    @Test func `a pipe is not waited for`() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        try #require(mkfifo(path, 0o600) == 0)
        let fault = #expect(throws: LoadFault.self) { try PluginLibrary.load(path) }
        #expect(fault?.code == "plugin-file-unsafe")
    }
}
