import Foundation
import PluginRig
import Testing

/// Programs in C that embed the gateway, compiled against other headers than its library.
@Suite struct EmbedderTests {
    /// Compiles a program of Tests/Fixtures/Embedding, and runs it with the library of this build.
    private func run(_ name: String, _ edition: Edition, _ more: [String]) async throws {
        let folder = try Workshop.folder(name)
        let program = folder.appending(path: name).path
        let library = URL(filePath: try PluginRig.bundled("SignalboxLibrary"))
        let build = library.deletingLastPathComponent().path
        let source = PluginRig.root.appending(path: "Tests/Fixtures/Embedding/\(name).c").path
        // A later minor has fields that these programs leave empty.
        _ = try await Tool.output(
            [
                "cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror",
                "-Wno-missing-field-initializers", "-I\(try await edition.headers().folder.path)",
                "-o", program, source,
            ] + more + [
                "-L\(build)", "-l:\(library.lastPathComponent)", "-Wl,-rpath,\(build)", "-lpthread",
            ])
        let ended = try await Tool.run(
            [program, folder.path], environment: ["GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"])
        #expect(ended.status == 0 && ended.text.isEmpty, "\(ended.text)")
    }

    @Test(arguments: Edition.all)
    func `a program of another minor runs with this library`(edition: Edition) async throws {
        let hello = PluginRig.root.appending(path: "Plugins/HelloC/hello.c").path
        try await run("manners", edition, ["-Dsbx_plugin_entry_v1=hello_entry", hello])
    }

    /// Hosts that know the functions added in 1.1.
    static let later = Edition.all.filter { $0 != .release("1.0") }

    @Test(arguments: later)
    func `a program of another minor checks, submits, asks and reloads`(
        edition: Edition
    ) async throws {
        try await run("operator", edition, [])
    }
}
