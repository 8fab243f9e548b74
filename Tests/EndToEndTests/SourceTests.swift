import Foundation
import PluginRig
import SignalboxCore
import SignalboxHTTP
import SignalboxJSON
import SignalboxSimulators
import Testing

/// A plugin that takes events in by itself, in a whole gateway.
@Suite struct SourceTests {
    private static let library = Task.detached {
        try await PluginRig.compileFixture("Source/spool.c")
    }

    /// The configuration of `GatewayRig`, with the lines of a file as its source.
    private static func yaml(
        _ simulators: Simulators, _ library: String, _ folder: URL, title: String = "A",
        more: String = ""
    ) -> String {
        let lines = folder.appending(path: "lines").path
        return GatewayRig.plugins(simulators).replacing(
            "  z: { library: Zendesk, config: { path: /in/z } }\n",
            with: """
                  texts: { library: Texts }
                  z: { library: \(library), config: { file: \(lines), acks: \(lines).acks\(more) } }

                """)
            + "\n"
            + GatewayRig.routes.replacing("ticket.replied", with: "line").replacing(
                "from: z", with: "from: z\n    build: { with: texts, set: { title: \(title) } }")
    }

    private static func append(_ tokens: [String], _ folder: URL) throws {
        let file = folder.appending(path: "lines").path
        if !FileManager.default.fileExists(atPath: file) {
            _ = FileManager.default.createFile(atPath: file, contents: nil)
        }
        let handle = try #require(FileHandle(forWritingAtPath: file))
        try handle.seekToEnd()
        try handle.write(contentsOf: Data(tokens.map { "\($0)\n" }.joined().utf8))
        try handle.close()
    }

    private static func source(_ readiness: JSONValue) -> JSONValue? {
        readiness["sources"]?[0]
    }

    private static func acks(_ folder: URL) -> Int {
        let file = folder.appending(path: "lines.acks").path
        return (try? String(contentsOfFile: file, encoding: .utf8))?.count { $0 == "\n" } ?? 0
    }

    @Test func `its events are pushed and acknowledged, and a reload replaces it`() async throws {
        let folder = try Workshop.folder()
        let library = try await Self.library.value
        try Self.append(["t1", "t2"], folder)
        let rig = try await GatewayRig(config: { Self.yaml($0, library, folder) })
        #expect(await rig.delivered(rig.simulators.apns, 2).sorted() == ["t1", "t2"])
        while Self.acks(folder) < 2 { try await Task.sleep(for: .milliseconds(5)) }
        let ready = try await rig.json("/readyz")
        let source = Self.source(ready)
        #expect(source?["source"]?.string == "z" && source?["state"]?.string == "running")
        // Another batch size: another instance. The old one has ended its thread, or lines would come twice.
        try rig.write(Self.yaml(rig.simulators, library, folder, more: ", batch: 1"))
        _ = try await rig.gateway.reload()
        try Self.append(["t3", "t4"], folder)
        while Self.acks(folder) < 4 { try await Task.sleep(for: .milliseconds(5)) }
        let all = await rig.delivered(rig.simulators.apns, 4)
        #expect(all.sorted() == ["t1", "t2", "t3", "t4"])
        let metrics = rig.metrics
        #expect(metrics.contains(/source_batches_total\{instance="z",result="stored"\} [2-4]/))
        #expect(metrics.contains(#"signalbox_source_running{instance="z"} 1"#))
        await rig.end()
    }

    @Test func `one whose other side is away says so in readiness, log and metrics`() async throws {
        let folder = try Workshop.folder()
        let library = try await Self.library.value
        try Self.append(["t1"], folder)
        let rig = try await GatewayRig(config: { Self.yaml($0, library, folder) })
        #expect(await rig.delivered(rig.simulators.apns, 1) == ["t1"])
        func state(_ wanted: String) async throws -> JSONValue {
            while true {
                let ready = try await rig.json("/readyz")
                if Self.source(ready)?["state"]?.string == wanted { return ready }
                try await Task.sleep(for: .milliseconds(10))
            }
        }
        let file = folder.appending(path: "lines")
        try FileManager.default.moveItem(at: file, to: folder.appending(path: "x"))
        let away = try await state("failing")
        #expect(Self.source(away)?["reason"]?.string == "the file is gone")
        #expect(away["status"]?.string == "degraded")
        let metrics = rig.metrics
        #expect(metrics.contains(#"signalbox_source_running{instance="z"} 0"#))
        try FileManager.default.moveItem(at: folder.appending(path: "x"), to: file)
        #expect(try await state("running")["status"]?.string == "ready")
        #expect(rig.log.all.contains { $0.contains("source takes nothing in") })
        #expect(rig.log.all.contains { $0.contains("source is back") })
        await rig.end()
    }

    @Test func `what it has emitted is pushed, also if a reload takes it away`() async throws {
        let folder = try Workshop.folder()
        let library = try await Self.library.value
        let rig = try await GatewayRig(config: { Self.yaml($0, library, folder) })
        let file = rig.file
        let without = GatewayRig.yaml(rig.simulators)
        let count = 600
        for round in 0..<6 {
            let tokens = (round * 100..<(round + 1) * 100).map { "t\($0)" }
            try Self.append(tokens, folder)
            while Self.acks(folder) <= round * 100 { try await Task.sleep(for: .milliseconds(1)) }
            // In the middle of the lines: the routes of the next file do not know them.
            try without.write(to: file, atomically: true, encoding: .utf8)
            _ = try await rig.gateway.reload()
            try Self.yaml(rig.simulators, library, folder).write(
                to: file, atomically: true, encoding: .utf8)
            _ = try await rig.gateway.reload()
            try await until { Self.acks(folder) >= (round + 1) * 100 }
        }
        #expect(Set(await rig.delivered(rig.simulators.apns, count)).count == count)
        await rig.end()
    }

    @Test func `one that cannot run is tried again, and meanwhile the rest works`() async throws {
        let folder = try Workshop.folder()
        let library = try await Self.library.value
        try Self.append(["t1"], folder)
        let rig = try await GatewayRig(config: {
            Self.yaml($0, library, folder, more: ", refuse_once: 1")
        })
        #expect(rig.log.all.contains { $0.contains("source cannot run, it is tried again") })
        #expect(await rig.delivered(rig.simulators.apns, 1) == ["t1"])
        // Another one, which never runs.
        try rig.write(Self.yaml(rig.simulators, library, folder, more: ", refuse_once: 1000"))
        _ = try await rig.gateway.reload()
        let ready = try await rig.json("/readyz")
        #expect(ready["status"]?.string == "degraded")
        #expect(Self.source(ready)?["reason"]?.string == "the bus is away")
        let metrics = rig.metrics
        #expect(metrics.contains(#"signalbox_source_running{instance="z"} 0"#))
        await rig.end()
    }

    @Test func `what it emits arrives, whenever the program is killed`() async throws {
        let simulators = try await Simulators.start(SimulatorsOptions())
        let folder = try Workshop.folder()
        let yaml = Self.yaml(simulators, try await Self.library.value, folder)
        let file = try ProgramTests.temporary("gateway.yaml", yaml)
        let tokens = (1...600).map { "t\($0)" }
        for round in 0..<3 {
            try Self.append(Array(tokens[round * 200..<(round + 1) * 200]), folder)
            let running = try await CrashTests.start(file)
            if round < 2 {
                // In the middle, as far as that can be met.
                try await until { Self.acks(folder) >= round * 200 + 20 }
                kill(running.process.processIdentifier, SIGKILL)
                #expect(try await Tool.end(running.process) == -SIGKILL)
            } else {
                #expect(try await simulators.missing(of: tokens).isEmpty)
                running.process.terminate()
                #expect(try await Tool.end(running.process) == 0)
            }
            running.pipe.fileHandleForReading.readabilityHandler = nil
        }
        #expect(Self.acks(folder) >= tokens.count)
        await simulators.shutdown()
    }
}
