import Foundation
import PluginRig
import SignalboxCore
import SignalboxThreads
import Synchronization
import Testing

@testable import SignalboxPostgres

/// Connections that are lost during COMMIT.
@Suite struct CommitCutTests {
    @Test(arguments: DatabaseProxy.CommitCut.allCases)
    func `what a cut commit did is known afterwards: nothing is missing, nothing is doubled`(
        cut: DatabaseProxy.CommitCut
    ) async throws {
        let server = try await PostgresServer.shared()
        let database = try await server.database()
        let proxy = try DatabaseProxy(to: server.socket)
        let rig = try await StoreRig.open(proxy.address(of: database))
        var stored: [UInt64] = []
        let all = 1...UInt64(16)
        for id in all {
            proxy.set(id % 2 == 0 ? .cutting(cut) : .passing)
            let count = proxy.cutCount
            async let answer = rig.append(id, key: "k\(id)", isTaken: true)
            if id % 2 == 0 {
                try await until { proxy.cutCount > count }
                proxy.set(.passing)
            }
            let found = await answer
            guard case .committed(let commit) = found else {
                #expect(id % 2 == 0 && cut != .after, "\(found)")
                try await until { !rig.store.isFailing }
                continue
            }
            #expect(commit.duplicates.isEmpty)
            stored.append(id)
        }
        #expect(proxy.cutCount >= 8)
        #expect(try await database.blocked() == stored.count)
        // Half of them are not cut.
        #expect(stored.count >= 8)
        // What was not stored can come again.
        for id in all where !stored.contains(id) {
            try await rig.appendUntilTaken(id, key: "k\(id)")
        }
        #expect(try await database.blocked() == all.count)
        for id in stored.prefix(4) {
            proxy.set(.cutting(cut))
            let count = proxy.cutCount
            async let refusal = rig.settle([id])
            try await until { proxy.cutCount > count }
            proxy.set(.passing)
            #expect(try await refusal == LeaseRefusal())
        }
        #expect(try await database.blocked() == all.count - 4)
        await rig.store.close()
        proxy.close()
        try await database.remove()
    }

    @Test func `a commit whose answer is lost counts once the standby has it`() async throws {
        let server = try await PostgresServer.own()
        let database = try await server.database()
        let rig = try await StoreRig.open(database.address)
        _ = await rig.append(1)
        for id in UInt64(2)... {
            let (answer, isEarly) = try await cutInWait(id, rig, server)
            guard case .committed = answer else {
                // On a slow machine, the statements before COMMIT may take too long.
                #expect(try await database.blocked() == 1, "\(answer)")
                continue
            }
            #expect(!isEarly)
            #expect(try await database.blocked() == 2)
            break
        }
        await rig.store.close()
    }

    /// Ends the connection of a commit that waits for a standby. Returns its answer, and whether it came before the
    /// server stopped waiting for standbys.
    private func cutInWait(
        _ id: UInt64, _ rig: StoreRig, _ server: PostgresServer
    ) async throws -> (StoreAnswer, isEarly: Bool) {
        // A standby that never comes.
        try await server.run("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        try await server.run("SELECT pg_reload_conf()")
        func waiting(_ query: String) async throws -> Bool {
            try await !server.run(
                "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND \(query)"
            ).isEmpty
        }
        // The server takes some time to read its settings again.
        for number in 0... {
            let isDone = Gate(false)
            Task {
                _ = try? await server.run("CREATE TABLE probe_\(id)_\(number) ()")
                isDone.update { $0 = true }
            }
            var waits = false
            try await until {
                waits = try await waiting("query LIKE 'CREATE TABLE probe%'")
                return waits || isDone.update { $0 }
            }
            if waits { break }
        }
        let isAnswered = Atomic(false)
        async let answer = {
            defer { isAnswered.store(true, ordering: .relaxed) }
            return await rig.append(id, key: "k\(id)")
        }()
        try await until {
            let waits = try await waiting("query = 'COMMIT'")
            return waits || isAnswered.load(ordering: .relaxed)
        }
        // From now on it is visible, and nowhere but here.
        try await server.run(
            """
            SET synchronous_commit = off;
            SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE wait_event = 'SyncRep'
            """)
        try await until {
            let waits = try await waiting("query LIKE '%signalbox.mark%'")
            return waits || isAnswered.load(ordering: .relaxed)
        }
        let isEarly = isAnswered.load(ordering: .relaxed)
        try await server.run("ALTER SYSTEM RESET synchronous_standby_names")
        try await server.run("SELECT pg_reload_conf()")
        return (await answer, isEarly)
    }
}
