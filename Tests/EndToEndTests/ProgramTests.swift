import Foundation
import PluginRig
import Signalbox
import SignalboxHTTP
import SignalboxSimulators
import Testing

/// The `signalbox` program as users run it.
@Suite(.timeLimit(.minutes(10))) struct ProgramTests {
    static func program() throws -> URL {
        let folder = URL(filePath: try GatewayRig.pluginFolder())
        return folder.appending(path: "signalbox")
    }

    static func start(
        _ arguments: [String], at folder: URL = PluginRig.root,
        environment: [String: String] = [:], sockets: [Int32] = []
    ) throws -> (Program, Pipe) {
        let pipe = Pipe()
        var command = [try program().path] + arguments
        var environment = environment
        if !sockets.isEmpty {
            // As systemd does: the number of the process is known only to itself.
            command = ["sh", "-c", #"LISTEN_PID=$$ exec "$@""#, "sh"] + command
            environment["LISTEN_FDS"] = "\(sockets.count)"
        }
        let process = try Program(
            command, at: folder, environment: environment, sockets: sockets,
            output: pipe, errors: pipe)
        return (process, pipe)
    }

    /// The program once it is up, with its log so far.
    static func serve(
        _ file: String, environment: [String: String] = [:]
    ) async throws -> (process: Program, pipe: Pipe, log: String) {
        let (process, pipe) = try start(["run", "--config", file], environment: environment)
        var log = ""
        // The ports are in the same line.
        while !log.contains(#/gateway is up.*\n/#) {
            let text = try await Tool.next(pipe)
            guard !text.isEmpty else { throw Tool.Ended(output: log, status: 1) }
            log += text
        }
        return (process, pipe, log)
    }

    static func run(
        _ arguments: [String], environment: [String: String] = [:]
    ) async throws -> Tool.Ended {
        try await Tool.run([try program().path] + arguments, environment: environment)
    }

    static func temporary(_ name: String, _ text: String) throws -> String {
        let folder = try Workshop.folder()
        let file = folder.appending(path: name)
        try text.write(to: file, atomically: true, encoding: .utf8)
        return file.path
    }

    @Test func `demo confirms both pushes and exits 0`() async throws {
        let ended = try await Self.run([
            "demo", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0",
        ])
        #expect(ended.status == 0, "\(ended.text)")
        #expect(ended.text.contains("both pushes were confirmed"))
    }

    @Test func `demo that stays names the page first, and shows what arrives`() async throws {
        let (process, pipe) = try Self.start([
            "demo", "--stay", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0",
        ])
        let text = try await Tool.read(pipe, until: "What arrives is shown here")
        #expect(text.hasPrefix("page        http://127.0.0.1:"))
        let offered = try #require(text.firstMatch(of: #/http://127\.0\.0\.1:\d+/in/zendesk/demo/#))
        let body = try String(
            contentsOf: PluginRig.root.appending(path: "Tests/Fixtures/Zendesk/reply.json"),
            encoding: .utf8)
        let client = try RESTClient()
        let answer = try await client.patient(
            RESTCall(method: "POST", url: String(offered.output), body: Array(body.utf8)))
        #expect(answer.status == 200)
        _ = try await Tool.read(
            pipe, until: "APNs        received, answered 200\n",
            "FCM         received, answered 200\n")
        process.terminate()
        #expect(try await Tool.end(process) == 0)
        client.shutdown()
    }

    /// NIO's own pause does not work: it tried again ten thousand times a second.
    @Test func `a gateway without descriptors waits before it accepts again`() async throws {
        let simulators = try await Simulators.start()
        let yaml = GatewayRig.yaml(simulators)
        let (process, pipe, log) = try await Self.serve(Self.temporary("gateway.yaml", yaml))
        pipe.fileHandleForReading.readabilityHandler = { _ = $0.availableData }
        func port(_ name: String) throws -> Int {
            let found = try Regex("\(name)\\.port=([0-9]+)").firstMatch(in: log)
            return try #require(found?[1].substring.flatMap { Int($0) })
        }
        func limit(_ count: Int) async throws {
            let pid = "\(process.processIdentifier)"
            _ = try await Tool.run(["prlimit", "--pid", pid, "--nofile=\(count):"])
        }
        // A connection that is open serves on, so it can be asked.
        let admin = try RawClient(port: try port("admin"))
        let name = #"signalbox_limit_reached_total{listener="listen",limit="system"} "#
        func refused() async throws -> Int {
            admin.send("GET /metrics HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
            // The names are in order, so this one comes later.
            let text = await admin.read { $0.contains("# TYPE signalbox_stranded_total") }
            let line = try #require(
                text.split(separator: "\n").first { $0.hasPrefix(name) }, "\(text.suffix(200))")
            return try #require(Int(line.dropFirst(name.count)))
        }
        #expect(try await refused() == 0)
        try await limit(3)
        let client = try RawClient(port: try port("listen"))
        client.send("GET /nothing HTTP/1.1\r\nhost: x\r\n\r\n")
        var count = 0
        while count < 2 { count = try await refused() }
        #expect(count < 10)
        try await limit(1_024)
        #expect(await client.read { $0.contains("404") }.contains("404"))
        process.terminate()
        #expect(try await Tool.end(process) == 0)
        await simulators.shutdown()
    }

    @Test func `a start without descriptors ends with words`() async throws {
        let simulators = try await Simulators.start()
        let yaml = GatewayRig.yaml(simulators)
        let file = try Self.temporary("gateway.yaml", yaml)
        let program = try Self.program().path
        let ended = try await Tool.run([
            "sh", "-c", "ulimit -n 40; exec '\(program)' run --config '\(file)'",
        ])
        #expect(ended.status == 78, "\(ended.text)")
        #expect(ended.text.contains("no-resources"))
        #expect(ended.text.contains("ulimit -n"))
        await simulators.shutdown()
    }

    @Test func `run serves until SIGTERM, drains and exits 0`() async throws {
        let simulators = try await Simulators.start()
        let yaml = GatewayRig.yaml(simulators)
        let (process, pipe, begin) = try await Self.serve(Self.temporary("gateway.yaml", yaml))
        var log = begin
        let port = try #require(log.firstMatch(of: /listen\.port=(\d+)/)?.output.1)
        // The simulator answers late, so that the signal arrives while the pushes are in flight.
        try await simulators.apns.take(.delay(ms: 300))
        let answer = try await Tool.output([
            "curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-d",
            GatewayRig.webhook([("ios", "a"), ("android", "b")]), "http://127.0.0.1:\(port)/in/z",
        ])
        #expect(answer == "200")
        process.terminate()
        log += try await Tool.rest(pipe)
        #expect(try await Tool.end(process) == 0, "\(log)")
        #expect(simulators.apns.received.map(\.status) == [200])
        #expect(simulators.fcm.received.map(\.status) == [200])
        #expect(log.components(separatedBy: "INFO delivered").count == 3)
        #expect(log.contains("gateway stopped"))
        await simulators.shutdown()
    }

    @Test func `a second SIGTERM ends it at once, and nothing is lost`() async throws {
        let simulators = try await Simulators.start()
        let file = try Self.temporary(
            "gateway.yaml",
            GatewayRig.yaml(simulators)
                .replacingOccurrences(of: "drain: 5s", with: "drain: 10m"))
        // The simulator never answers, so a drain would take long.
        try await simulators.apns.take(.stall(count: 1))
        let running = try await CrashTests.start(file)
        let client = try RESTClient()
        #expect(try await client.post([("ios", "patient")], to: running.port).status == 200)
        _ = await simulators.apns.wait(for: 1)
        running.process.terminate()
        // Webhooks are accepted while it waits for the push; the answers tell that the first signal was taken.
        var isLeaving = false
        while !isLeaving {
            let answer = try await client.post([("ios", "patient")], to: running.port)
            #expect(answer.status == 200)
            isLeaving = answer.headers.contains { $0.key == "connection" && $0.value == "close" }
        }
        running.process.terminate()
        #expect(try await Tool.end(running.process) == 130)
        let again = try await CrashTests.start(file)
        let pushes = await simulators.apns.wait(for: 2)
        #expect(pushes.map(\.status) == [0, 200])
        #expect(Set(pushes.compactMap { $0.header("apns-id") }).count == 1)
        again.process.terminate()
        #expect(try await Tool.end(again.process) == 0)
        client.shutdown()
        await simulators.shutdown()
    }

    @Test func `faults end run and check with 78 and nothing half-started`() async throws {
        let yaml = """
            version: 1
            gateway: { listen: "127.0.0.1:0", admin: "127.0.0.1:0" }
            plugins:
              z: { library: Zendesk, config: { path: no-slash } }
              gone: { library: Nowhere }
            routes:
              - { name: r, from: z, send: { ios: gone } }
            """
        let file = try Self.temporary("gateway.yaml", yaml)
        for command in ["run", "check"] {
            let ended = try await Self.run([command, "--config", file])
            #expect(ended.status == 78)
            #expect(ended.text.contains("\(file):4:42: bad-value: plugin \"z\": config.path"))
            #expect(ended.text.contains("\(file):5:20: plugin-not-found: plugin \"gone\""))
            #expect(ended.text.contains("2 faults"))
            #expect(!ended.text.contains("gateway is up"))
        }
    }

    @Test func `an address in use is named`() async throws {
        let simulators = try await Simulators.start()
        let yaml = GatewayRig.yaml(simulators)
        let file = try Self.temporary("gateway.yaml", yaml)
        let taken = "127.0.0.1:\(simulators.controlPort)"
        let ended = try await Self.run(["run", "--config", file, "--listen", taken])
        // Something that passes: the old process may still be ending.
        #expect(ended.status == 75)
        #expect(
            ended.text.contains(
                "gateway.listen: cannot listen on \(taken): Address already in use\n"))
        await simulators.shutdown()
    }

    @Test func `inspect reports a plugin, and one that crashes or hangs up`() async throws {
        let good = try await Self.run(["plugins", "inspect", "APNs", "--json"])
        #expect(good.status == 0)
        #expect(good.text.contains("\"config_schema\":{"))
        #expect(good.text.contains("\"needs_minor\":"))
        let words = try await Self.run(["plugins", "inspect", "APNs"])
        #expect(words.text.contains("runs on 1.") && words.text.contains(" and later"))
        let entry = "const void *sbx_plugin_entry_v1(void *h, void *e)"
        let crashing = try await PluginRig.compile(
            "\(entry); \(entry) { (void)h; (void)e; return *(void **)8; }")
        let crash = try await Self.run(["plugins", "inspect", crashing])
        #expect(crash.status == 1)
        #expect(crash.text.contains("crashes while it is loaded (signal 11"), "\(crash.text)")
        let leaving = try await PluginRig.compile(
            "#include <stdlib.h>\n\(entry); \(entry) { (void)h; (void)e; exit(3); }")
        let left = try await Self.run(["plugins", "inspect", leaving])
        #expect(left.status == 1)
        #expect(left.text.contains("exit 3"))
        let none = try await Self.run(["plugins", "inspect", "/nowhere/libx.so"])
        #expect(none.status == 1)
        #expect(none.text.contains("plugin-not-found"))
    }

    @Test func `a plugin that is looked at may do nothing, unless it is trusted`() async throws {
        let mark = Workshop.place().path
        let hostile = try await PluginRig.compile(
            """
            #include <fcntl.h>
            __attribute__((constructor)) static void begin(void) { open("\(mark)", O_CREAT | O_WRONLY, 0600); }
            """)
        let folder = URL(filePath: hostile).deletingLastPathComponent().path
        for command in [
            ["plugins", "inspect", hostile], ["plugins", "list", "--plugin-folder", folder],
            ["schema", "--plugin-folder", folder],
        ] {
            _ = try await Self.run(command)
            #expect(!FileManager.default.fileExists(atPath: mark), "\(command)")
        }
        _ = try await Self.run(["plugins", "inspect", hostile, "--trust"])
        #expect(FileManager.default.fileExists(atPath: mark))
    }

    @Test func `words of a plugin steer no terminal`() async throws {
        let rude = try await PluginRig.compile(
            """
            #include <signalbox/plugin.h>
            #include <string.h>
            const sbx_plugin *sbx_plugin_entry_v1(const sbx_host *h, sbx_error *e) {
              (void)h;
              strcpy(e->message, "no \\x1b[31mthanks");
              return 0;
            }
            """)
        let ended = try await Self.run(["plugins", "inspect", rude])
        #expect(ended.text.contains(#"no \u001b[31mthanks"#), "\(ended.text)")
    }

    @Test func `simulate prints absolute paths, and ends without waiting for its clients`()
        async throws
    {
        let folder = try Workshop.folder("simulate")
        let (process, pipe) = try Self.start(
            ["simulate", "--folder", "keys"], at: folder)
        let text = try await Tool.read(pipe, until: "export SIGNALBOX_CA_FILE")
        #expect(text.contains("export APNS_ENDPOINT=https://127.0.0.1:"))
        let path = try #require(text.firstMatch(of: /SIGNALBOX_CA_FILE=(.*)/)?.output.1)
        #expect(path.hasPrefix("/") && FileManager.default.fileExists(atPath: String(path)))
        // A request without its end, for which a graceful shutdown waits half a minute.
        let port = try #require(text.firstMatch(of: /control API http:..127.0.0.1:(\d+)/)?.output.1)
        let client = try RawClient(port: try #require(Int(port)))
        client.send("POST /apns/orders HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n")
        let start = ContinuousClock.now
        process.terminate()
        #expect(try await Tool.end(process) == 0)
        #expect(ContinuousClock.now - start < .seconds(20))
    }
}
