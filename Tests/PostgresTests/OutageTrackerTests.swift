import PluginRig
import SignalboxCore
import Testing

@testable import SignalboxPostgres

/// What a store says of its database.
@Suite struct OutageTrackerTests {
    @Test func `a full database refuses events and settles deliveries, and has room again`()
        async throws
    {
        let database = try await PostgresServer.shared().database()
        let rig = try await StoreRig.open(database.address)
        _ = await rig.append(1, isTaken: true)
        // What a server with a full disk answers to a write.
        try await database.run(
            """
            CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
              $$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device'
                USING ERRCODE = 'disk_full'; END $$;
            CREATE TRIGGER full_disk BEFORE INSERT ON signalbox.block FOR EACH ROW
              EXECUTE FUNCTION full_disk()
            """)
        #expect(await rig.append(2, key: "k") == .diskFull("the database is full"))
        #expect(rig.store.isDiskFull)
        #expect(rig.store.trouble?.contains("53100") == true)
        // Together with events that are refused.
        async let refused = rig.append(3)
        async let settled = rig.settle([1])
        #expect(try await settled == LeaseRefusal())
        #expect(await refused == .diskFull("the database is full"))
        #expect(try await database.blocked() == 0)
        try await database.run("DROP TRIGGER full_disk ON signalbox.block")
        try await rig.appendUntilTaken(2, key: "k")
        rig.store.outages.endOld(quietNs: 0)
        #expect(!rig.store.isDiskFull)
        #expect(rig.notices.texts.count { $0.hasPrefix("began(") && $0.contains("full,") } == 1)
        #expect(rig.notices.texts.count { $0.hasPrefix("ended(") } == 1)
        await rig.store.close()
        try await database.remove()
    }

    @Test func `a fenced gateway goes on if nobody else has its name`() async throws {
        let database = try await PostgresServer.shared().database()
        let rig = try await StoreRig.open(database.address)
        _ = await rig.append(1, isTaken: true)
        let token = rig.store.token
        // As a restored backup does.
        try await database.run("DELETE FROM signalbox.gateway")
        try await rig.appendUntilTaken(2)
        #expect(rig.store.token != token)
        #expect(rig.store.stop == nil)
        let refusal = await withCheckedContinuation { continuation in
            rig.store.settle([.delivered(1)], under: token, outcomes: OutcomePack()) {
                continuation.resume(returning: try? $0.get())
            }
        }
        #expect(refusal == .fenced)
        await rig.store.close()
        try await database.remove()
    }

    @Test func `of two gateways with one name the older is not ready, until the newer has ended`()
        async throws
    {
        let database = try await PostgresServer.shared().database()
        let older = try await StoreRig.open(database.address)
        let newer = try await StoreRig.open(database.address)
        guard case .failed(let words) = await older.append(1) else {
            Issue.record("the event was taken")
            return
        }
        #expect(words.contains("another gateway named one"))
        try await until { older.store.stop == .nameTaken }
        #expect(older.store.trouble?.contains("gateway.name") == true)
        guard case .committed = await newer.append(2) else {
            Issue.record("the event was refused")
            return
        }
        #expect(newer.store.stop == nil)
        await newer.store.close()
        // As half a minute later.
        try await database.run("UPDATE signalbox.gateway SET heartbeat = 0")
        try await older.appendUntilTaken(3)
        #expect(older.store.stop == nil)
        await older.store.close()
        try await database.remove()
    }

    @Test func `a server's standbys are told at startup`() async throws {
        let server = try await PostgresServer.own()
        let database = try await server.database()
        func told() async throws -> [String] {
            let rig = try await StoreRig.open(database.address)
            await rig.store.close()
            return rig.notices.texts
        }
        #expect(try await told().contains { $0.contains("info") && $0.contains("no standby") })
        _ = try await PostgresServer.own(.standby(of: server))
        try await until {
            try await server.run("SELECT state FROM pg_stat_replication").hasPrefix("streaming")
        }
        #expect(
            try await told().contains {
                $0.contains("warning") && $0.contains("none is synchronous")
            })
        try await server.run("ALTER SYSTEM SET synchronous_standby_names = '*'")
        try await server.run("SELECT pg_reload_conf()")
        try await until {
            try await server.run("SELECT sync_state FROM pg_stat_replication").hasPrefix("sync")
        }
        #expect(try await told() == [])
    }
}
