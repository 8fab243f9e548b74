import Foundation
import PluginRig
import SignalboxCore
import SignalboxPluginHost
import Testing

@Suite struct LoadTests {
    /// A plugin in C; `change` runs once in the entry and modifies its descriptor.
    static func source(_ change: String = "", entry: String = "sbx_plugin_entry_v1") -> String {
        """
        #include <signalbox/plugin.h>
        #include <string.h>
        static int dummy;
        static sbx_status create(const sbx_host *h, sbx_str c, sbx_instance **i, sbx_error *e) {
          (void)h; (void)c; (void)e; *i = (sbx_instance *)&dummy; return SBX_OK;
        }
        static const char *const roles[] = {SBX_ROLE_BUILD, NULL};
        static sbx_plugin plugin = {sizeof plugin, SBX_ABI_MAJOR, SBX_ABI_MINOR, 0, 0, "org.example.c",
          "0.1", "a plugin in C", roles, NULL, NULL, create, NULL, NULL, NULL, NULL};
        SBX_EXPORT const sbx_plugin *\(entry)(const sbx_host *h, sbx_error *e) {
          (void)h; (void)e;
          \(change)
          return &plugin;
        }
        """
    }

    private func fault(_ source: String) async throws -> LoadFault {
        let file = try await PluginRig.compile(source)
        let fault = #expect(throws: LoadFault.self) { try PluginLibrary.load(file) }
        let known = try #require(fault)
        #expect(known.message.contains(file), "the message names the file: \(known.message)")
        return known
    }

    @Test func `a plugin says what it is`() async throws {
        let library = try PluginLibrary.load(try await PluginRig.compile(Self.source()))
        #expect(library.descriptor.id == "org.example.c")
        #expect(library.descriptor.summary == "a plugin in C")
        #expect(library.descriptor.abi == "1.1")
        #expect(library.descriptor.roles == ["sbx.role.build/1"])
    }

    @Test(arguments: [
        ("plugin.abi_major = 2;", "plugin-other-major", "contract 2"),
        ("plugin.needs_minor = 99;", "plugin-needs-newer-host", "1.99"),
        ("plugin.flags = 1ull << 40;", "plugin-unknown-flag", "0x10000000000"),
        ("plugin.id = NULL;", "plugin-malformed", "no id"),
        ("plugin.roles = NULL;", "plugin-malformed", "no role"),
        (
            "static const char *const needs[] = {\"sbx.teapot/1\", NULL}; plugin.needs = needs;",
            "plugin-needs-service", "sbx.teapot/1"
        ),
        ("strcpy(e->message, \"moon phase\"); return NULL;", "plugin-refused", "moon phase"),
    ])
    func `what does not fit is refused with a reason`(
        change: String, code: String, words: String
    ) async throws {
        let fault = try await fault(Self.source(change))
        #expect(fault.code == code)
        #expect(fault.message.contains(words), "\(fault.message)")
    }

    @Test func `a library without the entry is not a plugin`() async throws {
        #expect(try await fault(Self.source(entry: "other_entry")).code == "plugin-no-entry")
    }

    @Test func `a library of another major is named as such`() async throws {
        let fault = try await fault(Self.source(entry: "sbx_plugin_entry_v2"))
        #expect(fault.code == "plugin-other-major")
        #expect(fault.message.contains("contract 2"))
    }

    @Test func `a file that is no library, or none at all`() async throws {
        let folder = FileManager.default.temporaryDirectory
        let file = folder.appending(path: UUID().uuidString + ".so")
        try "not an ELF".write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let broken = #expect(throws: LoadFault.self) { try PluginLibrary.load(file.path) }
        #expect(broken?.code == "plugin-not-loadable")
        let none = #expect(throws: LoadFault.self) { try PluginLibrary.load("/nowhere/x.so") }
        #expect(none?.code == "plugin-not-found")
        let directory = #expect(throws: LoadFault.self) { try PluginLibrary.load("/tmp") }
        #expect(directory?.code == "plugin-file-unsafe")
    }

    @Test func `a file that anybody may write is not loaded`() async throws {
        let file = try await PluginRig.compile(Self.source())
        try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: file)
        let fault = #expect(throws: LoadFault.self) { try PluginLibrary.load(file) }
        #expect(fault?.code == "plugin-file-unsafe")
        #expect(fault?.message.contains("chmod o-w") == true)
    }

    @Test func `missing functions become stubs`() async throws {
        let file = try await PluginRig.compile(Self.source("plugin.create = NULL;"))
        let fault = await #expect(throws: PluginFault.self) {
            try await PluginRig.instance(of: file, services: RigServices())
        }
        #expect(fault?.kind == .unsupported)
        let bare = try await PluginRig.instance(
            of: try await PluginRig.compile(Self.source()), services: RigServices())
        #expect(BuildRole(bare) == nil)
        #expect(await bare.stop(deadlineMs: 5_000))
    }

    @Test func `signal handlers are put back after loading`() async throws {
        let source = Self.source("signal(SIGUSR2, SIG_IGN);")
        let file = try await PluginRig.compile("#include <signal.h>\n" + source)
        var before = sigaction()
        sigaction(SIGUSR2, nil, &before)
        _ = try PluginLibrary.load(file)
        var after = sigaction()
        sigaction(SIGUSR2, nil, &after)
        let same = withUnsafeBytes(of: &before.__sigaction_handler) { old in
            withUnsafeBytes(of: &after.__sigaction_handler) { new in old.elementsEqual(new) }
        }
        #expect(same)
    }

    @Test func `names are searched in order, paths are taken as they are`() async throws {
        let file = URL(filePath: try await PluginRig.compile(Self.source()))
        let folder = file.deletingLastPathComponent().resolvingSymlinksInPath().path
        let path = PluginSearchPath(folders: ["/nowhere", folder])
        #expect(try path.resolve("plugin", relativeTo: "/") == "\(folder)/libplugin.so")
        #expect(try path.resolve("./libplugin.so", relativeTo: folder) == "\(folder)/libplugin.so")
        #expect(path.candidates == ["\(folder)/libplugin.so"])
        let fault = #expect(throws: LoadFault.self) {
            try path.resolve("Missing", relativeTo: "/")
        }
        #expect(fault?.message.contains("libMissing.so is in none of the plugin folders") == true)
    }
}
