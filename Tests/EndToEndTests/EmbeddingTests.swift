import Foundation
import PluginRig
import SignalboxSimulators
import Testing

/// An installed prefix, and programs that use it.
@Suite struct EmbeddingTests {
    /// Installed once from the build and then moved, which breaks whatever contains the old path.
    static let installed = Task { () throws -> URL in
        let folder = Workshop.place()
        let build = URL(filePath: try PluginRig.bundled("Zendesk")).deletingLastPathComponent()
        let made = folder.appending(path: "made")
        let output = try await Tool.run(
            [PluginRig.root.appending(path: "scripts/install.sh").path, made.path, build.path])
        guard output.status == 0 else { throw PluginRig.Failure(description: output.text) }
        let moved = folder.appending(path: "moved")
        try FileManager.default.moveItem(at: made, to: moved)
        return moved
    }

    private var prefix: URL { get async throws { try await Self.installed.value } }

    /// A copy of a repository folder to build in, and a folder for data.
    private func workshop(_ folder: String) throws -> (sources: URL, data: String) {
        let place = try Workshop.folder()
        let sources = place.appending(path: "sources")
        try FileManager.default.copyItem(
            at: PluginRig.root.appending(path: folder), to: sources)
        return (sources, place.appending(path: "data").path)
    }

    private func environment() async throws -> [String: String] {
        ["PKG_CONFIG_PATH": try await prefix.appending(path: "lib/pkgconfig").path]
    }

    private func expect(_ output: Tool.Ended, ends end: String) {
        #expect(output.status == 0, "\(output.text)")
        #expect(output.text.hasSuffix(end + "\n"), "\(output.text)")
    }

    @Test func `an installed prefix can be moved and names no folder of the build`() async throws {
        let prefix = try await self.prefix
        let list = try await Tool.run([
            prefix.appending(path: "bin/signalbox").path, "plugins", "list",
        ])
        #expect(list.status == 0)
        #expect(list.text.contains(prefix.appending(path: "lib/signalbox/libAPNs.so").path))
        let files = try await Tool.run([
            "find", prefix.path, "-type", "f", "-name", "*.so*", "-o", "-name", "signalbox",
            "-type", "f",
        ])
        .text.split(separator: "\n").map(String.init)
        #expect(files.count > 15)
        for file in files {
            let dynamic = try await Tool.run(["readelf", "-d", file]).text
            let paths = dynamic.split(separator: "\n").filter {
                $0.contains("runpath") || $0.contains("rpath")
            }
            for path in paths { #expect(path.contains("[$ORIGIN"), "\(file): \(path)") }
        }
        let flags = try await Tool.run(
            ["pkg-config", "--cflags", "--libs", "signalbox"], environment: try await environment())
        #expect(flags.text.contains("-lsignalbox"))
        let version = try await Tool.run(
            ["pkg-config", "--modversion", "signalbox"], environment: try await environment())
        #expect(version.text == "1.0.0\n")
    }

    @Test func `a host in C, with a plugin that is linked in`() async throws {
        let (sources, data) = try workshop("Examples/hosts/c")
        let built = try await Tool.run(
            ["make", "-C", sources.path], environment: try await environment())
        #expect(built.status == 0, "\(built.text)")
        let run = try await Tool.run([sources.appending(path: "host").path, data])
        expect(run, ends: "delivered 3, left 0")
        #expect(run.text.contains("to ada: Versandt\nto bob: Paid\n"))
    }

    /// Runs a host against simulators, with the configuration of the hosts' folder.
    private func run(
        _ command: (_ config: String, _ data: String) -> [String], _ extra: [String: String]
    ) async throws {
        let simulators = try await Simulators.start()
        let (sources, data) = try workshop("Examples/hosts")
        let config = sources.appending(path: "gateway.yaml")
        let text = try String(contentsOf: config, encoding: .utf8)
            .replacingOccurrences(of: "run/sim/apns.p8", with: simulators.files.apnsKey)
            .replacingOccurrences(of: "run/sim/ca.pem", with: simulators.files.ca)
        try text.write(to: config, atomically: true, encoding: .utf8)
        var variables = extra
        variables["APNS_ORIGIN"] = simulators.apns.origin
        let output = try await Tool.run(command(config.path, data), environment: variables)
        expect(output, ends: "delivered 3, left 0")
        let pushes = simulators.apns.received
        #expect(Set(pushes.map(\.token)) == ["a", "b", "c"])
        let german = pushes.first { $0.token == "a" }
        #expect(german?.body["aps"]?["alert"]?["title"]?.string == "Versandt")
        await simulators.shutdown()
    }

    @Test func `a host in Python, without any dependency`() async throws {
        let prefix = try await self.prefix
        let script = PluginRig.root.appending(path: "Examples/hosts/python/host.py").path
        try await run(
            { ["python3", script, $0, $1] },
            ["LIBSIGNALBOX": prefix.appending(path: "lib/libsignalbox.so.1").path])
    }

    @Test func `a host in Rust`() async throws {
        let (sources, _) = try workshop("Examples/hosts/rust")
        var variables = try await environment()
        let built = try await Tool.run(
            [
                "cargo", "build", "--offline", "--manifest-path",
                sources.appending(path: "Cargo.toml").path,
            ],
            environment: variables)
        #expect(built.status == 0, "\(built.text)")
        variables = [:]
        try await run({ [sources.appending(path: "target/debug/host").path, $0, $1] }, variables)
    }

    /// Builds a host in a copy of its folder, with the installed prefix.
    private func make(_ folder: String) async throws -> URL {
        let (sources, _) = try workshop("Examples/hosts/\(folder)")
        let built = try await Tool.run(
            ["make", "-C", sources.path], environment: try await environment())
        #expect(built.status == 0, "\(built.text)")
        return sources
    }

    @Test func `a host in Node, with an addon of its own`() async throws {
        let host = try await make("node").appending(path: "host.js").path
        try await run(
            { ["node", host, $0, $1] },
            ["LIBSIGNALBOX": try await prefix.appending(path: "lib/libsignalbox.so.1").path])
    }

    @Test func `a host in Go`() async throws {
        let host = try await make("go").appending(path: "host").path
        try await run({ [host, $0, $1] }, [:])
    }

    @Test func `a host in Swift`() async throws {
        let plugins = try await prefix.appending(path: "lib/signalbox").path
        let host = URL(filePath: try PluginRig.bundled("Zendesk")).deletingLastPathComponent()
            .appending(path: "SwiftHost").path
        try await run({ [host, $0, $1, plugins] }, [:])
    }

    /// Compiles a program of the fixtures, and runs it with the installed library.
    private func runFixture(
        _ name: String, sources more: [String] = [], flags: [String] = []
    ) async throws {
        let (sources, data) = try workshop("Tests/Fixtures/Embedding")
        let program = sources.appending(path: name).path
        let lib = try await prefix.appending(path: "lib").path
        let include = try await prefix.appending(path: "include")
        let built = try await Tool.run(
            ["cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-I\(include.path)"] + flags
                + ["\(program).c"]
                + more.map { PluginRig.root.appending(path: $0).path }
                + ["-o", program, "-L\(lib)", "-lsignalbox", "-Wl,-rpath,\(lib)", "-lpthread"])
        #expect(built.status == 0, "\(built.text)")
        try FileManager.default.createDirectory(
            atPath: data, withIntermediateDirectories: true)
        // What threads keep for their next allocation is not counted as held.
        let output = try await Tool.run(
            [program, data], environment: ["GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"])
        #expect(output.status == 0 && output.text.isEmpty, "\(output.text)")
    }

    @Test func `the library has manners: signals, threads, files, memory, words for faults`()
        async throws
    {
        try await runFixture(
            "manners", sources: ["Plugins/HelloC/hello.c"],
            flags: ["-Dsbx_plugin_entry_v1=hello_entry"])
    }

    @Test func `a host checks, submits, asks as an operator, reloads and hears what came of it`()
        async throws
    {
        try await runFixture("operator")
    }
}
