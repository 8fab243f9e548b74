import Foundation
import GRDB
import SignalboxCore
import Testing

/// Pages of the file that SQLite itself cannot use.
@Suite struct DamagedPageTests {
    typealias Rig = StoreTests.Rig

    /// A closed store with blocks of 60 deliveries, each larger than a page.
    private static func folder(blocks: UInt64) async throws -> String {
        let rig = try Rig()
        for first in (0..<blocks).map({ $0 * 60 + 1 }) {
            let made = (first..<first + 60).map { id in
                var note = PushNotification()
                note.title = "T\(id)"
                note.body = String(repeating: "x", count: 300)
                return StoreTests.delivery(id, content: SharedNotification(note, receivedUnixMs: 0))
            }
            _ = await rig.append([StoreTests.item(made)])
        }
        await rig.store.close()
        return rig.folder
    }

    /// Runs statements on a closed store, each on a connection of its own that reads the schema anew.
    private static func run(_ folder: String, _ statements: [String]) async throws {
        for statement in statements {
            let queue = try DatabaseQueue(path: "\(folder)/signalbox.sqlite")
            try await queue.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA writable_schema = ON; \(statement)")
            }
            try queue.close()
        }
    }

    @Test func `a page that cannot be read costs its block, and holds nothing else up`()
        async throws
    {
        let folder = try await Self.folder(blocks: 3)
        let file = URL(filePath: folder).appending(path: "signalbox.sqlite")
        var bytes = try Data(contentsOf: file)
        // In the middle of the second block: the number of the page that follows is garbage.
        let place = try #require(bytes.range(of: Data("<t90>".utf8))).lowerBound
        let start = place - place % 4_096
        bytes.replaceSubrange(start..<start + 4_096, with: Data(repeating: 0xff, count: 4_096))
        try bytes.write(to: file)
        let rig = try Rig(folder: folder)
        var seen: [UInt64] = []
        for _ in 0..<9 { seen += await rig.lease(max: 100).deliveries.map(\.id) }
        #expect(seen == Array(1...60) + Array(121...180))
        let lines = rig.faults.value.filter { $0.contains("60 of its 60 deliveries") }
        #expect(lines.count == 1)
        let dead = try await rig.store.deadLetters(DeadFilter(), fromID: 0, limit: 99)
        #expect(dead.count == 60 && dead.allSatisfy { $0.reason == "damaged" })
        await rig.settle(seen.map { .delivered($0) })
        #expect(rig.store.waitingCount == 0 && !rig.store.isFailing)
        await rig.store.close()
        // The bytes stay for a repair, and are not looked at again.
        let next = try Rig(folder: folder)
        #expect(next.store.waitingCount == 0)
        #expect(await next.lease().deliveries.isEmpty)
        #expect(next.faults.value == [])
        #expect(try next.count("block") == 1)
        await next.store.close()
    }

    @Test func `what was sent of a block that cannot be removed is not sent again`() async throws {
        let folder = try await Self.folder(blocks: 2)
        // The index has other entries than the rows ask for: SQLite can read a row, and not remove it.
        let index = "sqlite_schema WHERE name = 'block_lane'"
        try await Self.run(
            folder,
            [
                "CREATE TABLE kept AS SELECT * FROM \(index); DELETE FROM \(index)",
                "UPDATE block SET rank = 7",
                "INSERT INTO sqlite_schema SELECT * FROM kept", "DROP TABLE kept",
            ])
        let rig = try Rig(folder: folder)
        let leased = await rig.lease(max: 60).deliveries.map(\.id)
        #expect(leased == Array(1...60))
        let token = await rig.currentToken()
        rig.store.settle(
            leased.map { .delivered($0) }, under: token, outcomes: OutcomePack()
        ) { _ in }
        // Closing tries again what could not be written.
        await rig.store.close()
        #expect(rig.faults.value.contains { $0.contains("of the queue cannot be removed") })
        let next = try Rig(folder: folder)
        #expect(next.store.waitingCount == 60)
        #expect(await next.lease(max: 200).deliveries.map(\.id) == Array(61...120))
        await next.store.close()
    }

    @Test func `a start goes on without what senders had taken over if it cannot be read`()
        async throws
    {
        let first = try Rig()
        var note = PushNotification()
        note.body = String(repeating: "x", count: 9_000)
        let made = StoreTests.delivery(1, content: SharedNotification(note, receivedUnixMs: 0))
        _ = await first.append([StoreTests.item([made], taken: [1])])
        _ = await first.append([StoreTests.item([StoreTests.delivery(2)])])
        await first.store.close()
        let file = URL(filePath: first.folder).appending(path: "signalbox.sqlite")
        var bytes = try Data(contentsOf: file)
        // The second page of the block's bytes: the number of the page that follows is garbage.
        let place = try #require(bytes.range(of: Data(repeating: 0x78, count: 4_092))).lowerBound
        let start = place - place % 4_096
        bytes.replaceSubrange(start..<start + 4_096, with: Data(repeating: 0xff, count: 4_096))
        try bytes.write(to: file)
        let rig = try Rig(folder: first.folder)
        #expect(rig.faults.value.contains { $0.contains("stay in the table flight_damaged_1") })
        #expect(await rig.lease().deliveries.map(\.id) == [2])
        _ = await rig.append([StoreTests.item([StoreTests.delivery(3)], taken: [3])])
        #expect(try rig.count("flight") == 1)
        await rig.store.close()
        let next = try Rig(folder: first.folder)
        #expect(next.faults.value == [])
        #expect(await next.lease().deliveries.map(\.id) == [2, 3])
        await next.store.close()
    }
}
