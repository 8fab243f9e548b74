import PluginRig
import SignalboxCore
import SignalboxThreads
import Testing

@testable import SignalboxPostgres

/// Somebody holds a lock: nobody waits for it for long, and no server process stays behind.
@Suite struct LockTests {
    private let rig: DatabaseRig

    init() async throws { rig = try await DatabaseRig() }

    /// A session of an operator that holds the lock until it is closed.
    private func lock(_ table: String) throws -> PostgresLink {
        let link = try PostgresLink(
            PostgresAddress(rig.database.address + "?application_name=operator"))
        for sql in ["BEGIN", "LOCK TABLE signalbox.\(table) IN ACCESS EXCLUSIVE MODE"] {
            _ = try link.run(Statement("", sql), byNs: rig.soon)
        }
        return link
    }

    /// Sessions of gateways that wait for a lock.
    private func waiting() async throws -> Int {
        try await rig.number(
            """
            SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock'
            """)
    }

    @Test(arguments: ["meta", "gateway", "block"])
    func `a start that waits for a lock says who holds it, and ends with that`(table: String)
        async throws
    {
        // Its leases are taken back by the next start.
        await (try await rig.open()).close()
        let holder = try lock(table)
        var options = try rig.options()
        options.lockMaxMs = 1_500
        let made = options
        let error = await #expect(throws: StoreError.self) {
            try await Tool.aside { try PostgresStore.open(made) }
        }
        #expect(error?.code == "store-locked")
        let words = "(operator) holds AccessExclusiveLock on signalbox.\(table)"
        #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
        #expect(rig.notices.contains { "\($0)".contains(words) && "\($0)".contains("waiting") })
        try await until { try await waiting() == 0 }
        holder.end()
        try await rig.end()
    }

    @Test func `a start goes on when the lock is released`() async throws {
        await (try await rig.open()).close()
        let holder = try lock("gateway")
        var options = try rig.options()
        options.lockMaxMs = 60_000
        let made = options
        async let store = Tool.aside { try PostgresStore.open(made) }
        try await until { rig.notices.contains { "\($0)".contains("operator") } }
        holder.end()
        await (try await store).close()
        try await rig.end()
    }

    @Test func `what looks at a locked store ends with words`() async throws {
        await (try await rig.open()).close()
        let holder = try lock("gateway")
        let address = try PostgresAddress(rig.database.address)
        let status = await #expect(throws: StoreError.self) {
            _ = try await Tool.aside { try PostgresContents.status(address) }
        }
        #expect(status?.message.contains("(operator) holds") == true)
        let fleet = await #expect(throws: StoreError.self) {
            _ = try await Tool.aside { try PostgresStore.fleet(of: address, usesNames: true) }
        }
        #expect(fleet?.code == "store-locked")
        try await until { try await waiting() == 0 }
        holder.end()
        try await rig.end()
    }

    @Test(arguments: [true, false])
    func `each transaction has its limits, with a pooler too`(usesNames: Bool) async throws {
        let address = try PostgresAddress(rig.database.address)
        let connector = Connector(address, usesNames: usesNames)
        var made: PostgresLink?
        while made == nil { made = try connector.link(byNs: rig.soon) }
        let link = try #require(made)
        let shown = Statement(
            "",
            """
            SELECT current_setting('lock_timeout') || ' ' || current_setting('statement_timeout')
              || ' ' || current_setting('client_connection_check_interval')
            """)
        #expect(try link.run(shown, byNs: rig.soon).text(0, 0) == "700ms 15s 1s")
        _ = link.send(.begin)
        #expect(link.send(shown) == 1)
        let rows = try link.finish(byNs: rig.soon)
        #expect(rows.count == 2 && rows[1].text(0, 0) == "700ms 15s 1s")
        // Within a transaction that failed, nothing comes before its end.
        #expect(throws: PostgresFault.self) {
            try link.run(Statement("", "SELECT 1 / 0"), byNs: rig.soon)
        }
        _ = try link.run(.rollback, byNs: rig.soon)
        #expect(try link.run(shown, byNs: rig.soon).text(0, 0) == "700ms 15s 1s")
        try await rig.end()
    }

    @Test func `a client's request ends while somebody holds a lock`() async throws {
        var options = try rig.options()
        options.patienceMs = 1_000
        let made = options
        let store = try await Tool.aside { try PostgresStore.open(made) }
        let device = Device(app: "a", token: "t", user: "u")
        for table in ["gateway", "device", "dead"] {
            let holder = try lock(table)
            let start = SystemClock.monotonicNs
            await #expect(throws: StoreFailure.self) {
                if table != "dead" {
                    _ = try await store.register(device, isUnique: false, reports: [])
                } else {
                    _ = try await store.purge(DeadFilter(), fromID: 0, limit: 9)
                }
            }
            // It took ten seconds; there is time for a slow machine.
            #expect(SystemClock.monotonicNs - start < 6_000_000_000, "\(table)")
            holder.end()
        }
        await store.close()
        try await rig.end()
    }

    @Test func `dead letters that are locked keep no device waiting`() async throws {
        let store = try await rig.open()
        // Both have their connections, which may take a while.
        func register() async throws {
            _ = try await store.register(
                Device(app: "a", token: "t", user: "u"), isUnique: false, reports: [])
        }
        try await until { (try? await register()) != nil }
        try await until {
            (try? await store.purge(DeadFilter(), fromID: 0, limit: 9)) != nil
        }
        let holder = try lock("dead")
        async let purged = store.purge(DeadFilter(), fromID: 0, limit: 9)
        try await until { try await waiting() > 0 }
        try await register()
        holder.end()
        #expect(try await purged.count == 0)
        try await rig.end()
    }
}
