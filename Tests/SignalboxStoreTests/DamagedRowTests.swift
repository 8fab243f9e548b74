import Foundation
import GRDB
import PluginRig
import SignalboxCore
import Testing

@testable import SignalboxStore

/// Values that no gateway writes, in every column of every table: the process keeps running, and the other rows are delivered.
@Suite struct DamagedRowTests {
    static let values = [
        "-1", "9223372036854775807", "-9223372036854775808", "'text'", "x'00'",
    ]
    static let tables = [
        "payload", "lane", "delivery", "attempt", "dead", "counter", "device", "value", "block",
        "progress", "seen_group", "seen_key", "badge", "outcome", "outcome_receiver", "owner",
        "outbox",
        "flight", "history",
    ]

    private static func delivery(_ id: UInt64, sender: String = "apns") -> Delivery {
        var note = PushNotification()
        note.title = "T\(id)"
        note.collapse = "k\(id)"
        note.badge = 3
        var made = StoreTests.delivery(id, content: SharedNotification(note, receivedUnixMs: 1_000))
        made.sender = sender
        return made
    }

    /// A closed store with something in each table.
    private static func filled() async throws -> String {
        let rig = try StoreTests.Rig()
        rig.store.keepHistory(HistoryLimits())
        let device = Device(platform: "ios", token: "t", user: "u")
        let change = DeviceChange(kind: .registered, device: device, timeUnixMs: 1_000)
        _ = try await rig.store.register(
            device, isUnique: false, reports: [DeviceReport(to: "crm", change)])
        _ = try await rig.store.setBadge(3, of: UserKey(app: "", user: "u"))
        try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
            rig.store.set(instance: "i", key: "k", value: [1], forMs: 1_000_000) {
                done.resume(with: $0)
            }
        }
        _ = try await rig.store.setOutcomeReceivers(["bi"])
        // One is tried, one is dead, one is settled, two wait, and one of another sender stands beside.
        let ids = Array(UInt64(1)...5)
        var item = StoreTests.item(ids.map { delivery($0) }, key: "key")
        item.event.dedupe = "key"
        _ = await rig.append([item], dedupeMs: 1_000_000)
        _ = await rig.append([StoreTests.item([delivery(9, sender: "fcm")])])
        _ = await rig.lease(max: 3)
        let attempt = Attempt(number: 1, unixMs: 1_000, reason: "busy", code: 503, detail: "d")
        var pack = OutcomePack()
        pack.add(
            .delivered, of: delivery(3), reason: "ok", providerID: "", attempts: 1, unixMs: 1_000)
        pack.history.add(
            HistoryStep(.delivered, eventID: 3, delivery: 3, unixMs: 1_000), of: delivery(3))
        let token = await rig.currentToken()
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            rig.store.settle(
                [
                    .retry(1, afterMs: 0, attempt, isFree: true), .dead(2, reason: "x", attempt),
                    .delivered(3, delivery(3).supersession),
                ], under: token, outcomes: pack
            ) { _ in done.resume() }
        }
        await rig.store.close()
        return rig.folder
    }

    /// Columns of a table, and the condition that finds its first row.
    private static func shape(_ table: String, _ db: Database) throws -> ([String], String) {
        let columns = try db.columns(in: table).map(\.name)
        let key = try db.primaryKey(table)
        guard key.columns.isEmpty || key.rowIDColumn != nil else {
            let names = key.columns.joined(separator: ", ")
            return (columns, "(\(names)) = (SELECT \(names) FROM \(table) LIMIT 1)")
        }
        return (columns, "rowid = (SELECT min(rowid) FROM \(table))")
    }

    @Test(arguments: tables)
    func `a damaged value neither ends the process nor blocks its neighbours`(table: String)
        async throws
    {
        let folder = try await Self.filled()
        let whole = try Data(contentsOf: URL(filePath: "\(folder)/signalbox.sqlite"))
        let queue = try DatabaseQueue(path: "\(folder)/signalbox.sqlite")
        let (columns, first) = try await queue.read { try Self.shape(table, $0) }
        try queue.close()
        for column in columns {
            for value in Self.values {
                try whole.write(to: URL(filePath: "\(folder)/signalbox.sqlite"))
                let queue = try DatabaseQueue(path: "\(folder)/signalbox.sqlite")
                // What its type, key or NOT NULL refuses is no damage.
                try? await queue.write { db in
                    if table == "flight" {
                        try db.execute(
                            sql: """
                                INSERT INTO flight SELECT * FROM block ORDER BY id LIMIT 1;
                                DELETE FROM block WHERE id IN (SELECT id FROM flight)
                                """)
                    }
                    try db.execute(
                        sql: "UPDATE OR IGNORE \(table) SET \(column) = \(value) WHERE \(first)")
                }
                try queue.close()
                await use(folder, "\(table).\(column) = \(value)")
            }
        }
    }

    /// All that a gateway asks of its store.
    private func use(_ folder: String, _ what: String) async {
        do {
            let rig = try StoreTests.Rig(folder: folder)
            let store = rig.store
            rig.time.set(2_000)
            store.keepHistory(HistoryLimits())
            _ = try await store.fleet()
            var leased: [UInt64] = []
            for _ in 0..<4 { leased += await rig.lease(max: 2).deliveries.map(\.id) }
            let beside = await withCheckedContinuation { done in
                store.lease(LaneKey(sender: "fcm", app: ""), LeaseWish(max: 9, forMs: 1_000)) {
                    done.resume(returning: (try? $0.get())?.deliveries.map(\.id) ?? [])
                }
            }
            if !what.hasPrefix("lane."), !what.hasPrefix("block."), !what.hasPrefix("payload.") {
                #expect(beside == [9], "\(what): the neighbour is stuck")
            }
            _ = await rig.settle(
                (leased + beside).map { .delivered($0, Self.delivery($0).supersession) })
            _ = try await store.deadLetters(DeadFilter(), fromID: 0, limit: 9)
            _ = try await store.deadCount(DeadFilter())
            _ = try await store.replay(DeadFilter(), fromID: 0, limit: 9)
            _ = await rig.lease(max: 9)
            _ = try await store.trimDead(DeadLimits(keepMs: 0, countMax: 0), max: 9)
            _ = try await store.devices(app: "", user: "u")
            _ = try await store.badges(of: UserKey(app: "", user: "u"))
            _ = try await store.waiting(of: UserKey(app: "", user: "u"), after: "")
            _ = try await store.history(HistorySearch([.event(3)]))
            let positions = try await store.setOutcomeReceivers(["bi", "new"])
            for next in positions.values {
                var batch = OutcomeBatch(from: next, wish: OutcomeWish())
                for row in try await store.outcomes(from: next).rows { batch.add(row) }
            }
            _ = try await ask { store.outbox(max: 9, done: $0) }
            _ = try await ask { store.values(instance: "i", done: $0) }
            _ = try await ask { store.value(instance: "i", key: "k", done: $0) }
            _ = try await store.register(Device(token: "new", user: "v"), isUnique: true)
            let news = await rig.append(
                [StoreTests.item([Self.delivery(100)], key: "other")], dedupeMs: 1_000)
            #expect(news == .committed(duplicates: []), "\(what): events are refused")
            await store.close()
            let contents = try SQLiteContents(folder: folder, .source)
            defer { contents.close() }
            for kind in StoredKind.allCases {
                var (after, pages) = ("", 0)
                while pages < 20 {
                    let page = try contents.page(kind, after: after)
                    pages += 1
                    if page.isLast { break }
                    after = page.end
                }
                #expect(pages < 20, "\(what): a copy goes round in circles")
            }
            _ = try contents.counts()
        } catch {
            Issue.record("\(what): \(error)")
        }
    }

    private func ask<Value: Sendable>(
        _ call: (@escaping @Sendable (Result<Value, StoreFailure>) -> Void) -> Void
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { done in call { done.resume(with: $0) } }
    }

    @Test func `a row that is left out is named once`() {
        let told = StoreTests.Faults()
        let damage = DamagedRows { told.add($0) }
        for _ in 0..<3 { damage.note("outbox", 5) }
        #expect(
            told.value == ["row 5 of the table outbox is damaged in the database, and left out"])
        for id in 0..<5_000 { damage.note("dead", id) }
        #expect(told.value.count == 1_000)
    }
}
