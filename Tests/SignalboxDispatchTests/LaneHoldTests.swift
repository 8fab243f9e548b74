import SignalboxCore
import Testing

@testable import SignalboxDispatch

/// A lane whose provider accepts nothing: held, probed, released.
@Suite struct LaneHoldTests {
    /// A held lane with twelve deliveries in memory, eight of them in flight.
    static func held() -> (rig: LaneStateRig, effects: LaneEffects) {
        var rig = LaneStateRig(batchMax: 8)
        rig.submit(1...12)
        _ = rig.state.turn(rig.now, batchMax: rig.batchMax)
        let effects = rig.take((1...4).map { $0 }, .retry, reason: "unreachable")
        return (rig, effects)
    }

    /// A held lane with nothing in flight that is due to look at the disk.
    private static func emptied() -> LaneStateRig {
        var (rig, effects) = held()
        _ = rig.state.stored(effects.endings.map(\.end), wereLate: false, rig.now)
        effects = rig.take([5, 6, 7, 8], .rejected)
        _ = rig.state.stored(effects.endings.map(\.end), wereLate: false, rig.now)
        rig.wait(ms: 1_000)
        _ = rig.state.woken()
        return rig
    }

    @Test func `failures hold a lane, and everything that was not sent goes back to the disk`() {
        let (rig, effects) = Self.held()
        #expect(rig.state.hold?.cause == .down && rig.state.hold?.reason == "unreachable")
        #expect(effects.isWithdrawal && effects.holds.count == 1)
        #expect(effects.kinds.filter { $0.value == .released }.keys.sorted() == [9, 10, 11, 12])
        guard case .held(.down, _) = effects.holds.first else { return #expect(Bool(false)) }
    }

    @Test func `a held lane names the newest reason, and since when it is held`() {
        var (rig, _) = Self.held()
        let since = rig.state.hold?.sinceUnixMs
        rig.wait(ms: 1_000)
        _ = rig.take([5], .retry, reason: "lost") { $0.detail = "TLS handshake failed" }
        #expect(
            rig.state.hold?.reason == "lost" && rig.state.hold?.detail == "TLS handshake failed")
        #expect(rig.state.hold?.sinceUnixMs == since)
        // What says nothing of the provider is no reason.
        _ = rig.take([6], .rejected, reason: "bad_token")
        #expect(rig.state.hold?.reason == "lost")
    }

    @Test func `the reason of a hold is a failure's, also if deliveries of the same group arrived`()
    {
        var rig = LaneStateRig(batchMax: 8)
        rig.submit(1...3)
        _ = rig.state.turn(rig.now, batchMax: rig.batchMax)
        var refused = Outcome(item: 1, kind: .throttled, reason: "too_many")
        refused.scope = .instance
        var arrived = Outcome(item: 2, kind: .delivered, reason: "ok")
        arrived.providerCode = 200
        _ = rig.take([refused, arrived])
        #expect(rig.state.hold?.reason == "too_many")
    }

    @Test func `one delivery tries after each wait, and the rest follows when it gets through`() {
        var (rig, effects) = Self.held()
        _ = rig.state.stored(effects.endings.map(\.end), wereLate: false, rig.now)
        _ = rig.fault([5, 6, 7, 8], .withdrawn)
        effects = rig.run().effects
        #expect(effects.wish == nil)
        rig.wait(ms: 1_000)
        _ = rig.state.woken()
        let wish = rig.run().effects.wish
        #expect(wish?.isProbe == true && wish?.max == 1)
        _ = rig.lend([9], wish)
        #expect(rig.run().sent == [9])
        // Nothing more while the probe runs.
        #expect(rig.state.reserve([delivery(20)]).isEmpty)
        _ = rig.state.backlog()
        #expect(rig.run().effects.wish == nil)
        effects = rig.take([9], .delivered, code: 200)
        guard case .back(.down, afterMs: 1_000) = effects.holds.first else {
            return #expect(Bool(false))
        }
        #expect(rig.state.hold == nil)
        #expect(rig.run().effects.wish?.isProbe == false)
    }

    @Test func `a failed try waits longer`() {
        var (rig, _) = Self.held()
        for wait in [1_000, 2_000, 4_000] as [UInt64] {
            rig.wait(ms: wait - 1)
            _ = rig.state.woken()
            #expect(rig.run().effects.wish == nil)
            rig.wait(ms: 1)
            _ = rig.state.woken()
            let wish = rig.run().effects.wish
            _ = rig.lend([50], wish)
            #expect(rig.run().sent == [50])
            let effects = rig.take([50], .retry, code: 503)
            _ = rig.state.stored(effects.endings.map(\.end), wereLate: false, rig.now)
        }
    }

    /// Offers what is ready to a plugin without a credential.
    private static func refuse(_ rig: inout LaneStateRig) -> (ids: [UInt64], effects: LaneEffects) {
        let turn = rig.state.turn(rig.now, batchMax: rig.batchMax)
        let effects = rig.state.uncredentialed(
            turn.batch, pauseEndings: turn.pauseEndings, rig.now, random: 0)
        return (turn.batch.map(\.id), effects)
    }

    /// A lane with two deliveries whose plugin has waited too long for a credential.
    private static func uncredentialed() -> (rig: LaneStateRig, effects: LaneEffects) {
        var rig = LaneStateRig()
        rig.submit(1...2)
        var effects = refuse(&rig).effects
        for _ in 0..<5 {
            #expect(rig.state.hold == nil && effects.isEmpty)
            rig.wait(ms: 1_000)
            effects = refuse(&rig).effects
        }
        return (rig, effects)
    }

    @Test func `a plugin without a credential holds the lane after a while, at no attempt`() {
        var (rig, effects) = Self.uncredentialed()
        #expect(rig.state.hold?.cause == .down && rig.state.hold?.reason == "credential")
        guard case .held(.down, _) = effects.holds.first else { return #expect(Bool(false)) }
        #expect(effects.kinds == [1: .released, 2: .released])
        // It is tried at growing intervals.
        for wait in [1_000, 2_000, 4_000] as [UInt64] {
            _ = rig.state.stored(effects.endings.map(\.end), wereLate: false, rig.now)
            rig.wait(ms: wait - 1)
            _ = rig.state.woken()
            #expect(rig.run().effects.wish == nil)
            rig.wait(ms: 1)
            _ = rig.state.woken()
            let wish = rig.run().effects.wish
            #expect(wish?.isProbe == true)
            _ = rig.lend([1], wish)
            let tried = Self.refuse(&rig)
            effects = tried.effects
            #expect(tried.ids == [1] && effects.holds.isEmpty)
            #expect(effects.kinds == [1: .released])
        }
    }

    @Test func `a credential that comes releases the lane at once`() {
        var (rig, effects) = Self.uncredentialed()
        _ = rig.state.stored(effects.endings.map(\.end), wereLate: false, rig.now)
        #expect(rig.run().effects.wish == nil)
        #expect(rig.state.credentialsChanged().isTurn)
        let wish = rig.run().effects.wish
        #expect(wish?.isProbe == true)
        _ = rig.lend([1], wish)
        #expect(rig.run().sent == [1])
        effects = rig.take([1], .delivered, code: 200)
        #expect(rig.state.hold == nil && effects.holds.count == 1)
    }

    @Test func `credentials that are missing for a moment, now and then, do not hold the lane`() {
        var rig = LaneStateRig()
        rig.submit(1...2)
        for _ in 0..<10 {
            #expect(Self.refuse(&rig).effects.isEmpty)
            rig.wait(ms: 1_000)
            _ = rig.state.credentialsChanged()
        }
        for _ in 0..<3 {
            #expect(Self.refuse(&rig).effects.isEmpty)
            rig.wait(ms: LaneState.credentialMs)
        }
        #expect(rig.state.hold == nil)
    }

    @Test func `a try without an outcome does not hold the lane for ever`() {
        var (rig, _) = Self.held()
        rig.wait(ms: 1_000)
        _ = rig.state.woken()
        let wish = rig.run().effects.wish
        _ = rig.lend([50], wish)
        #expect(rig.run().sent == [50])
        rig.waitWithLeases(ms: Breaker.probeMsMax)
        _ = rig.state.woken()
        #expect(rig.run().effects.wish?.isProbe == true)
    }

    @Test func `a try that the plugin gives back is made again`() {
        var (rig, _) = Self.held()
        rig.wait(ms: 1_000)
        _ = rig.state.woken()
        let wish = rig.run().effects.wish
        _ = rig.lend([50], wish)
        let turn = rig.state.turn(rig.now, batchMax: rig.batchMax)
        #expect(turn.batch.map(\.id) == [50])
        rig.state.heldBack(turn.batch, pauseEndings: turn.pauseEndings, rig.now)
        rig.wait(ms: 1_000)
        #expect(rig.run().sent == [50])
    }

    @Test func `a held lane whose look at the disk failed looks again`() {
        var rig = Self.emptied()
        var wish = rig.run().effects.wish
        // A probe found only deliveries due later; afterwards the lane merely checks.
        _ = rig.lend([], wish, nextDueInMs: 1_000)
        rig.wait(ms: 1_000)
        wish = rig.run().effects.wish
        guard let wish else { return #expect(Bool(false)) }
        _ = rig.state.leased(nil, wish, rig.now)
        #expect(rig.run().effects.wakeInMs == 1_000)
        rig.wait(ms: 1_000)
        _ = rig.state.woken()
        #expect(rig.run().effects.wish?.isProbe == true)
    }

    @Test func `a hold with nothing left to try is forgotten`() {
        var rig = Self.emptied()
        let wish = rig.run().effects.wish
        let effects = rig.lend([], wish)
        guard case .forgotten(.down) = effects.holds.first else { return #expect(Bool(false)) }
        #expect(rig.state.hold == nil)
    }

    @Test func `a hold that may be mended ends though all that waits is due later`() {
        var rig = Self.emptied()
        #expect(rig.lend([], rig.run().effects.wish, nextDueInMs: 60_000).holds.isEmpty)
        #expect(rig.state.hold != nil && rig.run().effects.wish == nil)
        _ = rig.state.tryNow()
        let effects = rig.lend([], rig.run().effects.wish, nextDueInMs: 60_000)
        guard case .forgotten(.down) = effects.holds.first else { return #expect(Bool(false)) }
        #expect(rig.state.hold == nil)
    }

    @Test func `a hold is forgotten when the last delivery in flight has ended`() {
        var (rig, effects) = Self.held()
        _ = rig.state.stored(effects.endings.map(\.end), wereLate: false, rig.now)
        rig.wait(ms: 1_000)
        _ = rig.state.woken()
        var wish = rig.run().effects.wish
        #expect(rig.lend([], wish).holds.isEmpty)
        #expect(rig.run().effects.wish == nil)
        effects = rig.take([5, 6, 7, 8], .rejected)
        _ = rig.state.stored(effects.endings.map(\.end), wereLate: false, rig.now)
        _ = rig.state.woken()
        wish = rig.run().effects.wish
        #expect(wish?.isProbe == true)
        #expect(rig.lend([], wish).holds.count == 1)
        #expect(rig.state.hold == nil)
    }

    @Test(arguments: [Outcome.Kind.config, .auth])
    func `a refused key amid accepted pushes is tried once more, the second in a row holds`(
        kind: Outcome.Kind
    ) {
        var rig = LaneStateRig()
        rig.submit(1...9)
        #expect(rig.run().sent.count == 9)
        func refused(_ ids: [UInt64]) -> LaneEffects {
            rig.take(ids, kind, code: 403) { $0.scope = .instance }
        }
        _ = rig.take([1], .delivered, code: 200)
        let retry = LaneEnding.Kind.retry(atUnixMs: rig.now.unixMs + 1_000, isFree: true)
        for id in [2, 4, 6] as [UInt64] {
            let effects = refused([id])
            #expect(effects.kinds == [id: retry] && effects.holds.isEmpty)
            _ = rig.take([id + 1], .delivered, code: 200)
        }
        // An answer about the push itself does not say that the key is good.
        #expect(refused([8]).holds.isEmpty)
        #expect(rig.take([9], .rejected, code: 400).holds.isEmpty)
        rig.submit(10...10)
        _ = rig.run()
        #expect(refused([10]).holds.count == 1)
        #expect(rig.state.hold?.cause == .misconfigured)
    }

    @Test func `a key that was never accepted holds at its first refusal`() {
        var rig = LaneStateRig()
        rig.submit(1...1)
        _ = rig.run()
        #expect(rig.take([1], .config, code: 403) { $0.scope = .instance }.holds.count == 1)
    }

    @Test func `what holds for the instance is heard by its other lanes, and not told on`() {
        var rig = LaneStateRig()
        rig.submit(1...2)
        var refused = Outcome(item: 77, kind: .config, reason: "InvalidProviderToken")
        refused.scope = .instance
        let effects = rig.state.hear(refused, rig.now, random: 0)
        #expect(rig.state.hold?.cause == .misconfigured)
        guard case .held(.misconfigured, let why?) = effects.holds.first else {
            return #expect(Bool(false))
        }
        #expect(why.scope == .app)
        #expect(effects.kinds == [1: .released, 2: .released])
        #expect(rig.state.hear(refused, rig.now, random: 0).isEmpty)
        // New credentials are tried at once.
        _ = rig.state.credentialsChanged()
        #expect(rig.run().effects.wish?.isProbe == true)
    }

    @Test func `a delivery that is reset again and again says nothing about the others`() {
        var rig = LaneStateRig()
        for _ in 0..<50 {
            rig.submit([delivery(1, attempt: 2)])
            _ = rig.run()
            let effects = rig.take([1], .retry, reason: "reset")
            _ = rig.state.stored(effects.endings.map(\.end), wereLate: false, rig.now)
            rig.wait(ms: 40_000)
            _ = rig.run()
        }
        #expect(rig.state.hold == nil)
    }

    @Test(arguments: [503, 302] as [UInt32])
    func `an outage uses up no attempt, nor does a redirect`(code: UInt32) {
        var rig = LaneStateRig()
        rig.submit(1...1)
        _ = rig.run()
        guard case .retry(_, let isFree) = rig.take([1], .retry, code: code).kinds[1] else {
            return #expect(Bool(false))
        }
        #expect(isFree)
    }

    @Test func `a dead token is no fault to be told`() {
        var rig = LaneStateRig()
        rig.submit(1...2)
        _ = rig.run()
        #expect(rig.take([1], .unregistered, code: 410, reason: "Unregistered").lines.isEmpty)
        #expect(rig.take([2], .rejected, code: 400, reason: "BadTopic").lines.count == 1)
    }

    @Test func `an outage is one line per reason and interval, with a count`() {
        var rig = LaneStateRig(inMemoryMax: 4_096)
        rig.policy.retries = 100
        var lines: [LaneLine] = []
        for id in UInt64(1)...1_000 {
            rig.submit(id...id)
            _ = rig.run()
            lines += rig.take([id], .retry, code: 418, reason: "teapot").lines
            _ = rig.state.leased(
                StoreLease(token: rig.token), LeaseWish(max: 1, forMs: 0), rig.now)
            rig.wait(ms: 100)
        }
        lines += rig.state.tended(rig.now).lines
        #expect(lines.first?.count == 1)
        #expect(lines.count <= 11)
        rig.wait(ms: LaneLines.intervalMs)
        lines += rig.state.tended(rig.now).lines
        #expect(lines.map(\.count).reduce(0, +) == 1_000)
    }
}
