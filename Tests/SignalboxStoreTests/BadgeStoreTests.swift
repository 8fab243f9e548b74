import Foundation
import PluginBench
import SignalboxCore
import SignalboxStore
import Testing

/// The badge counters in the database.
@Suite struct BadgeStoreTests {
    typealias Bench = StoreTests.Bench
    static let user = UserKey(app: "a", user: "u")

    static func bench(_ folder: String? = nil) async throws -> Bench {
        let bench = try Bench(folder: folder, waitingMax: 100)
        if folder == nil {
            for token in ["t1", "t2"] { try await register(bench, token) }
        }
        return bench
    }

    static func register(_ bench: Bench, _ token: String, user: String = "u") async throws {
        _ = try await bench.store.register(
            Device(app: "a", platform: "ios", token: token, user: user), isUnique: true)
    }

    /// An event with a push for the user.
    static func item(
        _ id: UInt64, user: UserKey = user, key: String = "", number: Int32? = nil
    ) -> StoreEntry.Item {
        var item = StoreTests.item([StoreTests.delivery(id)], key: key)
        item.badges = [BadgeStep(user: user, number: number, places: [0])]
        return item
    }

    /// The numbers that an answer tells, by event.
    static func numbers(_ answer: StoreTests.Answer) -> [Int: [Int32?]]? {
        if case .committed(_, let badges) = answer { badges } else { nil }
    }

    static func add(_ bench: Bench, _ id: UInt64) async -> Int32? {
        numbers(await bench.append([item(id)]))?[0]?.first ?? nil
    }

    @Test func `the number is one more each time, and stands with its delivery on disk`()
        async throws
    {
        let bench = try await Self.bench()
        #expect(await Self.add(bench, 1) == 1)
        let two = await bench.append([Self.item(2), Self.item(3), Self.item(4, number: 9)])
        #expect(Self.numbers(two) == [0: [2], 1: [3], 2: [9]])
        #expect(await Self.add(bench, 5) == 10)
        let lease = await bench.lease()
        let badges = Dictionary(
            uniqueKeysWithValues: lease.deliveries.map { ($0.id, $0.badge ?? -1) })
        #expect(badges == [1: 1, 2: 2, 3: 3, 4: 9, 5: 10])
        await bench.store.close()
    }

    @Test func `a duplicate, a full store and a failed commit count nothing`() async throws {
        let bench = try await Self.bench()
        let one = Self.item(1, key: "k")
        #expect(Self.numbers(await bench.append([one], dedupeMs: 500)) == [0: [1]])
        #expect(
            await bench.append([one], dedupeMs: 500) == .committed(duplicates: [0], badges: [:]))
        var large = Self.item(10)
        large.deliveries = (UInt64(10)...200).map { StoreTests.delivery($0) }
        #expect(await bench.append([large]) == .refused(.full))
        let queue = try bench.connection()
        try await queue.write { db in
            try db.execute(
                sql: """
                    CREATE TRIGGER refuse BEFORE INSERT ON block
                    BEGIN SELECT RAISE(FAIL, 'not now'); END
                    """)
        }
        #expect(Self.numbers(await bench.append([Self.item(3)])) == nil)
        try await queue.write { db in try db.execute(sql: "DROP TRIGGER refuse") }
        try queue.close()
        #expect(await Self.add(bench, 4) == 2)
        await bench.store.close()
    }

    @Test func `a counter is set by the app, and ends with the user's last device`() async throws {
        let bench = try await Self.bench()
        #expect(try await bench.store.setBadge(41, of: Self.user))
        #expect(await Self.add(bench, 1) == 42)
        // Registering a device again, or giving one away, is no end.
        try await Self.register(bench, "t1")
        try await Self.register(bench, "t1", user: "v")
        #expect(await Self.add(bench, 2) == 43)
        #expect(
            try await bench.store.unregister(
                [Device(app: "a", token: "t2", user: "u")], reports: []) == 1)
        #expect(try bench.count("badge") == 0)
        #expect(await Self.add(bench, 3) == nil)
        #expect(try await !bench.store.setBadge(1, of: Self.user))
        #expect(await bench.lease().deliveries.first { $0.id == 3 }?.badge == nil)
        #expect(try bench.count("badge") == 0)
        try await Self.register(bench, "t9")
        #expect(await Self.add(bench, 4) == 1)
        #expect(try await bench.store.setBadge(.max, of: Self.user))
        #expect(await Self.add(bench, 5) == .max)
        await bench.store.close()
    }

    @Test func `after a crash it goes on with the number of the last commit`() async throws {
        let bench = try await Self.bench()
        #expect(await Self.add(bench, 1) == 1)
        #expect(await Self.add(bench, 2) == 2)
        // What a killed process leaves: the files as they are now.
        let place = Workshop.place()
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        for name in ["signalbox.sqlite", "signalbox.sqlite-wal"] {
            try FileManager.default.copyItem(
                at: URL(filePath: bench.folder).appending(path: name),
                to: place.appending(path: name))
        }
        let next = try await Self.bench(place.path)
        #expect(await Self.add(next, 3) == 3)
        #expect(Set(await next.lease().deliveries.compactMap(\.badge)) == [1, 2, 3])
        await next.store.close()
        await bench.store.close()
    }
}
