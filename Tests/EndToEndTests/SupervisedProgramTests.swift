import Foundation
import PluginRig
import SignalboxHTTP
import SignalboxSimulators
import Testing

/// The real program under a service manager that wants to hear how it is.
@Suite struct SupervisedProgramTests {
    private struct Rig {
        let simulators: Simulators
        let file: String
        let socket: NotifySocket
        let running: (process: Program, pipe: Pipe)

        init(patience: String, change: (String) -> String = { $0 }) async throws {
            simulators = try await Simulators.start()
            file = try ProgramTests.temporary(
                "gateway.yaml", change(GatewayRig.yaml(simulators)))
            socket = try NotifySocket()
            running = try ProgramTests.start(
                ["run", "--config", file],
                environment: ["NOTIFY_SOCKET": socket.name, "WATCHDOG_USEC": patience])
        }
    }

    @Test func `it hears of the start, of each reload with its result, and of the stop`()
        async throws
    {
        let rig = try await Rig(patience: "100000000")
        // The watchdog feeds at once; the rest comes in this order.
        func next() async throws -> [String] {
            while true {
                let message = try await rig.socket.next()
                if message != ["WATCHDOG=1"] { return message }
            }
        }
        #expect(try await next() == ["READY=1", "STATUS=Running"])
        kill(rig.running.process.processIdentifier, SIGHUP)
        #expect(try await next().first == "RELOADING=1")
        #expect(try await next() == ["READY=1", "STATUS=Running"])
        try "version: 2".write(toFile: rig.file, atomically: true, encoding: .utf8)
        kill(rig.running.process.processIdentifier, SIGHUP)
        #expect(try await next().first == "RELOADING=1")
        let rejected = try await next()
        #expect(rejected.first == "READY=1")
        #expect(rejected.last?.contains("reload rejected") == true)
        #expect(rejected.last?.contains("\(rig.file):1:1: missing-key") == true, "\(rejected)")
        rig.running.process.terminate()
        // A drain of 5 s and half a minute.
        #expect(try await next().prefix(2) == ["STOPPING=1", "EXTEND_TIMEOUT_USEC=35000000"])
        #expect(try await Tool.end(rig.running.process) == 0)
        await rig.simulators.shutdown()
    }

    @Test func `it hears on while calls into a plugin hang, since others work in their place`()
        async throws
    {
        let saboteur = try Saboteur()
        // A call that never returns, and each one again.
        let library = try await saboteur.library(of: "Zendesk") { source in
            source.replacing("if (unlink(path)) return;", with: "")
                .replacing("for (volatile int forever = 1; forever;) {}", with: "for (;;) pause();")
        }
        let rig = try await Rig(patience: "3000000") {
            $0.replacing("library: Zendesk", with: "library: \(library)")
        }
        let log = try await Tool.read(rig.running.pipe, until: "gateway is up")
        let port = try #require(log.firstMatch(of: /listen\.port=(\d+)/)?.output.1)
        _ = try await rig.socket.messages(to: "READY=1")
        _ = try await rig.socket.messages(to: "WATCHDOG=1")
        try saboteur.arm("ingest", "HANG")
        let clients = try (0..<ProcessInfo.processInfo.processorCount + 8).map { _ in
            let client = try RawClient(port: try #require(Int(port)))
            client.send(Poster.request("token", keepsAlive: false))
            return client
        }
        _ = try await Tool.read(rig.running.pipe, until: "takes over a second")
        // What was on its way before is heard first.
        for _ in 0..<4 { #expect(try await rig.socket.next() == ["WATCHDOG=1"]) }
        // Its calls do not return.
        kill(rig.running.process.processIdentifier, SIGKILL)
        #expect(try await Tool.end(rig.running.process) == -SIGKILL)
        withExtendedLifetime(clients) {}
        await rig.simulators.shutdown()
    }
}
