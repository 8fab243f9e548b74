import Foundation
import GRDB
import SignalboxCore
import SignalboxStore
import Testing

/// What the store does for deliveries whose provider is down, and for rows that are damaged.
@Suite struct OutageStoreTests {
    typealias Bench = StoreTests.Bench

    static func attempt(_ number: UInt32, _ reason: String = "unreachable") -> Attempt {
        Attempt(number: number, unixMs: 5_000, reason: reason, code: 0, detail: "")
    }

    @Test func `attempts that count as none are counted, and the last of an outage is kept`()
        async throws
    {
        let bench = try Bench()
        _ = await bench.append([StoreTests.item([StoreTests.delivery(1)])])
        for number in UInt32(1)...9 {
            let one = try #require(await bench.lease(nowUnixMs: 9_000).deliveries.first)
            #expect(one.attempt == number && one.freeAttempts == number - 1)
            await bench.settle([
                .retry(1, afterMs: bench.until(8_000), Self.attempt(number), isFree: true)
            ])
        }
        _ = await bench.lease(nowUnixMs: 9_000)
        await bench.settle([.dead(1, reason: "x", Self.attempt(10, "timeout"))])
        let dead = try await bench.store.deadLetters(DeadFilter(), fromID: 0, limit: 9)
        #expect(dead.first?.attempts.map(\.number) == [1, 9, 10])
        await bench.store.close()
    }

    @Test func `lanes with something that nobody has are found`() async throws {
        let bench = try Bench()
        _ = await bench.append([
            StoreTests.item([StoreTests.delivery(1), StoreTests.delivery(2, sender: "fcm")])
        ])
        let (apns, fcm) = (LaneKey(sender: "apns", app: ""), LaneKey(sender: "fcm", app: ""))
        #expect(Set(await bench.waitingLanes()) == [apns, fcm])
        _ = await bench.lease(fcm)
        #expect(await bench.waitingLanes() == [apns])
        await bench.settle([.retry(2, afterMs: bench.until(9_000), Self.attempt(1), isFree: false)])
        bench.time.set(9_099)
        #expect(await bench.waitingLanes(dueForMs: 100) == [apns])
        bench.time.set(9_100)
        #expect(Set(await bench.waitingLanes(dueForMs: 100)) == [apns, fcm])
        await bench.store.close()
    }

    @Test(arguments: [
        "UPDATE payload SET note = '{'", "UPDATE payload SET note = ''", "DELETE FROM payload",
        "UPDATE delivery SET device = '[\"ios\",\"t'", "UPDATE payload SET note = '[]'",
    ])
    func `a damaged row becomes a dead letter and is never sent`(damage: String) async throws {
        let bench = try Bench()
        _ = await bench.append([StoreTests.item([StoreTests.delivery(1)])])
        _ = await bench.lease()
        await bench.settle([.retry(1, afterMs: bench.until(1_500), Self.attempt(1), isFree: false)])
        let queue = try bench.connection()
        try await queue.write { db in try db.execute(sql: damage) }
        try queue.close()
        _ = await bench.append([StoreTests.item([StoreTests.delivery(2)])])
        let lease = await bench.lease()
        #expect(lease.deliveries.map(\.id) == [2])
        #expect(bench.faults.value.contains { $0.contains("delivery 1 is damaged") })
        let dead = try await bench.store.deadLetters(DeadFilter(), fromID: 0, limit: 9)
        #expect(dead.map(\.id) == [1] && dead.map(\.reason) == ["damaged"])
        await bench.settle([.delivered(2)])
        #expect(bench.store.waitingCount == 0)
        await bench.store.close()
    }

    /// A store with a device, and a trigger that makes reports fail.
    func refusing(_ bench: Bench) async throws -> DatabaseQueue {
        _ = try await bench.store.register(
            Device(app: "a", platform: "ios", token: "tok", user: "u"), isUnique: true)
        let queue = try bench.connection()
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
        let bench = try Bench()
        let queue = try await refusing(bench)
        let (told, tell) = AsyncStream.makeStream(of: Bool.self)
        bench.store.learn(
            .dead(app: "a", token: "tok", sinceUnixMs: 0),
            reports: { result, devices in
                #expect(result == .removed && devices.map(\.token) == ["tok"])
                return devices.map {
                    DeviceReport(to: "z", DeviceChange(kind: .invalid, device: $0))
                }
            }, done: { tell.yield((try? $0.get()) != nil) })
        // It is asked for again after the first try, so the store has failed by then.
        for _ in 0..<3_000 where bench.faults.value.count < 2 {
            _ = await bench.waitingLanes()
        }
        #expect(bench.faults.value.contains { $0.contains("not now") })
        #expect(try await bench.store.devices(app: "a", user: "u").count == 1)
        try await queue.write { db in try db.execute(sql: "DROP TRIGGER refuse") }
        try queue.close()
        #expect(await told.first { _ in true } == true)
        #expect(try await bench.store.devices(app: "a", user: "u").isEmpty)
        let reports = try await withCheckedThrowingContinuation { continuation in
            bench.store.outbox(max: 9) { continuation.resume(with: $0) }
        }
        #expect(reports.map(\.report.change.device.token) == ["tok"])
        await bench.store.close()
    }

}
