import Foundation
import PluginRig
import SignalboxCore
import SignalboxHTTP
import SignalboxSimulators
import Synchronization
import Testing

/// Two gateways of the real program on one PostgreSQL database.
@Suite struct FleetTests {
    /// Whether the load continues.
    private final class Load: Sendable {
        private let hasEnded = Atomic(false)
        var isEnough: Bool { hasEnded.load(ordering: .relaxed) }
        func end() { hasEnded.store(true, ordering: .relaxed) }
    }

    @Test func `what was answered 2xx arrives, if one of two gateways is killed under load`()
        async throws
    {
        let database = try await PostgresServer.shared().database()
        let simulators = try await Simulators.start(SimulatorsOptions())
        // Slow enough that the gateway dies with pushes in flight.
        for simulator in [simulators.apns, simulators.fcm] {
            try await simulator.take(.delay(ms: 15))
        }
        let client = try RESTClient()
        let promises = CrashTests.Promises()
        let load = Load()
        let yaml = GatewayRig.yaml(simulators)
        let one = try await CrashTests.start(GatewayRig.file("one", on: database, yaml))
        let two = try await CrashTests.start(GatewayRig.file("two", on: database, yaml))
        try await withThrowingTaskGroup { group in
            for running in [one, two, one, two] {
                group.addTask {
                    await CrashTests.load(running.port, client, promises) {
                        !load.isEnough
                    }
                }
            }
            while promises.all.count < 400 { try await Task.sleep(for: .milliseconds(5)) }
            kill(one.process.processIdentifier, SIGKILL)
            let before = promises.all.count
            // The other one works as before.
            while promises.all.count < before + 200 { try await Task.sleep(for: .milliseconds(5)) }
            load.end()
            try await group.waitForAll()
        }
        #expect(try await Tool.end(one.process) == -SIGKILL)
        // The dead gateway's leases end, which would take two minutes.
        let held = try await database.run(
            """
            WITH life AS (SELECT life FROM signalbox.gateway WHERE name = 'one'),
              b AS (UPDATE signalbox.block SET due = 0 WHERE owner IN (SELECT life FROM life)
                RETURNING n),
              d AS (UPDATE signalbox.delivery SET due = 0 WHERE owner IN (SELECT life FROM life)
                RETURNING 1)
            SELECT coalesce((SELECT sum(n) FROM b), 0) + (SELECT count(*) FROM d)
            """)
        let inFlight = Int(held.trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0
        let missing = try await simulators.missing(of: promises.all)
        #expect(missing.isEmpty, "\(missing.count) of \(promises.all.count) never arrived")
        let byToken = Dictionary(grouping: simulators.apns.received, by: \.token)
        for (token, pushes) in byToken {
            let ids = Set(pushes.compactMap { $0.header("apns-id") })
            #expect(ids.count == 1, "\(token) went out under \(ids.count) ids")
        }
        let all = Dictionary(
            grouping: simulators.apns.received + simulators.fcm.received, by: \.token)
        let doubled = all.values.reduce(0) { $0 + $1.count - 1 }
        #expect(doubled <= inFlight, "\(doubled) doubled, \(inFlight) were held")
        print(
            "fleet test: \(promises.all.count) promised, \(inFlight) held by the dead gateway, "
                + "\(doubled) doubled")
        try await two.end()
        client.shutdown()
        await simulators.shutdown()
        try await database.remove()
    }
}
