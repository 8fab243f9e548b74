import Foundation
import PluginRig
import SignalboxCore
import SignalboxThreads
import Testing

@testable import SignalboxPostgres

/// A database that does not answer: everybody gets an answer all the same.
@Suite struct OutageTests {
    /// What goes wrong.
    enum Trouble: CaseIterable {
        case cut
        case stalled
        case locked
        case frozen
        case slowCommit
    }

    @Test(arguments: Trouble.allCases)
    func `an event is answered in time, whatever the database does`(trouble: Trouble) async throws {
        let server =
            try await trouble == .frozen || trouble == .slowCommit
            ? PostgresServer.own() : PostgresServer.shared()
        let database = try await server.database()
        let proxy = try DatabaseProxy(to: server.socket)
        let rig = try await StoreRig.open(proxy.address(of: database), patienceMs: 1_000)
        try await rig.appendUntilTaken(1)
        let locker = try PostgresLink(PostgresAddress(database.address))
        try await cause(trouble, true, server, proxy, locker)
        // A server takes a moment to heed a new setting.
        var id: UInt64 = 2
        while case .committed = await rig.append(id, key: "k\(id)") { id += 1 }
        let start = SystemClock.monotonicNs
        for late in id + 1...id + 3 {
            guard case .failed = await rig.append(late, key: "k\(late)") else {
                Issue.record("event \(late) was taken")
                return
            }
        }
        // Three times a second, and time for a slow machine.
        #expect(SystemClock.monotonicNs - start < 5_500_000_000)
        // Whoever found out counts, too.
        let refused = rig.store.figures.first {
            $0.name == "signalbox_store_refused_total" && $0.labels.contains { $0.value == "queue" }
        }
        #expect(refused?.value == 4)
        try await cause(trouble, false, server, proxy, locker)
        // It comes back by itself, and what was refused can come again.
        for late in id...id + 4 { try await rig.appendUntilTaken(late, key: "k\(late)") }
        #expect(try await database.blocked() == Int(id + 4))
        try await until { !rig.store.isFailing }
        await rig.store.close()
        proxy.close()
    }

    private func cause(
        _ trouble: Trouble, _ isOn: Bool, _ server: PostgresServer, _ proxy: DatabaseProxy,
        _ locker: PostgresLink
    ) async throws {
        switch trouble {
        case .cut: proxy.set(isOn ? .cut : .passing)
        case .stalled: proxy.set(isOn ? .stalled : .passing)
        case .locked:
            let soon = SystemClock.monotonicNs + 60_000_000_000
            let sql =
                isOn
                ? ["BEGIN", "LOCK TABLE signalbox.block IN ACCESS EXCLUSIVE MODE"] : ["COMMIT"]
            for text in sql { _ = try locker.run(Statement("", text), byNs: soon) }
        case .frozen: try await server.freeze(isOn)
        case .slowCommit:
            let change =
                isOn
                ? "SET synchronous_standby_names = 'nobody'" : "RESET synchronous_standby_names"
            try await server.run("ALTER SYSTEM \(change)")
            try await server.run("SELECT pg_reload_conf()")
        }
    }

    @Test func `a store that closes does not wait for a database that does not answer`()
        async throws
    {
        let server = try await PostgresServer.shared()
        let database = try await server.database()
        let proxy = try DatabaseProxy(to: server.socket)
        let rig = try await StoreRig.open(proxy.address(of: database), patienceMs: 200)
        proxy.set(.cut)
        while case .committed = await rig.append(1) {}
        // New connections are taken, and never answered.
        proxy.set(.stalled)
        let start = SystemClock.monotonicNs
        await rig.store.close()
        #expect(SystemClock.monotonicNs - start < 6_000_000_000)
        proxy.close()
        try await database.remove()
    }

    @Test func `what was sent meanwhile is settled when the database is back`() async throws {
        let server = try await PostgresServer.shared()
        let database = try await server.database()
        let proxy = try DatabaseProxy(to: server.socket)
        let rig = try await StoreRig.open(proxy.address(of: database))
        for id in 1...UInt64(3) { _ = await rig.append(id, isTaken: true) }
        proxy.set(.cut)
        async let refusal = rig.settle([1, 2, 3])
        try await until { rig.store.isFailing }
        proxy.set(.passing)
        #expect(try await refusal == LeaseRefusal())
        #expect(try await database.blocked() == 0)
        await rig.store.close()
        proxy.close()
        try await database.remove()
    }

    @Test(arguments: ["RENAME", "LOCK"])
    func `a gateway whose events are all refused is not ready, until one would be stored`(
        trouble: String
    ) async throws {
        let database = try await PostgresServer.shared().database()
        let rig = try await StoreRig.open(database.address, patienceMs: 1_000)
        try await rig.appendUntilTaken(1, key: "k1")
        let holder = try PostgresLink(PostgresAddress(database.address))
        func operate(_ sql: [String]) throws {
            for text in sql {
                _ = try holder.run(
                    Statement("", text), byNs: SystemClock.monotonicNs + 60_000_000_000)
            }
        }
        try operate(
            trouble == "LOCK"
                ? ["BEGIN", "LOCK TABLE signalbox.gateway IN ACCESS EXCLUSIVE MODE"]
                : ["ALTER TABLE signalbox.seen RENAME TO unseen"])
        var id: UInt64 = 2
        // Whatever was refused once is refused for a while, and each event is refused.
        while rig.store.stop != .failing || id < 12 {
            guard case .failed = await rig.append(id, key: "k\(id)") else {
                Issue.record("event \(id) was taken")
                return
            }
            id += 1
            rig.store.outages.endOld(quietNs: 0)
        }
        #expect(rig.store.isFailing && rig.store.trouble?.isEmpty == false)
        // One line, however often it is tried.
        #expect(rig.notices.texts.count { $0.hasPrefix("began(") } == 1)
        #expect(!rig.notices.texts.contains { $0.hasPrefix("ended(") })
        try operate(
            trouble == "LOCK" ? ["COMMIT"] : ["ALTER TABLE signalbox.unseen RENAME TO seen"])
        // Without events it finds out itself.
        try await until { rig.store.stop == nil }
        rig.store.outages.endOld(quietNs: 0)
        #expect(!rig.store.isFailing)
        #expect(rig.notices.texts.count { $0.hasPrefix("ended(") } == 1)
        // What it tried is taken back.
        #expect(try await database.number("SELECT count(*) FROM signalbox.block WHERE n = 0") == 0)
        await rig.store.close()
        try await database.remove()
    }

    @Test func `one event that is refused does not take the gateway out`() async throws {
        let database = try await PostgresServer.shared().database()
        let rig = try await StoreRig.open(database.address)
        try await database.run(
            """
            CREATE FUNCTION bad() RETURNS trigger LANGUAGE plpgsql AS
              $$ BEGIN RAISE EXCEPTION 'bad'; END $$;
            CREATE TRIGGER bad BEFORE INSERT ON signalbox.block FOR EACH ROW
              WHEN (NEW.owner <> 0) EXECUTE FUNCTION bad()
            """)
        guard case .failed = await rig.append(1, isTaken: true) else {
            Issue.record("the event was taken")
            return
        }
        #expect(rig.store.isFailing && rig.store.stop == nil)
        // The writer tries it without that event.
        try await until { !rig.store.outages.isRefusing }
        #expect(rig.store.isFailing && rig.store.stop == nil)
        await rig.store.close()
        try await database.remove()
    }
}
