import Foundation
import PluginRig
import SignalboxCore
import SignalboxPluginHost
import Testing

/// Plugins in the host's process whose `[control]` functions do not return, or change what is not theirs.
@Suite(.timeLimit(.minutes(1))) struct LateControlTests {
    private let services = RigServices()

    /// A builder whose functions run these lines first; `hang()` returns once there is the file.
    private func library(
        _ lines: [String: String], until file: URL
    ) async throws -> PluginLibrary {
        let source = """
            #include <signal.h>
            #include <signalbox/plugin.h>
            #include <stdlib.h>
            #include <unistd.h>
            __attribute__((unused)) static void hang(void) { while (access("\(file.path)", F_OK)) usleep(1000); }
            struct sbx_instance { int unused; };
            static sbx_status create(const sbx_host *h, sbx_str c, sbx_instance **i, sbx_error *e) {
              (void)h; (void)c; (void)e; \(lines["create"] ?? "") *i = calloc(1, 8); return SBX_OK;
            }
            static sbx_status start(sbx_instance *i, sbx_error *e) { (void)i; (void)e; \(lines["start"] ?? "") return SBX_OK; }
            static sbx_status stop(sbx_instance *i, uint64_t d, sbx_error *e) {
              (void)i; (void)d; (void)e; \(lines["stop"] ?? "") return SBX_OK;
            }
            static void destroy(sbx_instance *i) { \(lines["destroy"] ?? "") free(i); }
            static sbx_status build(sbx_instance *i, const sbx_build_input *n, sbx_build_sink *s, sbx_error *e) {
              (void)i; (void)n; (void)s; (void)e; return SBX_OK;
            }
            static const sbx_build the_role = {sizeof the_role, 0, NULL, build};
            static const void *role(const char *id) { (void)id; return &the_role; }
            static const char *const roles[] = {SBX_ROLE_BUILD, NULL};
            static const sbx_plugin plugin = {sizeof plugin, SBX_ABI_MAJOR, SBX_ABI_MINOR, 0, 0, "org.example.late", "1", "t",
              roles, NULL, NULL, create, role, start, stop, destroy};
            const sbx_plugin *sbx_plugin_entry_v1(const sbx_host *h, sbx_error *e) {
              (void)h; (void)e; \(lines["entry"] ?? "") return &plugin;
            }
            """
        return try PluginLibrary.load(try await PluginRig.compile(source))
    }

    private func instance(
        _ library: PluginLibrary, controlMs: UInt64 = 30_000
    ) async throws -> PluginInstance {
        try await PluginInstance.create(
            name: "late", library: library,
            config: CheckedConfig(json: .object([]), secrets: [:]),
            version: "1", services: services, controlMs: controlMs)
    }

    @Test(arguments: ["stop", "destroy"])
    func `one that does not return from its end is abandoned`(function: String) async throws {
        let file = try Workshop.folder().appending(path: "end")
        let late = try await instance(try await library([function: "hang();"], until: file))
        try await late.start()
        #expect(await late.stop(deadlineMs: 10) == false)
        #expect(services.faults == ["late: did not stop in time and was abandoned"])
        #expect(FileManager.default.createFile(atPath: file.path, contents: nil))
    }

    @Test func `one that does not return from create() is no instance`() async throws {
        let file = try Workshop.folder().appending(path: "end")
        let library = try await library(["create": "hang();"], until: file)
        await #expect(throws: PluginFault(.timeout, "create() takes over 10 ms")) {
            try await instance(library, controlMs: 10)
        }
        #expect(FileManager.default.createFile(atPath: file.path, contents: nil))
    }

    @Test func `one that does not return from start() fails, and its end waits for nothing`()
        async throws
    {
        let file = try Workshop.folder().appending(path: "end")
        let library = try await library(["start": "hang();"], until: file)
        let late = try await instance(library, controlMs: 1_000)
        await #expect(throws: PluginFault(.timeout, "start() takes over 1000 ms")) {
            try await late.start()
        }
        #expect(await late.stop(deadlineMs: 10) == false)
        #expect(FileManager.default.createFile(atPath: file.path, contents: nil))
    }

    @Test func `one whose start() is UNREACHABLE is started again until it is up`() async throws {
        let file = try Workshop.folder().appending(path: "peer")
        let library = try await library(
            ["start": "if (access(\"\(file.path)\", F_OK)) return SBX_E_UNREACHABLE;"], until: file)
        let late = try await instance(library)
        try await late.start()
        let role = try #require(BuildRole(late))
        func build() -> Result<BuildResult, PluginFault> {
            role.build(
                Event(type: "t", data: "{}"), recipients: [], route: "r", options: "{}")
        }
        #expect(throws: PluginFault(.again, "the plugin \"late\" is not started: unreachable")) {
            try build().get()
        }
        #expect(late.outage == "it cannot be started (unreachable), and is tried again")
        #expect(FileManager.default.createFile(atPath: file.path, contents: nil))
        while late.outage != nil { await Task.yield() }
        #expect((try? build().get()) != nil)
        #expect(await late.stop(deadlineMs: 5_000))
        #expect(services.faults == [])
    }

    @Test(arguments: [
        ("entry", "its entry"), ("create", "create()"), ("start", "start()"),
    ])
    func `a changed signal handler is put back, and named`(
        function: String, call: String
    ) async throws {
        let file = try Workshop.folder().appending(path: "end")
        let library = try await library(
            [function: "signal(SIGUSR2, SIG_IGN);"], until: file)
        let late = try await instance(library)
        try await late.start()
        #expect(await late.stop(deadlineMs: 5_000))
        #expect(
            services.faults == [
                "late: changed the handlers of signal 12 in \(call), which were put back"
            ])
        var now = sigaction()
        #expect(sigaction(SIGUSR2, nil, &now) == 0)
        #expect(now.__sigaction_handler.sa_handler == nil)
    }
}
