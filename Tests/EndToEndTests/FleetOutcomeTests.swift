import Foundation
import PluginRig
import SignalboxCore
import SignalboxHTTP
import SignalboxSimulators
import Testing

/// Outcomes of two gateways of the real program on one PostgreSQL database.
@Suite(.timeLimit(.minutes(5))) struct FleetOutcomeTests {
    private static func post(_ count: Int, to running: CrashTests.Running) async throws {
        let client = try RESTClient()
        for number in 0..<count {
            let answer = try await client.post(
                [("ios", "t\(number)")], ticket: "\(running.port)-\(UUID())", to: running.port)
            #expect(answer.status == 200)
        }
        client.shutdown()
    }

    private static func number(_ sql: String, _ database: PostgresDatabase) async throws -> Int {
        Int(try await database.run(sql).trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0
    }

    /// Waits until the receiver's position is stored, so that a gateway that dies has nothing in flight.
    private static func settled(_ next: Int, _ database: PostgresDatabase) async throws {
        for _ in 0..<6_000 {
            let found = try await number(
                "SELECT next FROM signalbox.outcome_receiver WHERE name = 'crm'", database)
            if found == next { return }
            try await Task.sleep(for: .milliseconds(20))
        }
        Issue.record("the position never was \(next)")
    }

    @Test func `a receiver gets each outcome once, and the next gateway goes on after a kill`()
        async throws
    {
        let database = try await PostgresServer.shared().database()
        let simulators = try await Simulators.start(SimulatorsOptions())
        let api = try await OutcomeTests.Receiver.start()
        let yaml = OutcomeTests.yaml(simulators, [OutcomeTests.receiver(api)])
        let gateways = [
            "one": try await CrashTests.start(GatewayRig.file("one", on: database, yaml)),
            "two": try await CrashTests.start(GatewayRig.file("two", on: database, yaml)),
        ]
        for running in gateways.values { try await Self.post(10, to: running) }
        _ = try await api.wait(for: 20)
        try await Self.settled(21, database)
        #expect(api.taken.compactMap { $0["sequence"]?.integer } == Array(1...20))
        let name = try await database.run(
            """
            SELECT g.name FROM signalbox.gateway g JOIN signalbox.outcome_receiver r
            ON r.sender = g.life
            """
        ).trimmingCharacters(in: .whitespacesAndNewlines)
        let (sender, other) = (gateways[name], gateways[name == "one" ? "two" : "one"])
        let (dead, left) = (try #require(sender), try #require(other))
        kill(dead.process.processIdentifier, SIGKILL)
        #expect(try await Tool.end(dead.process) == -SIGKILL)
        try await Self.post(10, to: left)
        // The dead gateway's claim ends, which would take half a minute.
        try await database.run("UPDATE signalbox.outcome_receiver SET until = 0")
        _ = try await api.wait(for: 30)
        try await Self.settled(31, database)
        #expect(api.taken.compactMap { $0["sequence"]?.integer } == Array(1...30))
        left.process.terminate()
        #expect(try await Tool.end(left.process) == 0)
        // A gateway that stops lets the next one send at once.
        #expect(
            try await Self.number("SELECT until FROM signalbox.outcome_receiver", database)
                <= Self.number(
                    "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint", database))
        for running in gateways.values {
            running.pipe.fileHandleForReading.readabilityHandler = nil
        }
        await api.end()
        await simulators.shutdown()
        try await database.remove()
    }
}
