import Foundation
import GRDB
import SignalboxCore
import SignalboxStore
import Testing

/// Deliveries whose provider is down, and damaged rows.
@Suite struct OutageStoreTests {
    typealias Rig = StoreTests.Rig

    static func attempt(_ number: UInt32, _ reason: String = "unreachable") -> Attempt {
        Attempt(number: number, unixMs: 5_000, reason: reason, code: 0, detail: "")
    }

    @Test(arguments: [
        "UPDATE payload SET note = '{'", "UPDATE payload SET note = ''", "DELETE FROM payload",
        "UPDATE delivery SET device = '[\"ios\",\"t'", "UPDATE payload SET note = '[]'",
    ])
    func `a damaged row becomes a dead letter and is never sent`(damage: String) async throws {
        let rig = try Rig()
        _ = await rig.append([StoreTests.item([StoreTests.delivery(1)])])
        _ = await rig.lease()
        await rig.settle([.retry(1, afterMs: rig.until(1_500), Self.attempt(1), isFree: false)])
        let queue = try rig.connection()
        try await queue.write { db in try db.execute(sql: damage) }
        try queue.close()
        _ = await rig.append([StoreTests.item([StoreTests.delivery(2)])])
        let lease = await rig.lease()
        #expect(lease.deliveries.map(\.id) == [2])
        #expect(rig.faults.value.contains { $0.contains("delivery 1 is damaged") })
        let dead = try await rig.store.deadLetters(DeadFilter(), fromID: 0, limit: 9)
        #expect(dead.map(\.id) == [1] && dead.map(\.reason) == ["damaged"])
        await rig.settle([.delivered(2)])
        #expect(try await rig.store.replay(DeadFilter(), fromID: 0, limit: 9).count == 0)
        #expect(rig.store.waitingCount == 0)
        await rig.store.close()
    }

    /// A store with a device, and a trigger that makes reports fail.
    func refusing(_ rig: Rig) async throws -> DatabaseQueue {
        _ = try await rig.store.register(
            Device(app: "a", platform: "ios", token: "tok", user: "u"), isUnique: true)
        let queue = try rig.connection()
        try await queue.write { db in
            try db.execute(
                sql: """
                    CREATE TRIGGER refuse BEFORE INSERT ON outbox
                    BEGIN SELECT RAISE(FAIL, 'not now'); END
                    """)
        }
        return queue
    }

    @Test func `a dead token and its report are kept together, and tried until they are`()
        async throws
    {
        let rig = try Rig()
        let queue = try await refusing(rig)
        let (told, tell) = AsyncStream.makeStream(of: Bool.self)
        rig.store.learn(
            .dead(app: "a", token: "tok", sinceUnixMs: 0),
            reports: { result, devices in
                #expect(result == .removed && devices.map(\.token) == ["tok"])
                return devices.map {
                    DeviceReport(to: "z", DeviceChange(kind: .invalid, device: $0))
                }
            }, done: { tell.yield((try? $0.get()) != nil) })
        // The report is requested again after the first try, so the store has failed by then.
        for _ in 0..<3_000 where rig.faults.value.count < 2 {
            _ = await rig.waitingLanes()
        }
        #expect(rig.faults.value.contains { $0.contains("not now") })
        #expect(try await rig.store.devices(app: "a", user: "u").count == 1)
        try await queue.write { db in try db.execute(sql: "DROP TRIGGER refuse") }
        try queue.close()
        #expect(await told.first { _ in true } == true)
        #expect(try await rig.store.devices(app: "a", user: "u").isEmpty)
        let reports = try await withCheckedThrowingContinuation { continuation in
            rig.store.outbox(max: 9) { continuation.resume(with: $0) }
        }
        #expect(reports.map(\.report.change.device.token) == ["tok"])
        await rig.store.close()
    }

}
