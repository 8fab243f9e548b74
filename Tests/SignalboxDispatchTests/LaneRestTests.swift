import SignalboxCore
import Testing

@testable import SignalboxDispatch

/// How long a lane has had nothing to do.
@Suite struct LaneRestTests {
    private func rested(_ rig: LaneStateRig) -> UInt64? { rig.state.restedMs(rig.now) }

    @Test func `a lane rests from the first look on, and not while it has deliveries`() {
        var rig = LaneStateRig()
        #expect(rested(rig) == nil)
        _ = rig.state.tended(rig.now)
        rig.wait(ms: 5_000)
        #expect(rested(rig) == 5_000)
        rig.submit(1...2)
        #expect(rested(rig) == nil)
        #expect(rig.run().sent == [1, 2])
        rig.wait(ms: 1_000)
        let endings = rig.take([1, 2], .delivered, code: 200).endings
        // The store does not know it yet.
        #expect(rested(rig) == nil)
        let ends = endings.map { LeaseEnd.delivered($0.delivery.id) }
        _ = rig.state.stored(ends, LeaseRefusal(), wereLate: false, rig.now)
        _ = rig.run()
        rig.wait(ms: 2_000)
        // Since the deliveries came.
        #expect(rested(rig) == 3_000)
    }

    @Test func `a lane that asks the disk does not rest`() {
        var rig = LaneStateRig()
        _ = rig.state.tended(rig.now)
        _ = rig.state.backlog()
        #expect(rested(rig) == nil)
        let wish = rig.run().effects.wish
        #expect(wish != nil && rested(rig) == nil)
        _ = rig.lend([], wish)
        _ = rig.run()
        #expect(rested(rig) != nil)
    }
}
