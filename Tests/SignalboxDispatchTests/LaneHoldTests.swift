import SignalboxCore
import Testing

@testable import SignalboxDispatch

/// A lane whose provider takes nothing: held, tried, released.
@Suite struct LaneHoldTests {
    /// A lane with twelve deliveries in memory, eight of them in flight, that is held.
    static func held() -> (bench: LaneStateBench, todo: LaneTodo) {
        var bench = LaneStateBench(batchMax: 8)
        bench.submit(1...12)
        _ = bench.state.turn(bench.now, batchMax: bench.batchMax)
        let todo = bench.take((1...4).map { $0 }, .retry, reason: "unreachable")
        return (bench, todo)
    }

    @Test func `failures hold a lane, and everything that was not sent goes back to the disk`() {
        let (bench, todo) = Self.held()
        #expect(bench.state.hold?.cause == .down && bench.state.hold?.reason == "unreachable")
        #expect(todo.isWithdrawal && todo.holds.count == 1)
        #expect(todo.kinds.filter { $0.value == .released }.keys.sorted() == [9, 10, 11, 12])
        guard case .held(.down, _) = todo.holds.first else { return #expect(Bool(false)) }
    }

    @Test func `the reason of a hold is a failure's, also if deliveries of the same group arrived`()
    {
        var bench = LaneStateBench(batchMax: 8)
        bench.submit(1...3)
        _ = bench.state.turn(bench.now, batchMax: bench.batchMax)
        var refused = Outcome(item: 1, kind: .throttled, reason: "too_many")
        refused.scope = .instance
        var arrived = Outcome(item: 2, kind: .delivered, reason: "ok")
        arrived.providerCode = 200
        _ = bench.take([refused, arrived])
        #expect(bench.state.hold?.reason == "too_many")
    }

    @Test func `one delivery tries after each wait, and the rest follows when it gets through`() {
        var (bench, todo) = Self.held()
        _ = bench.state.stored(todo.endings.map(\.end), wereLate: false, bench.now)
        _ = bench.fault([5, 6, 7, 8], .withdrawn)
        todo = bench.run().todo
        #expect(todo.wish == nil)
        bench.wait(ms: 1_000)
        _ = bench.state.woken()
        let wish = bench.run().todo.wish
        #expect(wish?.isProbe == true && wish?.max == 1)
        _ = bench.lend([9], wish)
        #expect(bench.run().sent == [9])
        // Nothing more while it tries.
        #expect(bench.state.reserve([delivery(20)]).isEmpty)
        _ = bench.state.backlog()
        #expect(bench.run().todo.wish == nil)
        todo = bench.take([9], .delivered, code: 200)
        guard case .back(.down) = todo.holds.first else { return #expect(Bool(false)) }
        #expect(bench.state.hold == nil)
        #expect(bench.run().todo.wish?.isProbe == false)
    }

    @Test func `a failed try waits longer`() {
        var (bench, _) = Self.held()
        for wait in [1_000, 2_000, 4_000] as [UInt64] {
            bench.wait(ms: wait - 1)
            _ = bench.state.woken()
            #expect(bench.run().todo.wish == nil)
            bench.wait(ms: 1)
            _ = bench.state.woken()
            let wish = bench.run().todo.wish
            _ = bench.lend([50], wish)
            #expect(bench.run().sent == [50])
            let todo = bench.take([50], .retry, code: 503)
            _ = bench.state.stored(todo.endings.map(\.end), wereLate: false, bench.now)
        }
    }

    /// Offers what is ready, and the plugin has no credential.
    private static func refuse(_ bench: inout LaneStateBench) -> (ids: [UInt64], todo: LaneTodo) {
        let turn = bench.state.turn(bench.now, batchMax: bench.batchMax)
        let todo = bench.state.uncredentialed(
            turn.batch, pauseEndings: turn.pauseEndings, bench.now, random: 0)
        return (turn.batch.map(\.id), todo)
    }

    /// A lane with two deliveries whose plugin has waited for a credential for too long.
    private static func uncredentialed() -> (bench: LaneStateBench, todo: LaneTodo) {
        var bench = LaneStateBench()
        bench.submit(1...2)
        var todo = refuse(&bench).todo
        for _ in 0..<5 {
            #expect(bench.state.hold == nil && todo.isEmpty)
            bench.wait(ms: 1_000)
            todo = refuse(&bench).todo
        }
        return (bench, todo)
    }

    @Test func `a plugin without a credential holds the lane after a while, at no attempt`() {
        var (bench, todo) = Self.uncredentialed()
        #expect(bench.state.hold?.cause == .down && bench.state.hold?.reason == "credential")
        guard case .held(.down, _) = todo.holds.first else { return #expect(Bool(false)) }
        #expect(todo.kinds == [1: .released, 2: .released])
        // It is tried less and less often.
        for wait in [1_000, 2_000, 4_000] as [UInt64] {
            _ = bench.state.stored(todo.endings.map(\.end), wereLate: false, bench.now)
            bench.wait(ms: wait - 1)
            _ = bench.state.woken()
            #expect(bench.run().todo.wish == nil)
            bench.wait(ms: 1)
            _ = bench.state.woken()
            let wish = bench.run().todo.wish
            #expect(wish?.isProbe == true)
            _ = bench.lend([1], wish)
            let tried = Self.refuse(&bench)
            todo = tried.todo
            #expect(tried.ids == [1] && todo.holds.isEmpty)
            #expect(todo.kinds == [1: .released])
        }
    }

    @Test func `a credential that comes releases the lane at once`() {
        var (bench, todo) = Self.uncredentialed()
        _ = bench.state.stored(todo.endings.map(\.end), wereLate: false, bench.now)
        #expect(bench.run().todo.wish == nil)
        #expect(bench.state.credentialsChanged().isTurn)
        let wish = bench.run().todo.wish
        #expect(wish?.isProbe == true)
        _ = bench.lend([1], wish)
        #expect(bench.run().sent == [1])
        todo = bench.take([1], .delivered, code: 200)
        #expect(bench.state.hold == nil && todo.holds.count == 1)
    }

    @Test func `credentials that are missing for a moment, now and then, do not hold the lane`() {
        var bench = LaneStateBench()
        bench.submit(1...2)
        for _ in 0..<10 {
            #expect(Self.refuse(&bench).todo.isEmpty)
            bench.wait(ms: 1_000)
            _ = bench.state.credentialsChanged()
        }
        for _ in 0..<3 {
            #expect(Self.refuse(&bench).todo.isEmpty)
            bench.wait(ms: LaneState.credentialMs)
        }
        #expect(bench.state.hold == nil)
    }

    @Test func `a try without an outcome does not hold the lane for ever`() {
        var (bench, _) = Self.held()
        bench.wait(ms: 1_000)
        _ = bench.state.woken()
        let wish = bench.run().todo.wish
        _ = bench.lend([50], wish)
        #expect(bench.run().sent == [50])
        bench.waitWithLeases(ms: Breaker.probeMsMax)
        _ = bench.state.woken()
        #expect(bench.run().todo.wish?.isProbe == true)
    }

    @Test func `a try that the plugin gives back is made again`() {
        var (bench, _) = Self.held()
        bench.wait(ms: 1_000)
        _ = bench.state.woken()
        let wish = bench.run().todo.wish
        _ = bench.lend([50], wish)
        let turn = bench.state.turn(bench.now, batchMax: bench.batchMax)
        #expect(turn.batch.map(\.id) == [50])
        bench.state.heldBack(turn.batch, pauseEndings: turn.pauseEndings, bench.now)
        bench.wait(ms: 1_000)
        #expect(bench.run().sent == [50])
    }

    @Test func `a held lane whose look at the disk failed looks again`() {
        var (bench, todo) = Self.held()
        _ = bench.state.stored(todo.endings.map(\.end), wereLate: false, bench.now)
        todo = bench.take([5, 6, 7, 8], .rejected)
        _ = bench.state.stored(todo.endings.map(\.end), wereLate: false, bench.now)
        bench.wait(ms: 1_000)
        _ = bench.state.woken()
        var wish = bench.run().todo.wish
        // A probe that found nothing but what is due later; after that the lane is only curious.
        _ = bench.lend([], wish, nextDueInMs: 1_000)
        bench.wait(ms: 1_000)
        wish = bench.run().todo.wish
        guard let wish else { return #expect(Bool(false)) }
        _ = bench.state.leased(nil, wish, bench.now)
        #expect(bench.run().todo.wakeInMs == 1_000)
        bench.wait(ms: 1_000)
        _ = bench.state.woken()
        #expect(bench.run().todo.wish?.isProbe == true)
    }

    @Test func `a hold with nothing left to try is forgotten`() {
        var (bench, todo) = Self.held()
        _ = bench.state.stored(todo.endings.map(\.end), wereLate: false, bench.now)
        todo = bench.take([5, 6, 7, 8], .rejected)
        _ = bench.state.stored(todo.endings.map(\.end), wereLate: false, bench.now)
        bench.wait(ms: 1_000)
        _ = bench.state.woken()
        let wish = bench.run().todo.wish
        todo = bench.lend([], wish)
        guard case .forgotten(.down) = todo.holds.first else { return #expect(Bool(false)) }
        #expect(bench.state.hold == nil)
    }

    @Test func `a hold is forgotten when the last delivery in flight has ended`() {
        var (bench, todo) = Self.held()
        _ = bench.state.stored(todo.endings.map(\.end), wereLate: false, bench.now)
        bench.wait(ms: 1_000)
        _ = bench.state.woken()
        var wish = bench.run().todo.wish
        #expect(bench.lend([], wish).holds.isEmpty)
        #expect(bench.run().todo.wish == nil)
        todo = bench.take([5, 6, 7, 8], .rejected)
        _ = bench.state.stored(todo.endings.map(\.end), wereLate: false, bench.now)
        _ = bench.state.woken()
        wish = bench.run().todo.wish
        #expect(wish?.isProbe == true)
        #expect(bench.lend([], wish).holds.count == 1)
        #expect(bench.state.hold == nil)
    }

    @Test func `what holds for the instance is heard by its other lanes, and not told on`() {
        var bench = LaneStateBench()
        bench.submit(1...2)
        var refused = Outcome(item: 77, kind: .config, reason: "InvalidProviderToken")
        refused.scope = .instance
        let todo = bench.state.hear(refused, bench.now, random: 0)
        #expect(bench.state.hold?.cause == .misconfigured)
        guard case .held(.misconfigured, let why?) = todo.holds.first else {
            return #expect(Bool(false))
        }
        #expect(why.scope == .app)
        #expect(todo.kinds == [1: .released, 2: .released])
        #expect(bench.state.hear(refused, bench.now, random: 0).isEmpty)
        // New credentials are tried at once.
        _ = bench.state.credentialsChanged()
        #expect(bench.run().todo.wish?.isProbe == true)
    }

    @Test func `a delivery that is reset again and again says nothing about the others`() {
        var bench = LaneStateBench()
        for _ in 0..<50 {
            bench.submit([delivery(1, attempt: 2)])
            _ = bench.run()
            let todo = bench.take([1], .retry, reason: "reset")
            _ = bench.state.stored(todo.endings.map(\.end), wereLate: false, bench.now)
            bench.wait(ms: 40_000)
            _ = bench.run()
        }
        #expect(bench.state.hold == nil)
    }

    @Test func `an outage uses up no attempt`() {
        var bench = LaneStateBench()
        bench.submit(1...1)
        _ = bench.run()
        guard case .retry(_, let isFree) = bench.take([1], .retry, code: 503).kinds[1] else {
            return #expect(Bool(false))
        }
        #expect(isFree)
    }

    @Test func `an outage is one line per reason and interval, with a count`() {
        var bench = LaneStateBench(inMemoryMax: 4_096)
        bench.policy.retries = 100
        var lines: [LaneLine] = []
        for id in UInt64(1)...1_000 {
            bench.submit(id...id)
            _ = bench.run()
            lines += bench.take([id], .retry, code: 418, reason: "teapot").lines
            _ = bench.state.leased(
                StoreLease(token: bench.token), LeaseWish(max: 1, forMs: 0), bench.now)
            bench.wait(ms: 100)
        }
        lines += bench.state.tended(bench.now).lines
        #expect(lines.first?.count == 1)
        #expect(lines.count <= 6)
        bench.wait(ms: LaneLines.intervalMs)
        lines += bench.state.tended(bench.now).lines
        #expect(lines.map(\.count).reduce(0, +) == 1_000)
    }
}
