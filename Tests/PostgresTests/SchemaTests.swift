import Foundation
import PluginRig
import SignalboxCore
import StoreConformance
import Testing

@testable import SignalboxPostgres

/// Gateways of several versions on one database, and changes of its tables that fail.
@Suite struct SchemaTests {
    private let rig: DatabaseRig
    private static let first = Array(SchemaSteps.all.prefix(1))

    init() async throws { rig = try await DatabaseRig() }

    /// Makes the tables of some version.
    private func migrate(_ steps: [SchemaStep]) async throws {
        let address = try PostgresAddress(rig.database.address)
        try await Tool.aside { try Opening(address, usesNames: true, steps: steps).migrate() }
    }

    private func fault(address: String? = nil) async throws -> StoreError? {
        await #expect(throws: StoreError.self) { try await rig.open(address: address) }
    }

    @Test func `an older gateway works on with tables that a newer one has changed`() async throws {
        let older = try await rig.open("older")
        try await rig.append(older, 1, isTaken: true)
        let newer = SchemaStep(sql: [
            "ALTER TABLE signalbox.block ADD COLUMN colour text",
            "CREATE TABLE signalbox.paint (id bigint PRIMARY KEY)",
        ])
        try await migrate(SchemaSteps.all + [newer])
        #expect(try await rig.settle(older, [.delivered(1)]).lost.isEmpty)
        try await rig.append(older, 2)
        #expect(try await rig.lease(older).map(\.id) == [2])
        // It may also start again.
        await older.close()
        let again = try await rig.open("older")
        #expect(try await rig.lease(again).map(\.id) == [2])
        #expect(
            try await rig.number("SELECT value FROM signalbox.meta WHERE name = 'schema'")
                == SchemaSteps.all.count + 1)
        try await rig.end()
    }

    @Test func `tables of a newer major version are refused`() async throws {
        await (try await rig.open()).close()
        try await rig.database.run("UPDATE signalbox.meta SET value = 2 WHERE name = 'major'")
        let error = try await fault()
        #expect(error?.code == "store-newer")
        #expect(error?.message.contains("major version 2, this one knows 1") == true)
        try await rig.end()
    }

    @Test func `tables whose version is lost are refused, and used once they have one again`()
        async throws
    {
        let store = try await rig.open()
        try await rig.append(store, 1)
        await store.close()
        let page = try String(
            contentsOf: PluginRig.root.appending(path: "docs/operations.md"), encoding: .utf8)
        let sql = #/```sql\n(CREATE TABLE IF NOT EXISTS signalbox\.meta[^`]*)```/#
        let recipe = String(try #require(page.firstMatch(of: sql)).output.1)
        for loss in ["DROP TABLE signalbox.meta", "TRUNCATE signalbox.meta"] {
            try await rig.database.run(loss)
            let error = try await fault()
            #expect(error?.code == "store-damaged")
            #expect(error?.message.contains("signalbox.meta was dropped or emptied") == true)
            #expect(throws: StoreError.self) {
                try PostgresContents.status(PostgresAddress(rig.database.address))
            }
            try await rig.database.run(recipe)
        }
        #expect(try await rig.lease(rig.open()).map(\.id) == [1])
        try await rig.end()
    }

    @Test func `tables of the first version are changed once its gateways are gone`() async throws {
        try await migrate(Self.first)
        try await rig.database.run(
            """
            INSERT INTO signalbox.gateway VALUES ('other', 1, 1, 0,
              (extract(epoch FROM clock_timestamp()) * 1000)::bigint);
            INSERT INTO signalbox.seen VALUES ('\\x00', 1);
            INSERT INTO signalbox.block VALUES (0, 1, 0, 0, 0, 1, 0, 0, 0, 0, '')
            """)
        let error = try await fault()
        #expect(error?.code == "store-busy")
        #expect(error?.message.contains("stop other") == true)
        try await rig.database.run("UPDATE signalbox.gateway SET heartbeat = 0")
        let store = try await rig.open()
        #expect(try await rig.number("SELECT count(*) FROM signalbox.block WHERE part = 0") == 1)
        #expect(try await rig.number("SELECT count(*) FROM signalbox.seen") == 1)
        try await rig.append(store, 7)
        try await rig.end()
    }

    @Test func `a change of the tables that is killed leaves nothing`() async throws {
        try await migrate(Self.first)
        // The last table that changes is in use, so the change stops half-way.
        let reader = try rig.link()
        _ = try reader.run(Statement("", "BEGIN"), byNs: rig.soon)
        _ = try reader.run(Statement("", "SELECT count(*) FROM signalbox.outcome"), byNs: rig.soon)
        // It waits for longer than a start does: this machine may be slow to look for it.
        let address = try PostgresAddress(rig.database.address)
        let opening = Task {
            try await Tool.aside {
                _ = try Opening(address, usesNames: true, locks: LockWait(maxMs: 3_600_000))
                    .update()
            }
        }
        let waiting = """
            SELECT coalesce(min(pid), 0) FROM pg_locks WHERE NOT granted
              AND relation = 'signalbox.outcome'::regclass
            """
        var pid = 0
        while pid <= 0 { pid = try await rig.number(waiting) }
        try await rig.database.run("SELECT pg_terminate_backend(\(pid), 10000)")
        await #expect(throws: StoreError.self) { try await opening.value }
        #expect(
            try await rig.number("SELECT value FROM signalbox.meta WHERE name = 'schema'") == 1)
        #expect(
            try await rig.number("SELECT count(*) FROM pg_class WHERE relname = 'block_1'") == 0)
        _ = try reader.run(Statement("", "COMMIT"), byNs: rig.soon)
        try await rig.append(try await rig.open(), 1)
        try await rig.end()
    }

    @Test func `a user who may not create the tables can use them`() async throws {
        let user = "u\(rig.database.name.dropFirst().prefix(12))"
        try await rig.database.run("CREATE ROLE \(user) LOGIN")
        let address = rig.database.address.replacing("signalbox@", with: "\(user)@")
        let error = try await fault(address: address)
        #expect(error?.code == "store-denied")
        #expect(error?.message.contains("store migrate") == true)
        await (try await rig.open("owner")).close()
        // As in docs/configuration.md.
        try await rig.database.run(
            """
            GRANT USAGE ON SCHEMA signalbox TO \(user);
            GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON ALL TABLES IN SCHEMA signalbox TO \(user);
            GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA signalbox TO \(user)
            """)
        let store = try await rig.open(address: address)
        try await rig.append(store, 1, key: "k")
        #expect(try await rig.lease(store).map(\.id) == [1])
        let session = Session(
            try PostgresAddress(address), usesNames: true, store.life, channel: 9,
            DatabaseClock(offsetMs: { 0 }))
        for _ in 0..<2 { try Halves(bytesMax: -1).tidy(session, nowUnixMs: 1) }
        #expect(try await rig.number("SELECT pg_relation_size('signalbox.block_0')") == 0)
        await store.close()
        // It also copies them elsewhere.
        let contents = try PostgresContents(PostgresAddress(address), .source, silenceMs: 0)
        let reference = MemoryContents(MemoryStorage(.init(nowUnixMs: { 0 })))
        #expect(try StoreCopy(from: contents, to: reference).run().counts[.waiting] == 1)
        contents.close()
        try await rig.end()
        try await PostgresServer.shared().remove(user: user)
    }
}
