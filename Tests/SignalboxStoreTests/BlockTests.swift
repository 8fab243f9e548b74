import Foundation
import GRDB
import SignalboxCore
import SignalboxStore
import Testing

/// New deliveries are stored in blocks: many in one row of the file.
@Suite struct BlockTests {
    typealias Rig = StoreTests.Rig

    @Test func `a large event is a few rows, and all of it comes back`() async throws {
        let rig = try Rig()
        let content = SharedNotification(PushNotification(), receivedUnixMs: 0)
        let made = (UInt64(1)...1_000).map { StoreTests.delivery($0, content: content) }
        _ = await rig.append([StoreTests.item(made, taken: Set(1...100))])
        #expect(try rig.count("delivery") == 0)
        // What its lane has taken over is in no index.
        #expect(try rig.count("flight") == 1)
        #expect(try rig.count("block") == 4)
        var seen: [UInt64] = []
        while true {
            let lease = await rig.lease(max: 77)
            #expect(lease.deliveries.count <= 77)
            // Deliveries that share a content share one object, so that a sender renders it once.
            #expect(Set(lease.deliveries.map { ObjectIdentifier($0.content) }).count <= 2)
            seen += lease.deliveries.map(\.id)
            #expect(lease.hasMore == (seen.count < 900))
            guard lease.hasMore else { break }
        }
        #expect(seen == Array(101...1_000))
        await rig.settle((UInt64(1)...1_000).map { .delivered($0) })
        #expect(rig.store.waitingCount == 0)
        for table in ["block", "flight", "progress"] {
            #expect(try rig.count(table) == 0, "\(table)")
        }
        await rig.store.close()
    }

    @Test func `what a lane has taken over is found after a crash`() async throws {
        let rig = try Rig()
        _ = await rig.append([
            StoreTests.item((UInt64(1)...3).map { StoreTests.delivery($0) }, taken: [1, 2, 3])
        ])
        _ = await rig.append([StoreTests.item([StoreTests.delivery(4)])])
        await rig.settle([.delivered(2)])
        await rig.store.close()
        // Nothing moves it when the store closes, so a crash leaves the same file.
        #expect(try rig.count("flight") == 1)
        let next = try Rig(folder: rig.folder)
        #expect(try next.count("flight") == 0)
        #expect(next.store.waitingCount == 3)
        #expect(await next.waitingLanes() == [LaneKey(sender: "apns", app: "")])
        #expect(await next.lease().deliveries.map(\.id) == [1, 3, 4])
        await next.settle([1, 3, 4].map { .delivered($0) })
        for table in ["block", "flight", "progress"] {
            #expect(try next.count(table) == 0, "\(table)")
        }
        await next.store.close()
    }

    @Test func `what a lane gives back of a block that it took over is lent again`() async throws {
        let rig = try Rig()
        _ = await rig.append([
            StoreTests.item((UInt64(1)...3).map { StoreTests.delivery($0) }, taken: [1, 2, 3])
        ])
        await rig.settle([.delivered(1), .released(2)])
        await rig.settle([
            .retry(3, afterMs: rig.until(3_000), StoreTests.attempt(), isFree: false)
        ])
        #expect(await rig.lease().deliveries.map(\.id) == [2])
        #expect(await rig.lease(nowUnixMs: 3_000).deliveries.map(\.id) == [3])
        await rig.settle([.delivered(2), .delivered(3)])
        #expect(try rig.count("flight") == 0)
        await rig.store.close()
    }

    @Test func `what is done of a row stays done`() async throws {
        let rig = try Rig()
        _ = await rig.append([
            StoreTests.item((UInt64(1)...6).map { StoreTests.delivery($0) }, taken: [1, 2, 3])
        ])
        await rig.settle([.delivered(2)])
        _ = await rig.lease(max: 2)
        await rig.settle([
            .delivered(5),
            .retry(4, afterMs: rig.until(3_000), StoreTests.attempt(), isFree: false),
        ])
        #expect(rig.store.waitingCount == 4)
        await rig.store.close()
        let next = try Rig(folder: rig.folder)
        #expect(next.store.waitingCount == 4)
        #expect(await next.lease(nowUnixMs: 2_000).deliveries.map(\.id) == [1, 3, 6])
        #expect(await next.lease(nowUnixMs: 3_000).deliveries.map(\.id) == [4, 1, 3, 6])
        await next.settle([1, 3, 4, 6].map { .delivered($0) })
        #expect(next.store.waitingCount == 0)
        for table in ["block", "progress", "delivery", "payload", "attempt"] {
            #expect(try next.count(table) == 0, "\(table)")
        }
        await next.store.close()
    }

    @Test func `who comes too late with an outcome of a lease that ran out is heard`() async throws
    {
        let rig = try Rig()
        _ = await rig.append([StoreTests.item([StoreTests.delivery(1), StoreTests.delivery(2)])])
        _ = await rig.lease(nowUnixMs: 2_000)
        #expect(await rig.lease(max: 1, nowUnixMs: 3_000).deliveries.map(\.id) == [1])
        await rig.settle([.delivered(1), .delivered(2), .delivered(1)])
        #expect(rig.store.waitingCount == 0)
        let after = await rig.lease(nowUnixMs: 9_000)
        #expect(after.deliveries.isEmpty && !after.hasMore && after.nextDueInMs == nil)
        await rig.store.close()
    }

    @Test func `dead ones leave the row whole`() async throws {
        let rig = try Rig()
        var note = PushNotification()
        note.title = "Gone"
        note.overrides = [PayloadOverride(family: "apns", json: "{}")]
        let content = SharedNotification(note, receivedUnixMs: 0)
        var made = StoreTests.delivery(1, content: content)
        made.badge = -4
        made.device.attributes = [Attribute("muted", "all")]
        _ = await rig.append([
            StoreTests.item([made, StoreTests.delivery(2, content: content)], taken: [1, 2])
        ])
        await rig.settle([
            .dead(1, reason: "rejected", StoreTests.attempt()),
            .dead(2, reason: "rejected", StoreTests.attempt()),
        ])
        let letters = try await rig.store.deadLetters(DeadFilter(), fromID: 0, limit: 9)
        #expect(letters.map(\.id) == [1, 2])
        #expect(letters.map(\.notification) == [note, note])
        #expect(letters.first?.device == made.device && letters.first?.type == "ticket.replied")
        #expect(rig.store.waitingCount == 0)
        _ = try await rig.store.replay(DeadFilter(), fromID: 0, limit: 9)
        let again = await rig.lease().deliveries
        #expect(again.map(\.badge) == [-4, nil])
        #expect(again.first?.device == made.device)
        await rig.store.close()
    }

    @Test func `a row that is damaged costs what cannot be read, and is named`() async throws {
        let rig = try Rig()
        _ = await rig.append([StoreTests.item((UInt64(1)...3).map { StoreTests.delivery($0) })])
        _ = await rig.append([StoreTests.item([StoreTests.delivery(4)])])
        await rig.store.close()
        let queue = try rig.connection()
        try await queue.write { db in
            try db.execute(
                sql: """
                    UPDATE block SET bytes = substr(bytes, 1, length(bytes) - 5) WHERE id =
                      (SELECT min(id) FROM block)
                    """)
        }
        try queue.close()
        let next = try Rig(folder: rig.folder)
        let lease = await next.lease()
        #expect(lease.deliveries.map(\.id) == [1, 2, 4])
        #expect(!lease.hasMore)
        #expect(next.faults.value.contains { $0.contains("damaged: 1 of its 3 deliveries") })
        await next.settle([.delivered(1), .delivered(2), .delivered(4)])
        #expect(next.store.waitingCount == 0)
        #expect(try next.count("block") == 0)
        let dead = try await next.store.deadLetters(DeadFilter(), fromID: 0, limit: 9)
        #expect(dead.map(\.reason) == ["damaged"])
        #expect(dead.map(\.sender) == ["apns"])
        // There is nothing left of it to send.
        #expect(
            try await next.store.replay(DeadFilter(), fromID: 0, limit: 9)
                == DeadPart(count: 0, nextID: nil))
        #expect(try await next.store.deadCount(DeadFilter()) == 1)
        await next.store.close()
    }

    @Test func `a block of another format is damage, and is named`() async throws {
        let rig = try Rig()
        _ = await rig.append([StoreTests.item([StoreTests.delivery(1), StoreTests.delivery(2)])])
        await rig.store.close()
        let queue = try rig.connection()
        try await queue.write { db in try db.execute(sql: "UPDATE block SET bytes = X'09'") }
        try queue.close()
        let next = try Rig(folder: rig.folder)
        #expect(await next.lease().deliveries.isEmpty)
        #expect(next.faults.value.contains { $0.contains("2 of its 2 deliveries") })
        await next.store.close()
    }

    @Test func `when a commit fails, what it would have settled is settled later`() async throws {
        let rig = try Rig()
        _ = await rig.append([
            StoreTests.item((UInt64(1)...4).map { StoreTests.delivery($0) }, taken: [1, 2])
        ])
        let queue = try rig.connection()
        try await queue.write { db in
            try db.execute(
                sql: """
                    CREATE TRIGGER refuse BEFORE INSERT ON progress
                    BEGIN SELECT RAISE(FAIL, 'not now'); END
                    """)
        }
        // The store reports the failing disk, and continues without the marks.
        await rig.settle([.delivered(1)])
        #expect(rig.faults.value.contains { $0.contains("not now") })
        #expect(rig.store.waitingCount == 3)
        // They are written with the next commit, which fails with everything in it.
        let lost = await rig.append([StoreTests.item([StoreTests.delivery(9)], taken: [9])])
        #expect(lost != .committed(duplicates: []))
        #expect(await rig.lease().deliveries.map(\.id) == [3, 4])
        try await queue.write { db in try db.execute(sql: "DROP TRIGGER refuse") }
        try queue.close()
        let again = await rig.append([StoreTests.item([StoreTests.delivery(9)], taken: [9])])
        #expect(again == .committed(duplicates: []))
        #expect(try rig.count("progress") == 1)
        await rig.settle([2, 3, 4, 9].map { .delivered($0) })
        #expect(rig.store.waitingCount == 0)
        #expect(try rig.count("block") == 0)
        await rig.store.close()
    }
}
