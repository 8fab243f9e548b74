import Foundation
import PluginBench
import Signalbox
import SignalboxHTTP
import SignalboxTestKit
import Testing

/// The `signalbox` program as its users run it.
@Suite struct ProgramTests {
    struct Ended: Error {
        var status: Int32
        var output: String
    }

    static func program() throws -> URL {
        let folder = URL(filePath: try GatewayBench.pluginFolder())
        return folder.appending(path: "signalbox")
    }

    static func start(
        _ arguments: [String], environment: [String: String] = [:]
    ) throws -> (Process, Pipe) {
        let process = Process()
        process.executableURL = try program()
        process.arguments = arguments
        process.currentDirectoryURL = PluginBench.root
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        return (process, pipe)
    }

    static func run(
        _ arguments: [String], environment: [String: String] = [:]
    ) throws -> Ended {
        let (process, pipe) = try start(arguments, environment: environment)
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return Ended(
            status: process.terminationStatus, output: String(decoding: output, as: UTF8.self))
    }

    static func temporary(_ name: String, _ text: String) throws -> String {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appending(path: name)
        try text.write(to: file, atomically: true, encoding: .utf8)
        return file.path
    }

    @Test func `demo confirms both pushes and exits 0`() throws {
        let ended = try Self.run(["demo", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"])
        #expect(ended.status == 0, "\(ended.output)")
        #expect(ended.output.contains("both pushes were confirmed"))
    }

    @Test func `run serves until SIGTERM, drains and exits 0`() async throws {
        let simulators = try await Simulators.start()
        let yaml = GatewayBench.plugins(simulators) + "\n" + GatewayBench.routes
        let (process, pipe) = try Self.start(
            ["run", "--config", try Self.temporary("gateway.yaml", yaml)])
        var log = ""
        while !log.contains("gateway is up") {
            let data = pipe.fileHandleForReading.availableData
            try #require(!data.isEmpty, "it ended: \(log)")
            log += String(decoding: data, as: UTF8.self)
        }
        let port = try #require(log.firstMatch(of: /listen\.port=(\d+)/)?.output.1)
        // Answered late, so that the signal comes while they are under way.
        try await simulators.apns.take(.delay(ms: 300))
        let curl = Process()
        curl.executableURL = URL(filePath: "/usr/bin/env")
        curl.arguments = [
            "curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-d",
            GatewayBench.webhook([("ios", "a"), ("android", "b")]), "http://127.0.0.1:\(port)/in/z",
        ]
        let answer = Pipe()
        curl.standardOutput = answer
        try curl.run()
        #expect(
            String(decoding: answer.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
                == "200")
        process.terminate()
        log += String(
            decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationReason == .exit)
        #expect(process.terminationStatus == 0, "\(log)")
        #expect(simulators.apns.received.map(\.status) == [200])
        #expect(simulators.fcm.received.map(\.status) == [200])
        #expect(log.components(separatedBy: "INFO delivered").count == 3)
        #expect(log.contains("gateway has stopped"))
        await simulators.shutdown()
    }

    @Test func `a second SIGTERM ends it at once, and nothing is lost`() async throws {
        let simulators = try await Simulators.start()
        let file = try Self.temporary(
            "gateway.yaml",
            (GatewayBench.plugins(simulators) + "\n" + GatewayBench.routes)
                .replacingOccurrences(of: "drain: 5s", with: "drain: 10m"))
        // Answers so late that a drain would wait for long.
        try await simulators.apns.take(.stall(count: 1))
        let running = try CrashTests.start(file)
        let client = try RESTClient()
        let call = RESTCall(
            method: "POST", url: "http://127.0.0.1:\(running.port)/in/z",
            body: Array(GatewayBench.webhook([("ios", "patient")]).utf8))
        #expect(try await client.answer(call).status == 200)
        _ = await simulators.apns.wait(for: 1)
        running.process.terminate()
        // The first one must have been taken before the second comes: it ends the listener.
        while (try? await client.answer(call)) != nil {}
        running.process.terminate()
        running.process.waitUntilExit()
        #expect(running.process.terminationStatus == 130)
        let again = try CrashTests.start(file)
        let pushes = await simulators.apns.wait(for: 2)
        #expect(pushes.map(\.status) == [0, 200])
        #expect(Set(pushes.compactMap { $0.header("apns-id") }).count == 1)
        again.process.terminate()
        again.process.waitUntilExit()
        #expect(again.process.terminationStatus == 0)
        client.shutdown()
        await simulators.shutdown()
    }

    @Test func `faults end run and check with 78 and nothing half-started`() throws {
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
            let ended = try Self.run([command, "--config", file])
            #expect(ended.status == 78)
            #expect(ended.output.contains("\(file):4:42: bad-value: plugin \"z\": config.path"))
            #expect(ended.output.contains("\(file):5:20: plugin-not-found: plugin \"gone\""))
            #expect(ended.output.contains("2 faults"))
            #expect(!ended.output.contains("gateway is up"))
        }
    }

    @Test func `an address in use is named`() async throws {
        let simulators = try await Simulators.start()
        let yaml = GatewayBench.plugins(simulators) + "\n" + GatewayBench.routes
        let file = try Self.temporary("gateway.yaml", yaml)
        let taken = "127.0.0.1:\(simulators.controlPort)"
        let ended = try Self.run(["run", "--config", file, "--listen", taken])
        #expect(ended.status == 1)
        #expect(ended.output.contains("gateway.listen: cannot listen on \(taken)"))
        await simulators.shutdown()
    }

    @Test func `plugins list shows the bundled plugins`() throws {
        let ended = try Self.run(["plugins", "list"])
        #expect(ended.status == 0)
        for id in ["io.signalbox.apns", "io.signalbox.fcm", "io.signalbox.zendesk"] {
            #expect(ended.output.contains(id))
        }
    }

    @Test func `inspect reports a plugin, and one that crashes or hangs up`() throws {
        let good = try Self.run(["plugins", "inspect", "APNs", "--json"])
        #expect(good.status == 0)
        #expect(good.output.contains("\"config_schema\":{"))
        let entry = "const void *sbx_plugin_entry_v1(void *h, void *e)"
        let crashing = try PluginBench.compile(
            "\(entry); \(entry) { (void)h; (void)e; return *(void **)8; }")
        let crash = try Self.run(["plugins", "inspect", crashing])
        #expect(crash.status == 1)
        #expect(crash.output.contains("crashes while it is loaded (signal 11"), "\(crash.output)")
        let leaving = try PluginBench.compile(
            "#include <stdlib.h>\n\(entry); \(entry) { (void)h; (void)e; exit(3); }")
        let left = try Self.run(["plugins", "inspect", leaving])
        #expect(left.status == 1)
        #expect(left.output.contains("exit 3"))
        let none = try Self.run(["plugins", "inspect", "/nowhere/libx.so"])
        #expect(none.status == 1)
        #expect(none.output.contains("plugin-not-found"))
    }

    @Test func `simulate serves and prints how to reach it`() async throws {
        let (process, pipe) = try Self.start(["simulate"])
        var text = ""
        while !text.contains("export SIGNALBOX_CA_FILE") {
            let data = pipe.fileHandleForReading.availableData
            try #require(!data.isEmpty, "it ended: \(text)")
            text += String(decoding: data, as: UTF8.self)
        }
        #expect(text.contains("export APNS_ENDPOINT=https://127.0.0.1:"))
        process.terminate()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
    }
}
