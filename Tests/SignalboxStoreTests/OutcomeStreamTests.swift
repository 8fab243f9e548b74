import Foundation
import GRDB
import PluginRig
import SignalboxCore
import SignalboxStore
import Synchronization
import Testing

/// A clock that a test moves.
final class HandClock: Sendable {
    private let ms = Mutex<UInt64>(1_000_000)
    var now: UInt64 { ms.withLock { $0 } }
    func advance(ms delta: UInt64) { ms.withLock { $0 += delta } }
}

/// The stream of outcomes on disk.
@Suite struct OutcomeStreamTests {
    static func pack(_ ids: ClosedRange<UInt64>) -> OutcomePack {
        var pack = OutcomePack()
        for id in ids {
            pack.add(
                .delivered, of: StoreTests.delivery(id), reason: "ok", providerID: "p\(id)",
                attempts: 1, unixMs: 5_000)
        }
        return pack
    }

    static func settle(
        _ rig: StoreTests.Rig, _ ends: [LeaseEnd], _ pack: OutcomePack
    ) async {
        _ = await rig.settle(ends, pack)
    }

    /// What a receiver would get from a position on.
    static func batch(
        _ rig: StoreTests.Rig, from first: UInt64, countMax: Int = OutcomeBatch.countMax
    ) async throws -> OutcomeBatch {
        var batch = OutcomeBatch(from: first, wish: OutcomeWish(), countMax: countMax)
        for row in try await rig.store.outcomes(from: first).rows { batch.add(row) }
        return batch
    }

    static func text(_ batch: OutcomeBatch) -> String {
        String(decoding: batch.body, as: UTF8.self)
    }

    @Test func `rows go when the slowest receiver has taken them`() async throws {
        let rig = try StoreTests.Rig()
        _ = try await rig.store.setOutcomeReceivers(["a", "b"])
        await Self.settle(rig, [], Self.pack(1...10))
        await Self.settle(rig, [], Self.pack(11...20))
        try await rig.store.outcomesTaken(by: "a", next: 21)
        #expect(try rig.count("outcome") == 2)
        try await rig.store.outcomesTaken(by: "b", next: 11)
        #expect(try rig.count("outcome") == 1)
        // A position within a row.
        try await rig.store.outcomesTaken(by: "b", next: 15)
        let batch = try await Self.batch(rig, from: 15)
        #expect(batch.count == 6 && batch.next == 21)
        #expect(Self.text(batch).hasPrefix(#"{"outcomes":[{"sequence":15,"#))
        // A removed receiver delays nothing, and a new one starts at the current position.
        #expect(try await rig.store.setOutcomeReceivers(["a", "c"]) == ["a": 21, "c": 21])
        #expect(rig.faults.value == ["6 outcomes are lost with the receiver b"])
        #expect(try rig.count("outcome") == 0)
        await rig.store.close()
        let next = try StoreTests.Rig(folder: rig.folder)
        #expect(next.store.nextOutcome == 21)
        await next.store.close()
    }

    @Test func `sequence numbers are never used again, whoever is left to remember them`()
        async throws
    {
        let rig = try StoreTests.Rig()
        _ = try await rig.store.setOutcomeReceivers(["a"])
        await Self.settle(rig, [], Self.pack(1...7))
        #expect(try await rig.store.setOutcomeReceivers([]) == [:])
        #expect(try rig.count("outcome") == 0)
        await rig.store.close()
        let next = try StoreTests.Rig(folder: rig.folder)
        #expect(try await next.store.setOutcomeReceivers(["a"]) == ["a": 8])
        await next.store.close()
    }

    @Test func `a batch ends at its count, its bytes, or the end of the stream`() async throws {
        let rig = try StoreTests.Rig()
        _ = try await rig.store.setOutcomeReceivers(["a"])
        for part in 0..<10 as Range<UInt64> {
            await Self.settle(rig, [], Self.pack(part * 200 + 1...part * 200 + 200))
        }
        var place: UInt64 = 1
        var seen: [Int] = []
        while true {
            let batch = try await Self.batch(rig, from: place)
            guard batch.count > 0 else { break }
            #expect(batch.body.count <= OutcomeBatch.bytesMax)
            seen.append(batch.count)
            place = batch.next
        }
        #expect(seen == [500, 500, 500, 500] && place == 2_001)
        // With long texts, as many as fit.
        var pack = OutcomePack()
        var long = StoreTests.delivery(1)
        long.subject = String(repeating: "ä", count: 500)
        long.source = String(repeating: "s", count: 1_000)
        for _ in 0..<400 {
            pack.add(.dead, of: long, reason: "x", providerID: "", attempts: 3, unixMs: 1)
        }
        await Self.settle(rig, [], pack)
        let batch = try await Self.batch(rig, from: place)
        #expect(batch.isFull && batch.count > 100 && batch.count < 400)
        #expect(batch.body.count <= OutcomeBatch.bytesMax)
        await rig.store.close()
    }

    @Test func `what nobody takes is kept seven days, and those who lose it are named`()
        async throws
    {
        let clock = HandClock()
        let faults = StoreTests.Faults()
        var options = SQLiteStore.Options(
            folder: Workshop.place().path, nowUnixMs: { clock.now },
            onNotice: { notice in
                guard case .outcomesLost(let receiver, let count) = notice else { return }
                faults.add("\(receiver) \(count)")
            })
        options.waitingMax = 10
        let store = try SQLiteStore.open(options)
        _ = try await store.setOutcomeReceivers(["down", "up"])
        func settle(_ pack: OutcomePack) async throws { try await store.append(pack) }
        try await settle(Self.pack(1...5))
        try await store.outcomesTaken(by: "up", next: 6)
        clock.advance(ms: OutcomeLimits.ageMs / 2)
        try await settle(Self.pack(6...8))
        #expect(faults.value == [])
        clock.advance(ms: OutcomeLimits.ageMs / 2 + 1)
        try await settle(Self.pack(9...9))
        #expect(faults.value == ["down 5"])
        let rows = try await store.outcomes(from: 1).rows
        #expect(rows.map(\.first) == [6, 9])
        await store.close()
    }

    @Test func `a type and a key outlive a restart, a retry, and a time as dead letter`()
        async throws
    {
        let rig = try StoreTests.Rig()
        let content = SharedNotification(
            PushNotification(), eventType: "ticket.replied", eventKey: "key 7", receivedUnixMs: 0)
        let item = StoreEntry.Item(
            event: Event(id: 900, source: "z", type: "ticket.replied", dedupe: "key 7"),
            deliveries: [StoreTests.delivery(1, content: content)])
        _ = await rig.append([item])
        func isWhole(_ rig: StoreTests.Rig, _ now: UInt64 = 2_000) async -> Bool {
            let content = await rig.lease(nowUnixMs: now).deliveries.first?.content
            return content?.eventType == "ticket.replied" && content?.eventKey == "key 7"
        }
        #expect(await isWhole(rig))
        await rig.settle([
            .retry(1, afterMs: rig.until(3_000), StoreTests.attempt(), isFree: false)
        ])
        #expect(await isWhole(rig, 3_000))
        await rig.settle([.dead(1, reason: "x", StoreTests.attempt(2))])
        rig.time.set(9_000)
        _ = try await rig.store.replay(DeadFilter(), fromID: 0, limit: 10)
        #expect(await isWhole(rig, 9_000))
        await rig.store.close()
    }
}
