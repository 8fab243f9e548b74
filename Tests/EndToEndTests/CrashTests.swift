import Foundation
import PluginRig
import Signalbox
import SignalboxCore
import SignalboxHTTP
import SignalboxSimulators
import Synchronization
import Testing

/// The real program under load, then killed: whatever was answered 2xx must arrive.
@Suite struct CrashTests {
    /// Tokens of webhooks that were answered 2xx.
    final class Promises: Sendable {
        private let tokens = Mutex<Set<String>>([])
        private let number = Atomic<Int>(0)

        var all: Set<String> { tokens.withLock { $0 } }
        func next() -> Int { number.wrappingAdd(1, ordering: .relaxed).newValue }
        func keep(_ new: [String]) { tokens.withLock { $0.formUnion(new) } }
    }

    struct Running {
        var process: Program
        var port: String
        var pipe: Pipe

        /// Ends it as a service manager does.
        func end() async throws {
            process.terminate()
            #expect(try await Tool.end(process) == 0)
            pipe.fileHandleForReading.readabilityHandler = nil
        }

        func kill() async throws {
            Foundation.kill(process.processIdentifier, SIGKILL)
            #expect(try await Tool.end(process) == -SIGKILL)
            pipe.fileHandleForReading.readabilityHandler = nil
        }
    }

    static func start(_ file: String) async throws -> Running {
        let (process, pipe, log) = try await ProgramTests.serve(file)
        let port = try #require(log.firstMatch(of: #/listen\.port=(\d+) /#)?.output.1)
        // The rest is read and dropped, so that the program never blocks on the pipe.
        pipe.fileHandleForReading.readabilityHandler = { _ = $0.availableData }
        return Running(process: process, port: String(port), pipe: pipe)
    }

    /// Posts webhooks one after the other until the gateway is gone, or it is enough.
    static func load(
        _ port: String, _ client: RESTClient, _ promises: Promises,
        while goesOn: @Sendable () -> Bool = { true }
    ) async {
        while goesOn() {
            let number = promises.next()
            let (ios, android) = ("i\(number)", "a\(number)")
            var call = RESTCall(
                method: "POST", url: "http://127.0.0.1:\(port)/in/z",
                body: Array(
                    GatewayRig.webhook([("ios", ios), ("android", android)], ticket: "\(number)")
                        .utf8))
            call.timeoutMs = 5_000
            guard let answer = try? await client.answer(call), answer.status == 200 else { return }
            promises.keep([ios, android])
        }
    }

    @Test func `what was answered 2xx arrives, whenever the process is killed`() async throws {
        let rounds =
            ProcessInfo.processInfo.environment["SIGNALBOX_CHAOS_ROUNDS"].flatMap { Int($0) } ?? 3
        let seed = UInt64.random(in: 0 ... .max)
        var random = AnyText(seed: seed)
        var options = SimulatorsOptions()
        options.apns.streams = 4
        let simulators = try await Simulators.start(options)
        // Slower than the load, so that many pushes are always unsent when the process dies.
        try await simulators.fcm.take(.streams(max: 4))
        for simulator in [simulators.apns, simulators.fcm] {
            try await simulator.take(.delay(ms: 15))
        }
        let yaml = GatewayRig.yaml(simulators)
        let file = try ProgramTests.temporary("gateway.yaml", yaml)
        let client = try RESTClient()
        let promises = Promises()
        for round in 1...rounds {
            let running = try await Self.start(file)
            let moment = 20 + Int(random.next() % 400)
            await withTaskGroup { group in
                for _ in 0..<4 { group.addTask { await Self.load(running.port, client, promises) } }
                group.addTask {
                    try? await Task.sleep(for: .milliseconds(moment))
                    kill(running.process.processIdentifier, SIGKILL)
                }
            }
            #expect(try await Tool.end(running.process) == -SIGKILL, "round \(round)")
            running.pipe.fileHandleForReading.readabilityHandler = nil
        }
        for simulator in [simulators.apns, simulators.fcm] {
            try await simulator.take(.delay(ms: 0))
        }
        let promised = promises.all
        #expect(!promised.isEmpty, "seed \(seed)")
        let doubled = try await Self.deliver(promised, file, simulators, "seed \(seed)")
        print(
            "crash test: \(rounds) rounds, \(promised.count) promised, \(doubled) doubled, seed \(seed)"
        )
        client.shutdown()
        await simulators.shutdown()
    }

    /// `SIGNALBOX_STOP_MS=130000` stops the process for longer than its leases last.
    @Test func `what was answered 2xx arrives, if the process is stopped for a while`()
        async throws
    {
        let stopMs =
            ProcessInfo.processInfo.environment["SIGNALBOX_STOP_MS"].flatMap { Int($0) } ?? 500
        let simulators = try await Simulators.start(SimulatorsOptions())
        for simulator in [simulators.apns, simulators.fcm] {
            try await simulator.take(.delay(ms: 15))
        }
        let yaml = GatewayRig.yaml(simulators)
        let file = try ProgramTests.temporary("gateway.yaml", yaml)
        let client = try RESTClient()
        let promises = Promises()
        let running = try await Self.start(file)
        let process = running.process.processIdentifier
        try await withThrowingTaskGroup { group in
            for _ in 0..<4 { group.addTask { await Self.load(running.port, client, promises) } }
            while promises.all.count < 100 { try await Task.sleep(for: .milliseconds(5)) }
            kill(process, SIGSTOP)
            try await Task.sleep(for: .milliseconds(stopMs))
            kill(process, SIGCONT)
            // Once it runs again, waiting clients get their answers or have given up.
            try await Task.sleep(for: .milliseconds(500))
            running.process.terminate()
            try await group.waitForAll()
        }
        #expect(try await Tool.end(running.process) == 0)
        running.pipe.fileHandleForReading.readabilityHandler = nil
        for simulator in [simulators.apns, simulators.fcm] {
            try await simulator.take(.delay(ms: 0))
        }
        let promised = promises.all
        let doubled = try await Self.deliver(
            promised, file, simulators, "stopped for \(stopMs) ms")
        print("stop test: \(stopMs) ms, \(promised.count) promised, \(doubled) doubled")
        client.shutdown()
        await simulators.shutdown()
    }

    /// Starts a gateway that delivers the rest. Returns how many pushes were doubled.
    private static func deliver(
        _ promised: Set<String>, _ file: String, _ simulators: Simulators, _ note: String
    ) async throws -> Int {
        let last = try await start(file)
        let missing = try await simulators.missing(of: promised)
        #expect(missing.isEmpty, "\(missing.count) of \(promised.count) never arrived; \(note)")
        let byToken = Dictionary(grouping: simulators.apns.received, by: \.token)
        for (token, pushes) in byToken {
            let ids = Set(pushes.compactMap { $0.header("apns-id") })
            #expect(ids.count == 1, "\(token) went out under \(ids.count) ids; \(note)")
        }
        try await last.end()
        return byToken.values.count { $0.count > 1 }
    }
}
