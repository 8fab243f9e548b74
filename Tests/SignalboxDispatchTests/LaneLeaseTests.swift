import SignalboxCore
import Testing

@testable import SignalboxDispatch

/// What a lane does so that nobody else sends what it sends: extend in time, stop by itself, drop what it lost.
@Suite struct LaneLeaseTests {
    private static let leaseMs = LaneStateBench().state.rules.leaseMs

    /// A lane with six deliveries, of which 1, 2 and 3 are in flight.
    private static func busy() -> LaneStateBench {
        var bench = LaneStateBench(batchMax: 3)
        bench.submit(1...6)
        _ = bench.state.turn(bench.now, batchMax: 3)
        return bench
    }

    @Test func `leases are extended after a quarter of their time, all at once`() {
        var bench = Self.busy()
        bench.wait(ms: Self.leaseMs / 4 - 1)
        #expect(bench.state.tended(bench.now).extension == nil)
        bench.wait(ms: 1)
        let wish = bench.state.tended(bench.now).extension
        #expect(wish?.ids.sorted() == Array(1...6))
        #expect(wish?.token == bench.token && wish?.forMs == Self.leaseMs)
        // One question at a time.
        bench.wait(ms: 10_000)
        #expect(bench.state.tended(bench.now).extension == nil)
    }

    @Test func `an extension that failed is asked for again at the next look`() {
        var bench = Self.busy()
        bench.wait(ms: Self.leaseMs / 4)
        guard let wish = bench.state.tended(bench.now).extension else {
            return #expect(Bool(false))
        }
        #expect(bench.state.extended(wish, nil, bench.now).isEmpty)
        #expect(bench.state.tended(bench.now).extension != nil)
    }

    @Test func `an extension covers what was held when it was asked for, counted from then`() {
        var bench = Self.busy()
        bench.wait(ms: Self.leaseMs / 4)
        guard let wish = bench.state.tended(bench.now).extension else {
            return #expect(Bool(false))
        }
        // The answer takes its time.
        bench.wait(ms: Self.leaseMs / 8)
        _ = bench.state.extended(wish, LeaseRefusal(), bench.now)
        bench.wait(ms: Self.leaseMs / 8 - 1)
        #expect(bench.state.tended(bench.now).extension == nil)
        bench.wait(ms: 1)
        #expect(bench.state.tended(bench.now).extension != nil)
    }

    @Test func `what came in while an extension was on its way is not covered by it`() {
        var bench = LaneStateBench()
        bench.submit(1...1)
        _ = bench.run()
        bench.wait(ms: Self.leaseMs / 4)
        let asked = bench.now.steadyMs
        bench.wait(ms: 10)
        guard let wish = bench.state.tended(bench.now).extension else {
            return #expect(Bool(false))
        }
        // Reserved before that, and committed after it.
        _ = bench.state.committed(
            [delivery(2)], under: bench.token, askedMs: asked, isMoreOnDisk: false)
        _ = bench.state.extended(wish, LeaseRefusal(), bench.now)
        bench.wait(ms: Self.leaseMs / 4 - 10)
        #expect(bench.state.tended(bench.now).extension?.ids.sorted() == [1, 2])
    }

    @Test func `a lane whose leases are not extended stops by itself at half of their time`() {
        var bench = Self.busy()
        bench.wait(ms: Self.leaseMs / 2)
        // Nobody has told it anything: the turn looks at the clock.
        let (sent, todo) = bench.run()
        #expect(sent.isEmpty)
        // What was not sent is dropped, and what waits for a connection is called back.
        #expect(todo.isWithdrawal && todo.arrived == -3 && bench.state.count == 3)
        #expect(todo.lines.map(\.count) == [3] && todo.lines.map(\.reason) == ["not_extended"])
        #expect(todo.leasesLost == 3)
        // Nothing is taken in until the leases are sure again.
        #expect(todo.wish == nil && bench.state.reserve([delivery(20)]).isEmpty)
        #expect(bench.run().todo.isWithdrawal == false)
    }

    @Test func `what comes back unsent after that is dropped, too`() {
        var bench = Self.busy()
        bench.wait(ms: Self.leaseMs / 2)
        _ = bench.run()
        // Released, it might be taken from a successor that has leased it under the same token.
        let todo = bench.fault([1], .withdrawn)
        #expect(todo.endings.isEmpty && todo.arrived == -1)
        #expect(bench.run().sent.isEmpty)
        // What a plugin has no use for now is not offered again either.
        bench.state.heldBack([delivery(2)], pauseEndings: 0, bench.now)
        let (sent, held) = bench.run()
        #expect(sent.isEmpty && held.arrived == -1)
    }

    @Test func `an answer that comes after that still counts, and the lane goes on from the disk`()
    {
        var bench = Self.busy()
        bench.wait(ms: Self.leaseMs / 2)
        _ = bench.run()
        let todo = bench.take([1, 2, 3], .delivered, code: 200)
        #expect(todo.kinds == [1: .delivered, 2: .delivered, 3: .delivered])
        let wish = bench.run().todo.wish
        #expect(wish != nil)
        _ = bench.lend([4, 5, 6], wish)
        #expect(bench.run().sent == [4, 5, 6])
        #expect(bench.state.reserve([delivery(20)]) == [20])
    }

    @Test func `a lane goes on when the store extends its leases after all`() {
        var bench = Self.busy()
        bench.wait(ms: Self.leaseMs / 2)
        guard let wish = bench.state.tended(bench.now).extension else {
            return #expect(Bool(false))
        }
        #expect(wish.ids.sorted() == [1, 2, 3])
        _ = bench.state.extended(wish, LeaseRefusal(), bench.now)
        #expect(bench.run().todo.wish != nil)
    }

    @Test func `a process that was stopped for longer than a lease sends nothing of it`() {
        var bench = LaneStateBench()
        _ = bench.state.backlog()
        let wish = bench.run().todo.wish
        // The store's answer was on its way all the time.
        bench.wait(ms: 2 * Self.leaseMs)
        _ = bench.lend([1, 2], wish)
        let (sent, todo) = bench.run()
        #expect(sent.isEmpty && todo.arrived == -2)
        #expect(todo.wish != nil)
    }

    @Test func `what somebody else has taken over is dropped, told once and counted`() {
        var bench = Self.busy()
        bench.wait(ms: Self.leaseMs / 4)
        guard let wish = bench.state.tended(bench.now).extension else {
            return #expect(Bool(false))
        }
        var refusal = LeaseRefusal()
        refusal.lost = [2, 5, 99]
        let todo = bench.state.extended(wish, refusal, bench.now)
        #expect(todo.arrived == -2 && todo.leasesLost == 2)
        #expect(todo.lines.map(\.reason) == ["taken_over"] && todo.lines.map(\.count) == [2])
        // 2 may still wait for a connection.
        #expect(todo.isWithdrawal)
        #expect(bench.run().sent == [4, 6])
        // Whoever has it tells how it ended.
        #expect(bench.take([2], .delivered, code: 200).endings.isEmpty)
        #expect(bench.fault([1], .withdrawn).endings.isEmpty)
    }

    @Test func `an outdated token drops everything, and nothing is told of it any more`() {
        var bench = Self.busy()
        _ = bench.fault([3], .timeout)
        let todo = bench.state.fenced(under: bench.token, bench.now)
        #expect(todo.isWithdrawal && todo.arrived == -5 && todo.leasesLost == 5)
        #expect(bench.state.token == nil && bench.state.count == 0)
        #expect(bench.take([1, 2], .delivered, code: 200).endings.isEmpty)
        let late = bench.state.takeLate(
            [Outcome(item: 3, kind: .delivered)], bench.now, random: { 0 })
        #expect(late.endings.isEmpty)
        // It goes on under the token that the store gives next.
        let old = bench.token
        bench.token.epoch = 2
        let wish = bench.run().todo.wish
        _ = bench.lend([1, 2], wish)
        #expect(bench.state.token?.epoch == 2)
        // What was asked for under the old one changes nothing.
        #expect(bench.state.fenced(under: old, bench.now).isEmpty)
        bench.token = old
        _ = bench.lend([7], nil)
        #expect(bench.run().sent == [1, 2])
    }

    @Test func `what is leased again while in flight is not sent twice, and its answer counts`() {
        var bench = Self.busy()
        _ = bench.state.fenced(under: bench.token, bench.now)
        bench.token.epoch = 2
        let wish = bench.run().todo.wish
        #expect(bench.lend([1, 2, 4], wish).arrived == 3)
        #expect(bench.run().sent == [4])
        #expect(bench.take([1], .delivered, code: 200).kinds == [1: .delivered])
        // What never left is sent now.
        #expect(bench.fault([2], .withdrawn).endings.isEmpty)
        #expect(bench.run().sent == [2] || bench.state.count == 2)
        // What was not leased again says nothing, and can come back later.
        #expect(bench.fault([3], .withdrawn).endings.isEmpty)
        #expect(bench.lend([3], nil).arrived == 1)
    }

    @Test func `a lease under a newer token drops what is held under the older one`() {
        var bench = Self.busy()
        bench.token.epoch = 2
        let todo = bench.lend([5, 9], nil)
        #expect(todo.isWithdrawal && todo.arrived == 2 - 6)
        #expect(bench.run().sent == [5, 9])
    }

    @Test func `what was committed under a token that is outdated by now is looked for`() {
        var bench = LaneStateBench()
        let reserved = bench.state.reserve([delivery(1)])
        #expect(reserved == [1])
        let old = bench.token
        bench.token.epoch = 2
        _ = bench.lend([7], nil)
        _ = bench.run()
        let todo = bench.state.committed(
            [delivery(1)], under: old, askedMs: bench.now.steadyMs, isMoreOnDisk: false
        ).todo
        #expect(todo.arrived == 0)
        #expect(bench.run().todo.wish != nil)
    }

    @Test func `what was known to be over and is lent again was not settled`() {
        var bench = LaneStateBench()
        bench.submit(1...1)
        _ = bench.run()
        let todo = bench.fault([1], .timeout)
        _ = bench.state.stored(todo.endings.map(\.end), wereLate: false, bench.now)
        let late = bench.state.takeLate(
            [Outcome(item: 1, kind: .delivered)], bench.now, random: { 0 })
        var refusal = LeaseRefusal()
        refusal.lost = [1]
        _ = bench.state.stored(late.endings.map(\.end), refusal, wereLate: false, bench.now)
        #expect(bench.lend([1], nil).arrived == 1)
    }

    @Test func `a lane on its way out gives back what it surely holds, and no longer than that`() {
        var bench = LaneStateBench()
        let taken = bench.state.reserve([delivery(1)])
        #expect(taken == [1])
        let asked = bench.now.steadyMs
        _ = bench.state.leave(bench.now)
        let late = bench.state.committed(
            [delivery(1)], under: bench.token, askedMs: asked, isMoreOnDisk: false)
        #expect(late.todo.returned?.ids == [1])
        #expect(late.todo.returned?.endMs == asked + Self.leaseMs / 2)
    }

    @Test func `a try that was lost lets another delivery try`() {
        var (bench, _) = LaneHoldTests.held()
        bench.wait(ms: 1_000)
        _ = bench.state.woken()
        let wish = bench.run().todo.wish
        _ = bench.lend([50], wish)
        #expect(bench.run().sent == [50])
        _ = bench.state.fenced(under: bench.token, bench.now)
        #expect(bench.run().todo.wish?.isProbe == true)
    }
}
