import PluginRig
import SignalboxCore
import Testing

@testable import SignalboxPostgres

/// How often an event waits for the database.
@Suite struct RoundTripTests {
    @Test func `a new event waits once, and one that is known is found all the same`() async throws
    {
        let server = try await PostgresServer.shared()
        let database = try await server.database()
        let proxy = try DatabaseProxy(to: server.socket)
        let rig = try await StoreRig.open(proxy.address(of: database))
        /// The least of ten, because the store also asks things by itself.
        func questions(from first: UInt64) async -> Int {
            var least = Int.max
            for id in first..<first + 10 {
                let before = proxy.questionCount
                let answer = await rig.append(id, key: "k\(id)")
                guard case .committed(let commit) = answer, commit.duplicates.isEmpty else {
                    Issue.record("\(answer)")
                    return .max
                }
                least = min(least, proxy.questionCount - before)
            }
            return least
        }
        // It learns the lane.
        _ = await rig.append(1)
        #expect(await questions(from: 10) == 1)
        guard case .committed(let commit) = await rig.append(30, key: "k12") else {
            Issue.record("a known event is refused")
            return
        }
        #expect(commit.duplicates == [0])
        // Others like it may follow.
        #expect(await questions(from: 40) == 2)
        for id in UInt64(60)..<120 { _ = await rig.append(id, key: "k\(id)") }
        #expect(await questions(from: 200) == 1)
        #expect(try await database.blocked() == 91)
        await rig.store.close()
        proxy.close()
        try await database.remove()
    }
}
