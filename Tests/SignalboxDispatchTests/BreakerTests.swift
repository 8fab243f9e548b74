import SignalboxCore
import SignalboxDispatch
import Testing

@Suite struct BreakerTests {
    static let down = Breaker.Verdict.failure(weight: 1, hintMs: 0)

    func opened(_ verdict: Breaker.Verdict = down) -> Breaker {
        var breaker = Breaker()
        for _ in 0..<Breaker.failuresMax {
            breaker.take(verdict, of: 1, nowMs: 0, random: 0)
        }
        return breaker
    }

    /// The waits before each of its probes, which all end with the same verdict.
    func waits(_ breaker: inout Breaker, _ count: Int, _ verdict: Breaker.Verdict) -> [UInt64] {
        var now: UInt64 = 0
        var waits: [UInt64] = []
        for id in 0..<UInt64(count) {
            guard case .none(let until) = breaker.permission(nowMs: now) else { break }
            waits.append(until - now)
            now = until
            #expect(breaker.permission(nowMs: now) == .probe)
            breaker.probe(id, nowMs: now)
            #expect(
                breaker.permission(nowMs: now) == .none(untilMs: now + Breaker.probeMsMax))
            breaker.take(verdict, of: id, nowMs: now, random: 0)
        }
        return waits
    }

    @Test func `opens after failures in a row, probes, and waits longer each time`() {
        var breaker = Breaker()
        for _ in 1..<Breaker.failuresMax {
            breaker.take(Self.down, of: 1, nowMs: 0, random: 0)
        }
        #expect(breaker.permission(nowMs: 0) == .all)
        breaker = opened()
        #expect(breaker.cause == .down)
        let waited = waits(&breaker, 8, Self.down)
        #expect(waited == [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000])
        breaker.take(.up, of: 99, nowMs: 0, random: 0)
        #expect(breaker.permission(nowMs: 0) == .all)
    }

    @Test func `three deliveries that cannot be sent open it`() {
        var breaker = Breaker()
        let verdict = Breaker.verdict(
            Outcome(item: 1, kind: .retry, reason: "unreachable"), isFirst: true)
        for _ in 0..<2 { breaker.take(verdict, of: 1, nowMs: 0, random: 0) }
        #expect(!breaker.isOpen)
        breaker.take(verdict, of: 1, nowMs: 0, random: 0)
        #expect(breaker.isOpen)
    }

    @Test func `only a streak of 5xx grows to the quarter of an hour that Apple asks for`() {
        let verdict = Breaker.Verdict.failure(weight: 1, hintMs: 900_000)
        var breaker = opened(verdict)
        let waited = waits(&breaker, 12, verdict)
        #expect(Array(waited.prefix(3)) == [1_000, 2_000, 4_000])
        #expect(waited.last == 900_000)
    }

    @Test func `a success in between starts the count anew`() {
        var breaker = Breaker()
        for _ in 0..<100 {
            for _ in 1..<Breaker.failuresMax {
                breaker.take(Self.down, of: 1, nowMs: 0, random: 0)
            }
            breaker.take(.up, of: 1, nowMs: 0, random: 0)
        }
        #expect(!breaker.isOpen)
    }

    @Test func `outcomes of earlier requests do not lengthen the wait`() {
        var breaker = opened()
        for id in 0..<UInt64(500) { breaker.take(Self.down, of: id, nowMs: 0, random: 0) }
        #expect(breaker.permission(nowMs: 0) == .none(untilMs: 1_000))
        // Also while a probe is running.
        breaker.probe(7, nowMs: 1_000)
        breaker.take(Self.down, of: 8, nowMs: 1_000, random: 0)
        #expect(breaker.permission(nowMs: 1_000) == .none(untilMs: 1_000 + Breaker.probeMsMax))
    }

    @Test func `a probe that was not sent may be tried again, one that says nothing waits`() {
        var breaker = opened()
        breaker.probe(1, nowMs: 1_000)
        breaker.probeReturned()
        #expect(breaker.permission(nowMs: 1_000) == .probe)
        breaker.probe(2, nowMs: 1_000)
        breaker.take(.silent, of: 2, nowMs: 1_000, random: 0)
        #expect(breaker.permission(nowMs: 1_000) == .none(untilMs: 2_000))
    }

    @Test func `wrong credentials open it at once, and only a probe closes it again`() {
        var breaker = Breaker()
        let refused = Breaker.Verdict.closed(.misconfigured, hintMs: 0)
        breaker.take(refused, of: 1, nowMs: 0, random: 0)
        #expect(breaker.permission(nowMs: 0) == .none(untilMs: 30_000))
        // This delivery was sent before the key was revoked.
        breaker.take(.up, of: 2, nowMs: 0, random: 0)
        #expect(breaker.cause == .misconfigured)
        let waited = waits(&breaker, 7, refused)
        #expect(waited == [30_000, 60_000, 120_000, 240_000, 480_000, 900_000, 900_000])
        breaker.tryNow()
        #expect(breaker.permission(nowMs: 1) == .probe)
        breaker.probe(9, nowMs: 1_000)
        breaker.take(.up, of: 9, nowMs: 1, random: 0)
        #expect(!breaker.isOpen)
    }

    @Test func `a probe sent before new credentials came says nothing of them`() {
        var breaker = Breaker()
        let refused = Breaker.Verdict.closed(.misconfigured, hintMs: 0)
        breaker.take(refused, of: 1, nowMs: 0, random: 0)
        breaker.probe(2, nowMs: 30_000)
        breaker.tryNow()
        breaker.take(refused, of: 2, nowMs: 30_010, random: 0)
        #expect(breaker.permission(nowMs: 30_010) == .probe)
        // The next one was sent with them.
        breaker.probe(3, nowMs: 30_020)
        breaker.take(refused, of: 3, nowMs: 30_030, random: 0)
        #expect(breaker.permission(nowMs: 30_030) == .none(untilMs: 90_030))
        // What it learns of another cause counts.
        breaker.probe(4, nowMs: 100_000)
        breaker.tryNow()
        breaker.take(.closed(.throttled, hintMs: 5_000), of: 4, nowMs: 100_010, random: 0)
        #expect(breaker.cause == .throttled)
        #expect(breaker.permission(nowMs: 100_010) == .none(untilMs: 105_010))
    }

    @Test func `a used-up quota waits as long as the provider says, and a little more`() {
        var breaker = Breaker()
        breaker.take(.closed(.throttled, hintMs: 60_000), of: 1, nowMs: 0, random: 0.5)
        #expect(breaker.permission(nowMs: 0) == .none(untilMs: 66_000))
    }

    @Test(arguments: [
        (Outcome.Kind.delivered, UInt32(200), "ok", Breaker.Verdict.up),
        (.rejected, 400, "x", .up), (.unregistered, 410, "x", .up),
        (.throttled, 429, "x", .silent), (.retry, 503, "x", down),
        (.retry, 0, "unreachable", .failure(weight: 4, hintMs: 0)), (.retry, 0, "timeout", down),
        (.retry, 0, "reset", down), (.retry, 0, "stopping", .silent),
        (.retry, 0, "withdrawn", .silent), (.retry, 0, "plugin_forgot", .silent),
        (.auth, 401, "x", .silent), (.config, 403, "x", .silent),
        (.rejected, 0, "malformed_token", .silent),
    ])
    func `outcomes say whether a provider is down`(
        kind: Outcome.Kind, code: UInt32, reason: String, verdict: Breaker.Verdict
    ) {
        var outcome = Outcome(item: 1, kind: kind, reason: reason)
        outcome.providerCode = code
        #expect(Breaker.verdict(outcome, isFirst: true) == verdict)
    }

    @Test func `a credential that is refused again, after it was renewed, is the sender's trouble`()
    {
        let outcome = Outcome(item: 1, kind: .auth, reason: "UNAUTHENTICATED")
        #expect(
            Breaker.verdict(outcome, isFirst: false) == .closed(.misconfigured, hintMs: 0))
    }

    @Test func `a delivery that is reset again says nothing about the provider`() {
        let outcome = Outcome(item: 1, kind: .retry, reason: "reset")
        #expect(Breaker.verdict(outcome, isFirst: false) == .silent)
    }

    @Test func `a scope says that it holds for all`() {
        var outcome = Outcome(item: 1, kind: .config, reason: "InvalidProviderToken")
        outcome.scope = .instance
        #expect(
            Breaker.verdict(outcome, isFirst: true) == .closed(.misconfigured, hintMs: 0))
        outcome.kind = .throttled
        outcome.retryAfterMs = 5
        #expect(Breaker.verdict(outcome, isFirst: true) == .closed(.throttled, hintMs: 5))
    }
}

@Suite struct LaneHealthTests {
    func outcome(_ id: UInt64, _ kind: Outcome.Kind, _ code: UInt32) -> Outcome {
        var outcome = Outcome(item: id, kind: kind, reason: "r")
        outcome.providerCode = code
        return outcome
    }

    @Test func `a lane starts slowly and doubles with every round of good answers`() {
        var health = LaneHealth(inFlightMax: 1_000, startsSlowly: true)
        var rounds: [Int] = []
        while rounds.last != 1_000 {
            let room = health.room(inFlight: 0)
            rounds.append(room)
            for id in 0..<UInt64(room) {
                health.take(outcome(id, .delivered, 200), isFirst: true, nowMs: 0, random: 0)
            }
        }
        #expect(rounds == [32, 64, 128, 256, 512, 1_000])
        #expect(health.room(inFlight: 999) == 1)
        #expect(health.room(inFlight: 2_000) == 0)
    }

    @Test func `it starts slowly again when the provider is back`() {
        var health = LaneHealth(inFlightMax: 1_000, startsSlowly: false)
        #expect(health.room(inFlight: 0) == 1_000)
        for id in 0..<UInt64(Breaker.failuresMax) {
            health.take(outcome(id, .retry, 503), isFirst: true, nowMs: 0, random: 0)
        }
        #expect(health.breaker.cause == .down)
        health.probe(1, nowMs: 0)
        health.take(outcome(1, .delivered, 200), isFirst: true, nowMs: 0, random: 0)
        #expect(!health.breaker.isOpen)
        #expect(health.room(inFlight: 0) == LaneHealth.inFlightAfterOutage)
    }
}
