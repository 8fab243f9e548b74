import PluginRig
import SignalboxCore
import Testing

@testable import SignalboxPostgres

/// Damage costs the deliveries that it hit, once, and holds nothing else up.
@Suite struct DamageTests {
    private let rig: DatabaseRig

    init() async throws { rig = try await DatabaseRig() }

    private var told: [(Int, String)] {
        rig.notices.compactMap {
            if case .damaged(let count, let words) = $0 { (count, words) } else { nil }
        }
    }

    @Test(arguments: ["'\\x00'", "substr(body, 1, octet_length(body) - 3)"])
    func `what cannot be read of a block becomes dead letters`(body: String) async throws {
        let store = try await rig.open()
        // One block: it is appended as one entry.
        let item = StoreEntry.Item(
            event: Event(id: 1, source: "s", type: "t"), deliveries: (1...3).map(rig.delivery))
        try await rig.append(store, item)
        try await rig.append(store, 9)
        let readable: [UInt64] = body.hasPrefix("substr") ? [1, 2] : []
        try await rig.database.run("UPDATE signalbox.block SET body = \(body) WHERE n = 3")
        var leased: [UInt64] = []
        for _ in 0..<4 { leased += try await rig.lease(store, max: 1).map(\.id) }
        leased += try await rig.lease(store).map(\.id)
        #expect(leased == readable + [9])
        #expect(told.map(\.0) == [3 - readable.count])
        #expect(told.first?.1.contains("of the queue is damaged") == true)
        let dead = try await store.deadLetters(DeadFilter(), fromID: 0, limit: 9)
        #expect(dead.map(\.reason) == Array(repeating: "damaged", count: 3 - readable.count))
        #expect(try await rig.settle(store, leased.map { .delivered($0) }).lost.isEmpty)
        #expect(try await rig.number("SELECT count(*) FROM signalbox.block") == 0)
        #expect(store.waitingCount == 0)
        // It can be purged, but not sent.
        #expect(try await store.replay(DeadFilter(), fromID: 0, limit: 9).count == 0)
        #expect(try await store.purge(DeadFilter(), fromID: 0, limit: 9).count == dead.count)
        try await rig.end()
    }

    @Test func `a row that cannot be read becomes a dead letter`() async throws {
        let store = try await rig.open()
        for id in 1...2 as ClosedRange<UInt64> { try await rig.append(store, id, isTaken: true) }
        let attempt = Attempt(number: 1, unixMs: 1, reason: "busy", code: 503, detail: "")
        _ = try await rig.settle(
            store, [1, 2].map { .retry($0, afterMs: 0, attempt, isFree: false) })
        try await rig.database.run("UPDATE signalbox.delivery SET body = '\\x07' WHERE id = 1")
        for _ in 0..<3 { #expect(try await rig.lease(store).map(\.id).contains(1) == false) }
        #expect(told.map(\.0) == [1])
        let dead = try await store.deadLetters(DeadFilter(), fromID: 0, limit: 9)
        #expect(dead.map(\.id) == [1] && dead.first?.reason == "damaged")
        #expect(dead.first?.attempts.map(\.reason) == ["busy", "damaged"])
        #expect(try await rig.settle(store, [.delivered(2)]).lost.isEmpty)
        #expect(store.waitingCount == 0)
        try await rig.end()
    }
}
