import PluginRig
import SignalboxCore
import SignalboxThreads
import Testing

@testable import SignalboxPostgres

/// What a role or a database has as its default is not what the gateway's statements are written for.
@Suite struct SessionSettingsTests {
    private let rig: DatabaseRig

    init() async throws { rig = try await DatabaseRig() }

    private func set(_ settings: [String]) async throws {
        for setting in settings {
            try await rig.database.run("ALTER DATABASE \(rig.database.name) SET \(setting)")
        }
    }

    private static let isolation = "default_transaction_isolation = 'serializable'"
    private static let asked = [
        "transaction_isolation", "search_path", "standard_conforming_strings",
    ]
    .map { "current_setting('\($0)')" }.joined(separator: ", ")

    @Test func `defaults of the database change nothing`() async throws {
        try await set([
            Self.isolation, "search_path = 'nowhere'", "standard_conforming_strings = off",
            "DateStyle = 'German'", "transform_null_equals = on",
            "default_transaction_deferrable = on",
        ])
        let store = try await rig.open()
        try await rig.append(store, 1, key: "k")
        #expect(try await rig.append(store, 2, key: "k") == [0])
        #expect(try await rig.lease(store).map(\.id) == [1])
        #expect(try await rig.settle(store, [.delivered(1)]).lost.isEmpty)
        let session = try rig.session(store)
        let found = try session.transaction { transaction throws(TransactionFault) in
            try transaction.run(Statement("", "SELECT \(Self.asked)"))
        }
        #expect((0..<3).map { found.text(0, $0) } == ["read committed", "pg_catalog", "on"])
        try await rig.end()
    }

    @Test func `so it is with a pooler, which keeps no settings of a session`() async throws {
        try await set([Self.isolation])
        let store = try await rig.open()
        let address = try PostgresAddress(rig.database.address)
        let session = Session(
            address, usesNames: false, store.life, channel: 8, DatabaseClock(offsetMs: { 0 }))
        let asked = Statement("", "SELECT current_setting('transaction_isolation')")
        let inside = try session.transaction { transaction throws(TransactionFault) in
            try transaction.run(asked)
        }
        let alone = try session.look { link, deadline throws(PostgresFault) in
            try link.run(asked, byNs: deadline)
        }
        #expect([inside, alone].map { $0.text(0, 0) } == ["read committed", "read committed"])
        try await rig.end()
    }

    /// The plans that a database keeps which nobody has analysed yet.
    @Test func `rows are found by their keys, whatever the statistics of a table say`()
        async throws
    {
        let session = try rig.session(try await rig.open())
        for statement in [
            QueueSQL.seeNew, QueueSQL.see, QueueSQL.known, QueueSQL.endBlocks, QueueSQL.markBlocks,
            QueueSQL.heldBlocks, QueueSQL.takeBlocks, QueueSQL.extendBlocks, QueueSQL.endRows,
            QueueSQL.takeRows, DeviceTables.ofUsers,
        ] {
            let count = (1...9).last { statement.sql.contains("$\($0)") } ?? 0
            let values = [String](repeating: "NULL", count: count).joined(separator: ", ")
            let plan = try session.transaction { transaction throws(TransactionFault) in
                for sql in [
                    "SET LOCAL plan_cache_mode = force_generic_plan",
                    "PREPARE found AS \(statement.sql)",
                ] { transaction.send(Statement("", sql)) }
                let rows = try transaction.run(Statement("", "EXPLAIN EXECUTE found (\(values))"))
                transaction.send(Statement("", "DEALLOCATE found"))
                return (0..<rows.count).map { rows.text($0, 0) }
            }
            #expect(!plan.contains { $0.contains("Seq Scan") }, "\(statement.name)")
        }
        try await rig.end()
    }
}
