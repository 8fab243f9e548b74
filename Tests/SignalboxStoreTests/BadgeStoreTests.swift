import Foundation
import PluginRig
import SignalboxCore
import SignalboxStore
import Testing

/// The badge counters in the database.
@Suite struct BadgeStoreTests {
    typealias Rig = StoreTests.Rig
    static let user = UserKey(app: "a", user: "u")

    static func rig(_ folder: String? = nil) async throws -> Rig {
        let rig = try Rig(folder: folder, waitingMax: 100)
        if folder == nil {
            for token in ["t1", "t2"] { try await register(rig, token) }
        }
        return rig
    }

    static func register(_ rig: Rig, _ token: String, user: String = "u") async throws {
        _ = try await rig.store.register(
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

    /// The badge numbers in an answer, by event.
    static func numbers(_ answer: StoreTests.Answer) -> [Int: [Int32?]]? {
        if case .committed(_, let badges) = answer { badges } else { nil }
    }

    static func add(_ rig: Rig, _ id: UInt64) async -> Int32? {
        numbers(await rig.append([item(id)]))?[0]?.first ?? nil
    }

    @Test func `a duplicate, a full store and a failed commit count nothing`() async throws {
        let rig = try await Self.rig()
        let one = Self.item(1, key: "k")
        #expect(Self.numbers(await rig.append([one], dedupeMs: 500)) == [0: [1]])
        #expect(
            await rig.append([one], dedupeMs: 500) == .committed(duplicates: [0], badges: [:]))
        var large = Self.item(10)
        large.deliveries = (UInt64(10)...200).map { StoreTests.delivery($0) }
        #expect(await rig.append([large]) == .refused(.full))
        let queue = try rig.connection()
        try await queue.write { db in
            try db.execute(
                sql: """
                    CREATE TRIGGER refuse BEFORE INSERT ON block
                    BEGIN SELECT RAISE(FAIL, 'not now'); END
                    """)
        }
        #expect(Self.numbers(await rig.append([Self.item(3)])) == nil)
        try await queue.write { db in try db.execute(sql: "DROP TRIGGER refuse") }
        try queue.close()
        #expect(await Self.add(rig, 4) == 2)
        await rig.store.close()
    }

    @Test func `a counter is set by the app, and ends with the user's last device`() async throws {
        let rig = try await Self.rig()
        #expect(try await rig.store.setBadge(41, of: Self.user))
        #expect(await Self.add(rig, 1) == 42)
        // Registering a device again, or moving it to another user, does not reset the counter.
        try await Self.register(rig, "t1")
        try await Self.register(rig, "t1", user: "v")
        #expect(await Self.add(rig, 2) == 43)
        #expect(
            try await rig.store.unregister(
                [Device(app: "a", token: "t2", user: "u")], reports: []) == 1)
        #expect(try rig.count("badge") == 0)
        #expect(await Self.add(rig, 3) == nil)
        #expect(try await !rig.store.setBadge(1, of: Self.user))
        #expect(await rig.lease().deliveries.first { $0.id == 3 }?.badge == nil)
        #expect(try rig.count("badge") == 0)
        try await Self.register(rig, "t9")
        #expect(await Self.add(rig, 4) == 1)
        #expect(try await rig.store.setBadge(.max, of: Self.user))
        #expect(await Self.add(rig, 5) == .max)
        await rig.store.close()
    }
}
