import GRDB
import SignalboxCore
import Testing

@testable import SignalboxStore

/// Lanes and dead letters of reports, in the format of older versions.
@Suite struct ReportStoreTests {
    private typealias Rig = StoreTests.Rig

    @Test func `reports that an older version named by their lane are reports still`()
        async throws
    {
        let rig = try Rig()
        let lane = LaneKey(sender: "zendesk", app: "a", kind: .report)
        let ids = Array(await rig.ids(2))
        let items = ids.map { id in
            StoreEntry.Item(
                event: Event(id: id, source: "zendesk", type: "device.invalid"),
                deliveries: [
                    Delivery(
                        kind: .report, id: id, eventID: id, route: "", sender: "zendesk",
                        stableID: "\(id)", deadlineUnixMs: 0,
                        content: SharedNotification(
                            PushNotification(), eventType: "device.invalid"),
                        device: Device(app: "a", token: "t\(id)"))
                ])
        }
        _ = await rig.append(items)
        _ = await rig.lease(lane, max: 1)
        let attempt = Attempt(number: 1, unixMs: 3, reason: "gone", code: 0, detail: "")
        await rig.settle([.dead(ids[0], reason: "gone", attempt)])
        await rig.store.close()
        let queue = try rig.connection()
        try await queue.write { db in
            try db.execute(
                sql: """
                    DELETE FROM grdb_migrations WHERE identifier = 'outbox';
                    DROP TABLE outbox;
                    UPDATE dead SET sender = sender || '#register';
                    ALTER TABLE dead DROP COLUMN kind;
                    CREATE TABLE old (
                      id INTEGER PRIMARY KEY, sender TEXT NOT NULL, app TEXT NOT NULL,
                      UNIQUE (sender, app));
                    INSERT INTO old SELECT id, sender || '#register', app FROM lane;
                    DROP TABLE lane;
                    ALTER TABLE old RENAME TO lane;
                    """)
        }
        try queue.close()
        let next = try Rig(folder: rig.folder)
        #expect(await next.waitingLanes() == [lane])
        let letters = try await next.store.deadLetters(DeadFilter(), fromID: 0, limit: 10)
        #expect(letters.map(\.sender) == ["zendesk"])
        #expect(letters.map(\.kind) == [.report])
        // A replay sends it to its original lane.
        _ = try await next.store.replay(DeadFilter(), fromID: 0, limit: 10)
        let found = await next.lease(lane).deliveries
        #expect(Set(found.map(\.id)) == Set(ids))
        #expect(found.allSatisfy { $0.kind == .report && $0.sender == "zendesk" })
        await next.store.close()
    }
}
