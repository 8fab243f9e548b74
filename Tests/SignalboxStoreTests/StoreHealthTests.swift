import GRDB
import SignalboxCore
import Testing

@testable import SignalboxStore

/// A store whose file refuses writes.
@Suite struct StoreHealthTests {
    typealias Rig = StoreTests.Rig

    /// Makes a statement fail, like a damaged page, until the trigger is dropped.
    static func refuse(_ rig: Rig, _ what: String) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.busyMode = .timeout(60)
        let queue = try DatabaseQueue(
            path: "\(rig.folder)/signalbox.sqlite", configuration: configuration)
        try queue.write { db in
            try db.execute(
                sql: """
                    CREATE TRIGGER refuse BEFORE \(what)
                    BEGIN SELECT RAISE(FAIL, 'not now'); END
                    """)
        }
        return queue
    }

    @Test func `outcomes that cannot be written fail the store, until they are`() async throws {
        let rig = try Rig()
        _ = await rig.append([
            StoreTests.item([StoreTests.delivery(1), StoreTests.delivery(2)])
        ])
        // A retry has a row of its own.
        _ = await rig.lease()
        await rig.settle([
            .retry(1, afterMs: rig.until(2_000), StoreTests.attempt(), isFree: false)
        ])
        let token = await rig.currentToken()
        let queue = try Self.refuse(rig, "DELETE ON delivery WHEN OLD.id = 1")
        let (told, tell) = AsyncStream.makeStream(of: Void.self)
        #expect(!rig.store.isFailing)
        rig.store.settle(
            [.delivered(1)], under: token, outcomes: OutcomePack()
        ) { _ in tell.yield() }
        for _ in 0..<100_000 where !rig.store.isFailing { _ = await rig.waitingLanes() }
        // It can write other rows, and keeps failing for those that it cannot write.
        await rig.settle([.delivered(2)])
        #expect(rig.store.isFailing && rig.store.waitingCount == 1)
        try await queue.write { try $0.execute(sql: "DROP TRIGGER refuse") }
        try queue.close()
        _ = await told.first { _ in true }
        for _ in 0..<1_000_000 where rig.store.isFailing { _ = await rig.waitingLanes() }
        #expect(!rig.store.isFailing && rig.store.waitingCount == 0)
        await rig.store.close()
    }

    @Test func `a failed write fails the store until it can write again, without new work`()
        async throws
    {
        let rig = try Rig()
        let queue = try Self.refuse(rig, "INSERT ON counter")
        _ = await rig.ids(1)
        #expect(rig.store.isFailing)
        try await queue.write { try $0.execute(sql: "DROP TRIGGER refuse") }
        try queue.close()
        for _ in 0..<1_000_000 where rig.store.isFailing {
            _ = try await rig.store.devices(app: "", user: "u")
        }
        #expect(!rig.store.isFailing)
        await rig.store.close()
    }

    @Test func `what stays broken is tried again after a pause that grows`() {
        let failing = SharedCount(0)
        var health = StoreHealth(failing)
        #expect(health.isDue && !health.isStuck)
        health.failed()
        #expect(health.isDue && health.isFailing)
        for _ in 0..<20 { health.retried(isWell: false) }
        #expect(!health.isDue && health.isStuck && health.isFailing)
        health.hurry()
        #expect(health.isDue)
        health.retried(isWell: true)
        #expect(health.isDue && !health.isStuck && !health.isFailing)
    }
}
