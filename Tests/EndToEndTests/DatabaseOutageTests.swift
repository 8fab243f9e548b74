import Foundation
import PluginRig
import SignalboxCore
import SignalboxHTTP
import SignalboxJSON
import SignalboxSimulators
import Testing

/// A gateway whose PostgreSQL database goes away.
@Suite struct DatabaseOutageTests {
    @Test func `while the database is away, events get 503 and pushes in memory are still sent`()
        async throws
    {
        let server = try await PostgresServer.shared()
        let database = try await server.database()
        let proxy = try DatabaseProxy(to: server.socket)
        let rig = try await GatewayRig(config: { simulators in
            let store = "gateway: { store: { postgres: \"\(proxy.address(of: database))\" }, "
            return GatewayRig.yaml(simulators)
                .replacing("gateway: { ", with: store)
        })
        // One after the other, so that most are still in memory when the first arrives.
        try await rig.simulators.apns.take(.streams(max: 1))
        try await rig.simulators.apns.take(.delay(ms: 50))
        let tokens = (1...6).map { "t\($0)" }
        let answer = try await rig.post(
            GatewayRig.webhook(tokens.map { ("ios", $0) }, ticket: "first"))
        #expect(answer.status == 200)
        _ = await rig.simulators.apns.wait(for: 1, timeoutMs: 120_000)
        proxy.set(.cut)
        #expect(Set(await rig.delivered(rig.simulators.apns, 6)) == Set(tokens))
        var refused = try await rig.post(GatewayRig.webhook([("ios", "late")], ticket: "late"))
        #expect(refused.status == 503)
        #expect(refused.header("retry-after") == "1")
        let ready = try await rig.admin("/readyz")
        let readiness = try JSONValue.parse(ready.body)
        #expect(ready.status == 503 && readiness["status"]?.string == "database_away")
        #expect(readiness["reason"]?.string?.isEmpty == false)
        var metrics = rig.metrics
        #expect(metrics.contains("signalbox_store_failing 1"))
        #expect(metrics.contains(/signalbox_store_refused_total\{desk="queue"\} [1-9]/))
        proxy.set(.passing)
        while refused.status == 503 {
            refused = try await rig.post(GatewayRig.webhook([("ios", "late")], ticket: "late"))
            try await Task.sleep(for: .milliseconds(20))
        }
        #expect(refused.status == 200)
        let sent = await rig.delivered(rig.simulators.apns, 7)
        #expect(sent.sorted() == (tokens + ["late"]).sorted())
        // What was sent meanwhile is settled.
        let left = "SELECT coalesce(sum(n), 0) FROM signalbox.block"
        while try await !database.run(left).hasPrefix("0") {}
        while metrics.contains("signalbox_store_failing 1") {
            metrics = rig.metrics
            try await Task.sleep(for: .milliseconds(50))
        }
        #expect(rig.log.all.contains { $0.contains("database is away") })
        #expect(rig.log.all.contains { $0.contains("database is back") })
        await rig.end()
        proxy.close()
        try await database.remove()
    }

    @Test func `a gateway that cannot reach its database exits with 75`() async throws {
        let simulators = try await Simulators.start(SimulatorsOptions())
        let store = "gateway: { store: { postgres: \"postgres://u:geheim@127.0.0.1:1/d\" }, "
        let yaml = GatewayRig.yaml(simulators)
        let file = try ProgramTests.temporary(
            "gateway.yaml", yaml.replacing("gateway: { ", with: store))
        let ended = try await ProgramTests.run(["run", "--config", file])
        #expect(ended.status == 75)
        #expect(ended.text.contains("store-unreachable"))
        #expect(ended.text.contains("check the address in gateway.store"))
        #expect(!ended.text.contains("geheim"))
        await simulators.shutdown()
    }

    @Test func `a start that waits for a lock ends at once at SIGTERM, and its backend with it`()
        async throws
    {
        let server = try await PostgresServer.shared()
        let database = try await server.database()
        let simulators = try await Simulators.start(SimulatorsOptions())
        let store = "gateway: { store: { postgres: \"\(database.address)\" }, "
        let yaml = GatewayRig.yaml(simulators)
        let file = try ProgramTests.temporary(
            "gateway.yaml", yaml.replacing("gateway: { ", with: store))
        // An operator's session that holds a lock for as long as it runs.
        let migrated = try await ProgramTests.run(["store", "migrate", file])
        #expect(migrated.status == 0, "\(migrated.text)")
        async let holder = try? database.run(
            "BEGIN; LOCK TABLE signalbox.gateway; SELECT pg_sleep(600)")
        let locks = "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted"
        while try await !database.run(locks + " AND locktype = 'relation'").hasPrefix("1") {}
        // What only looks ends with words.
        for command in [["store", "status", file], ["fleet", "--config", file]] {
            let ended = try await ProgramTests.run(command)
            #expect(ended.status == 75 && ended.text.contains("holds AccessExclusiveLock"))
        }
        let (process, pipe) = try ProgramTests.start(["run", "--config", file])
        _ = try await Tool.read(pipe, until: "waiting for locks in the database")
        process.terminate()
        // It would end with 75 when it has waited for long enough.
        #expect(try await Tool.aside { process.wait() } == 0)
        let waiting = """
            SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock'
            """
        while try await !database.run(waiting).hasPrefix("0") {}
        try await database.disconnect()
        _ = await holder
        await simulators.shutdown()
        try await database.remove()
    }
}
