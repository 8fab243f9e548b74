import Foundation
import SignalboxCore
import SignalboxStore
import Testing

/// Who holds what, and for how long.
@Suite struct LeaseTests {
    typealias Bench = StoreTests.Bench

    @Test func `what was held in an earlier life is refused, and is leased again`() async throws {
        let bench = try Bench()
        _ = await bench.append([
            StoreTests.item([StoreTests.delivery(1), StoreTests.delivery(2)], taken: [1])
        ])
        let old = await bench.currentToken()
        await bench.store.close()
        let next = try Bench(folder: bench.folder)
        let refusal = await withCheckedContinuation { continuation in
            next.store.settle([.delivered(1)], under: old, outcomes: OutcomePack()) {
                continuation.resume(returning: try? $0.get())
            }
        }
        #expect(refusal == .fenced)
        #expect(await next.lease().deliveries.map(\.id) == [1, 2])
        let new = await next.currentToken()
        #expect(new.owner == old.owner && new.epoch > old.epoch)
        await next.store.close()
    }

    @Test func `a lease that is extended is not given back, and one that is lost is named`()
        async throws
    {
        let bench = try Bench()
        _ = await bench.append([
            StoreTests.item((UInt64(1)...3).map { StoreTests.delivery($0) })
        ])
        _ = await bench.lease(nowUnixMs: 2_000)
        // A row of its own, beside those of a block.
        await bench.settle([
            .retry(3, afterMs: 0, StoreTests.attempt(), isFree: false), .delivered(2),
        ])
        _ = await bench.lease(nowUnixMs: 2_100)
        bench.time.set(2_500)
        let token = await bench.currentToken()
        let refusal = await withCheckedContinuation { continuation in
            bench.store.extend([1, 2, 3], under: token, forMs: 5_000) {
                continuation.resume(returning: try? $0.get())
            }
        }
        #expect(refusal?.lost == [2] && refusal?.isFenced == false)
        #expect(await bench.lease(nowUnixMs: 7_499).deliveries.isEmpty)
        #expect(await Set(bench.lease(nowUnixMs: 7_500).deliveries.map(\.id)) == [1, 3])
        await bench.store.close()
    }

    @Test func `a settlement names what is not in the queue any more`() async throws {
        let bench = try Bench()
        _ = await bench.append([
            StoreTests.item([StoreTests.delivery(1), StoreTests.delivery(2)], taken: [1, 2])
        ])
        #expect(await bench.settle([.delivered(1)]) == LeaseRefusal())
        #expect(await bench.settle([.delivered(1), .delivered(2)])?.lost == [1])
        for end in [
            LeaseEnd.retry(1, afterMs: 0, StoreTests.attempt(), isFree: false), .released(1),
            .dead(1, reason: "x", StoreTests.attempt()),
        ] {
            #expect(await bench.settle([end])?.lost == [1])
        }
        await bench.store.close()
    }

    @Test func `who watches is told of the lanes of a replay`() async throws {
        let bench = try Bench()
        let (lanes, tell) = AsyncStream.makeStream(of: [LaneKey].self)
        bench.store.watch { tell.yield($0) }
        _ = await bench.append([StoreTests.item([StoreTests.delivery(1)], taken: [1])])
        await bench.settle([.dead(1, reason: "x", StoreTests.attempt())])
        _ = try await bench.store.replay(DeadFilter(), fromID: 0, limit: 9)
        #expect(await lanes.first { _ in true } == [LaneKey(sender: "apns", app: "")])
        await bench.store.close()
    }
}
