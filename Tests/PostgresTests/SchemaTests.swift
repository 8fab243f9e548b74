import Foundation
import PluginRig
import SignalboxCore
import StoreConformance
import Testing

@testable import SignalboxPostgres

/// Tables that this version does not know, and starts that fail before there are any.
@Suite struct SchemaTests {
    private let rig: DatabaseRig

    init() async throws { rig = try await DatabaseRig() }

    private func fault(address: String? = nil) async throws -> StoreError? {
        await #expect(throws: StoreError.self) { try await rig.open(address: address) }
    }

    @Test func `tables with another schema number are refused`() async throws {
        await (try await rig.open()).close()
        try await rig.database.run("UPDATE signalbox.meta SET value = 8 WHERE name = 'schema'")
        let error = try await fault()
        #expect(error?.code == "store-newer")
        let words = "\(rig.database.name) has the schema number 8, and this signalbox uses 1"
        #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
        let address = try PostgresAddress(rig.database.address)
        #expect(PostgresContents.startFault(address)?.code == "store-newer")
        #expect(try PostgresContents.status(address).schema == .unknown(8, known: 1))
        #expect(throws: StoreError.self) {
            try PostgresContents(address, .source, silenceMs: 0)
        }
        try await rig.database.run("UPDATE signalbox.meta SET value = 1 WHERE name = 'schema'")
        try await rig.append(try await rig.open(), 1)
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

    @Test func `a start that is killed while it makes the tables leaves none`() async throws {
        // Somebody makes the last of them, so the start stops half-way.
        let holder = try rig.link()
        for sql in ["CREATE SCHEMA signalbox", "BEGIN", "CREATE TABLE signalbox.history ()"] {
            _ = try holder.run(Statement("", sql), byNs: rig.soon)
        }
        // It waits for longer than a start does: this machine may be slow to look for it.
        let address = try PostgresAddress(rig.database.address)
        let opening = Task {
            try await Tool.aside {
                try Opening(address, usesNames: true, locks: LockWait(maxMs: 3_600_000))
                    .makeTables()
            }
        }
        let waiting = """
            SELECT coalesce(min(l.pid), 0) FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
            WHERE NOT l.granted AND a.datname = current_database()
            """
        var pid = 0
        while pid <= 0 { pid = try await rig.number(waiting) }
        try await rig.database.run("SELECT pg_terminate_backend(\(pid), 10000)")
        await #expect(throws: StoreError.self) { try await opening.value }
        #expect(
            try await rig.number("SELECT value FROM signalbox.meta WHERE name = 'schema'") == 0)
        #expect(try await rig.number("SELECT count(*) FROM pg_class WHERE relname = 'lane'") == 0)
        _ = try holder.run(Statement("", "ROLLBACK"), byNs: rig.soon)
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
        for _ in 0..<2 { try TableRotation(bytesMax: -1).tidy(session, nowUnixMs: 1) }
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
