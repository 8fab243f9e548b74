import Foundation
import GRDB
import SignalboxCore
import SignalboxStore
import Testing

/// The device registry in its database.
@Suite struct RegistryStoreTests {
    typealias Bench = StoreTests.Bench

    @Test func `how long a device is online outlives the process`() async throws {
        let bench = try Bench()
        let device = Device(app: "a", platform: "ios", token: "aa", user: "u")
        _ = try await bench.store.register(device, nowUnixMs: 1_000)
        let count = try await bench.store.setPresence(
            app: "a", user: "u", token: "aa", onlineUntilUnixMs: 5_000, nowUnixMs: 1_000)
        #expect(count == 1)
        await bench.store.close()
        let next = try Bench(folder: bench.folder)
        let found = try #require(try await next.store.devices(app: "a", user: "u").first)
        #expect(found.isOnline(nowUnixMs: 4_999) && !found.isOnline(nowUnixMs: 5_000))
        await next.store.close()
    }

    @Test func `whoever an older version left online for ever is offline`() async throws {
        let bench = try Bench()
        let device = Device(app: "a", platform: "ios", token: "aa", user: "u")
        _ = try await bench.store.register(device, nowUnixMs: 1_000)
        await bench.store.close()
        let queue = try bench.connection()
        try await queue.write { db in
            try db.execute(
                sql: """
                    DELETE FROM grdb_migrations WHERE identifier = 'presence';
                    UPDATE device SET online = 1;
                    """)
        }
        try queue.close()
        let next = try Bench(folder: bench.folder)
        let found = try await next.store.devices(app: "a", user: "u")
        #expect(found.map(\.onlineUntilUnixMs) == [0])
        await next.store.close()
    }
}
