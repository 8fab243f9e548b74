import SignalboxCore
import Testing

@testable import SignalboxDispatch

/// The combined requests of two steps are done once, and none is lost.
@Suite struct LaneEffectsTests {
    private func effects(_ change: (inout LaneEffects) -> Void) -> LaneEffects {
        var effects = LaneEffects()
        change(&effects)
        return effects
    }

    @Test(arguments: [(30 as UInt64?, 10 as UInt64?), (10, 30), (nil, 10), (10, nil)])
    func `the lane wakes at the earliest time that was asked for`(one: UInt64?, other: UInt64?) {
        var first = effects { $0.wakeInMs = one }
        first.add(effects { $0.wakeInMs = other })
        #expect(first.wakeInMs == 10)
    }

    @Test func `a wish of either step is asked for`() {
        let wish = LeaseWish(max: 3, forMs: 1)
        for (one, other) in [(wish as LeaseWish?, nil as LeaseWish?), (nil, wish)] {
            var first = effects { $0.wish = one }
            first.add(effects { $0.wish = other })
            #expect(first.wish?.max == 3)
        }
    }

    @Test func `counts add up`() {
        var first = effects { ($0.arrived, $0.leasesLost) = (3, 1) }
        first.add(effects { ($0.arrived, $0.leasesLost) = (-1, 2) })
        #expect(first.arrived == 2 && first.leasesLost == 3)
        #expect(!first.isEmpty && LaneEffects().isEmpty)
    }
}
