import SignalboxCore
import Testing

@testable import SignalboxDispatch

/// How a lane makes sure that nobody else sends its deliveries.
///
/// It extends leases in time, stops by itself, and drops what it lost.
@Suite struct LaneLeaseTests {
    private static let leaseMs = LaneStateRig().state.rules.leaseMs

    /// A lane with six deliveries, of which 1, 2 and 3 are in flight.
    private static func busy() -> LaneStateRig {
        var rig = LaneStateRig(batchMax: 3)
        rig.submit(1...6)
        _ = rig.state.turn(rig.now, batchMax: 3)
        return rig
    }

    @Test func `leases are extended after a quarter of their time, all at once`() {
        var rig = Self.busy()
        rig.wait(ms: Self.leaseMs / 4 - 1)
        #expect(rig.state.tended(rig.now).extension == nil)
        rig.wait(ms: 1)
        let wish = rig.state.tended(rig.now).extension
        #expect(wish?.ids.sorted() == Array(1...6))
        #expect(wish?.token == rig.token && wish?.forMs == Self.leaseMs)
        // One request at a time.
        rig.wait(ms: 10_000)
        #expect(rig.state.tended(rig.now).extension == nil)
    }

    @Test func `what waits in memory for two extensions goes back, and what moves stays`() {
        var rig = Self.busy()
        rig.waitWithLeases(ms: Self.leaseMs / 4)
        _ = rig.take([1, 2, 3], .delivered, code: 200)
        rig.submit(7...8)
        #expect(rig.state.turn(rig.now, batchMax: 1).batch.map(\.id) == [4])
        rig.wait(ms: Self.leaseMs / 4)
        let effects = rig.state.tended(rig.now)
        #expect(effects.kinds == [5: .released, 6: .released])
        #expect(effects.extension?.ids.sorted() == [4, 7, 8])
        // They come again, and are looked at then.
        _ = rig.state.stored(effects.endings.map(\.end), wereLate: false, rig.now)
        _ = rig.state.turn(rig.now, batchMax: 0)
        _ = rig.lend([5, 6], nil)
        #expect(rig.run().sent.sorted() == [5, 6, 7, 8])
    }

    @Test func `a delivery whose device has left its user is ended, and the others are sent`() {
        var rig = LaneStateRig()
        _ = rig.state.backlog()
        let wish = rig.run().effects.wish
        var lease = StoreLease(token: rig.token)
        lease.deliveries = (1...3).map { delivery($0, attempt: 2) }
        lease.departed = [2, 9]
        var effects = rig.state.leased(lease, wish ?? LeaseWish(max: 1, forMs: 1), rig.now)
        #expect(effects.kinds == [2: .cancelled] && effects.arrived == 3)
        #expect(effects.endings.first?.outcome.reason == "user_left")
        guard case .delivered(2, nil) = effects.endings.first?.end else {
            return #expect(Bool(false))
        }
        effects = rig.state.stored(effects.endings.map(\.end), wereLate: false, rig.now)
        #expect(rig.run().sent == [1, 3])
        #expect(rig.state.count == 2)
    }

    @Test func `a probe whose device has left its user makes way for the next`() {
        var (rig, held) = LaneHoldTests.held()
        _ = rig.state.stored(held.endings.map(\.end), wereLate: false, rig.now)
        _ = rig.fault([5, 6, 7, 8], .withdrawn)
        _ = rig.run()
        rig.wait(ms: 1_000)
        _ = rig.state.woken()
        guard let wish = rig.run().effects.wish, wish.isProbe else { return #expect(Bool(false)) }
        var lease = StoreLease(token: rig.token)
        lease.deliveries = [delivery(9)]
        lease.departed = [9]
        let effects = rig.state.leased(lease, wish, rig.now)
        #expect(effects.kinds == [9: .cancelled])
        _ = rig.state.stored(effects.endings.map(\.end), wereLate: false, rig.now)
        #expect(rig.run().effects.wish?.isProbe == true)
    }

    @Test func `an extension that failed is asked for again at the next look`() {
        var rig = Self.busy()
        rig.wait(ms: Self.leaseMs / 4)
        guard let wish = rig.state.tended(rig.now).extension else {
            return #expect(Bool(false))
        }
        #expect(rig.state.extended(wish, nil, rig.now).isEmpty)
        #expect(rig.state.tended(rig.now).extension != nil)
    }

    @Test func `an extension covers what was held when it was asked for, counted from then`() {
        var rig = Self.busy()
        rig.wait(ms: Self.leaseMs / 4)
        guard let wish = rig.state.tended(rig.now).extension else {
            return #expect(Bool(false))
        }
        // The answer is slow.
        rig.wait(ms: Self.leaseMs / 8)
        _ = rig.state.extended(wish, LeaseRefusal(), rig.now)
        rig.wait(ms: Self.leaseMs / 8 - 1)
        #expect(rig.state.tended(rig.now).extension == nil)
        rig.wait(ms: 1)
        #expect(rig.state.tended(rig.now).extension != nil)
    }

    @Test func `what came in while an extension was on its way is not covered by it`() {
        var rig = LaneStateRig()
        rig.submit(1...1)
        _ = rig.run()
        rig.wait(ms: Self.leaseMs / 4)
        let asked = rig.now.steadyMs
        rig.wait(ms: 10)
        guard let wish = rig.state.tended(rig.now).extension else {
            return #expect(Bool(false))
        }
        // Reserved before that, and committed afterwards.
        _ = rig.state.committed(
            [delivery(2)], under: rig.token, askedMs: asked, isMoreOnDisk: false)
        _ = rig.state.extended(wish, LeaseRefusal(), rig.now)
        rig.wait(ms: Self.leaseMs / 4 - 10)
        #expect(rig.state.tended(rig.now).extension?.ids.sorted() == [1, 2])
    }

    @Test func `a lane whose leases are not extended stops by itself at half of their time`() {
        var rig = Self.busy()
        rig.wait(ms: Self.leaseMs / 2)
        // No notice has come: the turn looks at the clock.
        let (sent, effects) = rig.run()
        #expect(sent.isEmpty)
        // Unsent deliveries are dropped, and those that wait for a connection are withdrawn.
        #expect(effects.isWithdrawal && effects.arrived == -3 && rig.state.count == 3)
        #expect(
            effects.lines.map(\.count) == [3] && effects.lines.map(\.reason) == ["not_extended"])
        #expect(effects.leasesLost == 3)
        // Nothing is accepted until the leases are safe again.
        #expect(effects.wish == nil && rig.state.reserve([delivery(20)]).isEmpty)
        #expect(rig.run().effects.isWithdrawal == false)
    }

    @Test func `what the carrier has may leave until the first lease may end`() {
        var rig = Self.busy()
        let asked = rig.now.steadyMs
        #expect(rig.state.heldUntilMs == asked + Self.leaseMs)
        rig.wait(ms: Self.leaseMs / 4)
        guard let wish = rig.state.tended(rig.now).extension else {
            return #expect(Bool(false))
        }
        _ = rig.state.extended(wish, LeaseRefusal(), rig.now)
        #expect(rig.state.heldUntilMs == asked + Self.leaseMs / 4 + Self.leaseMs)
        // Somebody else has it all.
        _ = rig.state.fenced(under: rig.token, rig.now)
        #expect(rig.state.heldUntilMs == 0)
    }

    @Test func `what comes back unsent after that is dropped, too`() {
        var rig = Self.busy()
        rig.wait(ms: Self.leaseMs / 2)
        _ = rig.run()
        // If it were released, a successor that has leased it under the same token might lose it.
        let effects = rig.fault([1], .withdrawn)
        #expect(effects.endings.isEmpty && effects.arrived == -1)
        #expect(rig.run().sent.isEmpty)
        // Deliveries that a plugin holds back are not offered again either.
        rig.state.heldBack([delivery(2)], pauseEndings: 0, rig.now)
        let (sent, held) = rig.run()
        #expect(sent.isEmpty && held.arrived == -1)
    }

    @Test func `an answer that comes after that still counts, and the lane goes on from the disk`()
    {
        var rig = Self.busy()
        rig.wait(ms: Self.leaseMs / 2)
        _ = rig.run()
        let effects = rig.take([1, 2, 3], .delivered, code: 200)
        #expect(effects.kinds == [1: .delivered, 2: .delivered, 3: .delivered])
        let wish = rig.run().effects.wish
        #expect(wish != nil)
        _ = rig.lend([4, 5, 6], wish)
        #expect(rig.run().sent == [4, 5, 6])
        #expect(rig.state.reserve([delivery(20)]) == [20])
    }

    @Test func `a lane goes on when the store extends its leases after all`() {
        var rig = Self.busy()
        rig.wait(ms: Self.leaseMs / 2)
        guard let wish = rig.state.tended(rig.now).extension else {
            return #expect(Bool(false))
        }
        #expect(wish.ids.sorted() == [1, 2, 3])
        _ = rig.state.extended(wish, LeaseRefusal(), rig.now)
        #expect(rig.run().effects.wish != nil)
    }

    @Test func `a process that was stopped for longer than a lease sends nothing of it`() {
        var rig = LaneStateRig()
        _ = rig.state.backlog()
        let wish = rig.run().effects.wish
        // The store's answer was in transit all that time.
        rig.wait(ms: 2 * Self.leaseMs)
        _ = rig.lend([1, 2], wish)
        let (sent, effects) = rig.run()
        #expect(sent.isEmpty && effects.arrived == -2)
        #expect(effects.wish != nil)
    }

    @Test func `what was sent and settled by somebody else meanwhile is told and counted`() {
        var rig = Self.busy()
        var refusal = LeaseRefusal()
        refusal.lost = [2]
        let effects = rig.state.stored(
            [.delivered(1), .delivered(2)], refusal, wereLate: false, rig.now)
        #expect(effects.lines.map(\.reason) == ["taken_over"] && effects.lines.map(\.count) == [1])
        #expect(effects.leasesLost == 1)
    }

    @Test func `what somebody else has taken over is dropped, told once and counted`() {
        var rig = Self.busy()
        rig.wait(ms: Self.leaseMs / 4)
        guard let wish = rig.state.tended(rig.now).extension else {
            return #expect(Bool(false))
        }
        var refusal = LeaseRefusal()
        refusal.lost = [2, 5, 99]
        let effects = rig.state.extended(wish, refusal, rig.now)
        #expect(effects.arrived == -2 && effects.leasesLost == 2)
        #expect(effects.lines.map(\.reason) == ["taken_over"] && effects.lines.map(\.count) == [2])
        // Delivery 2 may still wait for a connection.
        #expect(effects.isWithdrawal)
        #expect(rig.run().sent == [4, 6])
        // The new holder reports how it ended.
        #expect(rig.take([2], .delivered, code: 200).endings.isEmpty)
        #expect(rig.fault([1], .withdrawn).endings.isEmpty)
    }

    @Test func `an outdated token drops everything, and nothing is told of it any more`() {
        var rig = Self.busy()
        _ = rig.fault([3], .timeout)
        let effects = rig.state.fenced(under: rig.token, rig.now)
        #expect(effects.isWithdrawal && effects.arrived == -5 && effects.leasesLost == 5)
        #expect(rig.state.token == nil && rig.state.count == 0)
        #expect(rig.take([1, 2], .delivered, code: 200).endings.isEmpty)
        let late = rig.state.takeLate(
            [Outcome(item: 3, kind: .delivered)], rig.now, random: { 0 })
        #expect(late.endings.isEmpty)
        // It continues under the store's next token.
        let old = rig.token
        rig.token.epoch = 2
        let wish = rig.run().effects.wish
        _ = rig.lend([1, 2], wish)
        #expect(rig.state.token?.epoch == 2)
        // What was requested under the old token changes nothing.
        #expect(rig.state.fenced(under: old, rig.now).isEmpty)
        rig.token = old
        _ = rig.lend([7], nil)
        #expect(rig.run().sent == [1, 2])
    }

    @Test func `what is leased again while in flight is not sent twice, and its answer counts`() {
        var rig = Self.busy()
        _ = rig.state.fenced(under: rig.token, rig.now)
        rig.token.epoch = 2
        let wish = rig.run().effects.wish
        #expect(rig.lend([1, 2, 4], wish).arrived == 3)
        #expect(rig.run().sent == [4])
        #expect(rig.take([1], .delivered, code: 200).kinds == [1: .delivered])
        // A delivery that never left is sent now.
        #expect(rig.fault([2], .withdrawn).endings.isEmpty)
        #expect(rig.run().sent == [2] || rig.state.count == 2)
        // A delivery that was not leased again reports nothing, and can come back later.
        #expect(rig.fault([3], .withdrawn).endings.isEmpty)
        #expect(rig.lend([3], nil).arrived == 1)
    }

    @Test func `a lease under a newer token drops what is held under the older one`() {
        var rig = Self.busy()
        rig.token.epoch = 2
        let effects = rig.lend([5, 9], nil)
        #expect(effects.isWithdrawal && effects.arrived == 2 - 6)
        #expect(rig.run().sent == [5, 9])
    }

    @Test func `what was committed under a token that is outdated by now is looked for`() {
        var rig = LaneStateRig()
        let reserved = rig.state.reserve([delivery(1)])
        #expect(reserved == [1])
        let old = rig.token
        rig.token.epoch = 2
        _ = rig.lend([7], nil)
        _ = rig.run()
        let effects = rig.state.committed(
            [delivery(1)], under: old, askedMs: rig.now.steadyMs, isMoreOnDisk: false
        ).effects
        #expect(effects.arrived == 0)
        #expect(rig.run().effects.wish != nil)
    }

    @Test func `what was known to be over and is lent again was not settled`() {
        var rig = LaneStateRig()
        rig.submit(1...1)
        _ = rig.run()
        let effects = rig.fault([1], .timeout)
        _ = rig.state.stored(effects.endings.map(\.end), wereLate: false, rig.now)
        let late = rig.state.takeLate(
            [Outcome(item: 1, kind: .delivered)], rig.now, random: { 0 })
        var refusal = LeaseRefusal()
        refusal.lost = [1]
        _ = rig.state.stored(late.endings.map(\.end), refusal, wereLate: false, rig.now)
        #expect(rig.lend([1], nil).arrived == 1)
    }

    @Test func `what is lent under a newer token is believed, also if it was known to be over`() {
        var rig = LaneStateRig()
        rig.submit(1...2)
        _ = rig.run()
        let effects = rig.fault([1], .timeout)
        _ = rig.state.stored(effects.endings.map(\.end), wereLate: false, rig.now)
        _ = rig.state.takeLate([Outcome(item: 1, kind: .delivered)], rig.now, random: { 0 })
        // The store refuses that settlement, too, which the lane has not heard yet.
        _ = rig.state.fenced(under: rig.token, rig.now)
        rig.token.epoch = 2
        #expect(rig.lend([1], nil).arrived == 1)
    }

    @Test func `a lane on its way out gives back what it surely holds, and no longer than that`() {
        var rig = LaneStateRig()
        let taken = rig.state.reserve([delivery(1)])
        #expect(taken == [1])
        let asked = rig.now.steadyMs
        _ = rig.state.leave(rig.now)
        let late = rig.state.committed(
            [delivery(1)], under: rig.token, askedMs: asked, isMoreOnDisk: false)
        #expect(late.effects.returned?.ids == [1])
        #expect(late.effects.returned?.endMs == asked + Self.leaseMs / 2)
    }

    @Test func `a try that was lost lets another delivery try`() {
        var (rig, _) = LaneHoldTests.held()
        rig.wait(ms: 1_000)
        _ = rig.state.woken()
        let wish = rig.run().effects.wish
        _ = rig.lend([50], wish)
        #expect(rig.run().sent == [50])
        _ = rig.state.fenced(under: rig.token, rig.now)
        #expect(rig.run().effects.wish?.isProbe == true)
    }

    @Test func `a try that somebody else has taken over lets another delivery try`() {
        var (rig, _) = LaneHoldTests.held()
        rig.wait(ms: 1_000)
        _ = rig.state.woken()
        let first = rig.run().effects.wish
        _ = rig.lend([50], first)
        #expect(rig.run().sent == [50])
        rig.wait(ms: Self.leaseMs / 4)
        guard let wish = rig.state.tended(rig.now).extension else {
            return #expect(Bool(false))
        }
        var refusal = LeaseRefusal()
        refusal.lost = [50]
        _ = rig.state.extended(wish, refusal, rig.now)
        #expect(rig.run().effects.wish?.isProbe == true)
    }
}
