import SignalboxCore
import Testing

@testable import SignalboxStore

/// The machine's clock was an hour ahead, and is right again.
@Suite struct ClockBackTests {
    static let aheadMs: UInt64 = 10_000_000
    static let backMs: UInt64 = aheadMs - 3_600_000

    @Test func `a retry waits as long as it was told to`() async throws {
        let rig = try StoreTests.Rig()
        _ = await rig.append(
            [StoreTests.item([StoreTests.delivery(1)])], nowUnixMs: Self.aheadMs)
        _ = await rig.lease(nowUnixMs: Self.aheadMs)
        await rig.settle([.retry(1, afterMs: 2_000, StoreTests.attempt(), isFree: false)])
        // The lane comes when it was told to.
        let early = await rig.lease(nowUnixMs: Self.backMs)
        #expect(early.deliveries.isEmpty)
        #expect(early.nextDueInMs == 2_000)
        let later = await rig.lease(nowUnixMs: Self.backMs + 2_000)
        #expect(later.deliveries.map(\.id) == [1])
        await rig.store.close()
    }
}
