import Testing

@testable import SignalboxDispatch

@Suite struct LargeEventsTests {
    @Test func `large events share a bound, and small ones pass beside them`() {
        let events = LargeEvents()
        #expect(events.enter(100_000) && events.enter(100_000))
        #expect(!events.enter(10_001))
        #expect(events.enter(10_000))
        events.leave(10_000)
        #expect(!events.enter(10_001))
        events.leave(100_000)
        #expect(events.enter(100_000))
        #expect(!events.enter(10_001))
    }

    @Test func `an event over the bound goes alone`() {
        let events = LargeEvents()
        #expect(events.enter(2_000_000))
        #expect(!events.enter(20_000))
        events.leave(2_000_000)
        #expect(events.enter(20_000))
        #expect(!events.enter(2_000_000))
    }
}
