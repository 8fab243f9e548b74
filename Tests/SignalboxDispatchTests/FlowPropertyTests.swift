import SignalboxCore
import SignalboxDispatch
import Testing

/// Random checks of DeliveryDecision and breaker, in virtual time.
///
/// Every failure reports the seed.
@Suite struct FlowPropertyTests {
    static let seeds: [UInt64] = (0..<20).map { _ in UInt64.random(in: 0 ... .max) }

    @Test(arguments: seeds)
    func `nothing outlives its deadline, and what must not be retried never is`(seed: UInt64) {
        var random = SplitMix(state: seed)
        let kinds: [Outcome.Kind] = [
            .delivered, .retry, .throttled, .unregistered, .auth, .config, .rejected,
        ]
        for _ in 0..<2_000 {
            let now = 1_000_000 + random.next() % 1_000_000
            var delivery = delivery(1, attempt: UInt32(random.next() % 8) + 1)
            delivery.deadlineUnixMs = random.next() % 4 == 0 ? 0 : now + random.next() % 40_000
            let kind = kinds[Int(random.next() % 7)]
            var outcome = Outcome(item: 1, kind: kind, reason: "r")
            outcome.retryAfterMs = random.next() % 3 == 0 ? random.next() % 60_000 : 0
            let settlement = DeliveryDecision.decide(
                outcome, delivery: delivery, policy: .standard, nowUnixMs: now, random: 0)
            switch settlement {
            case .delivered: #expect(kind == .delivered, "seed \(seed)")
            case .released: Issue.record("seed \(seed)")
            case .retry(let at, true):
                // Whose credential is refused waits, at most until its time is over.
                #expect(kind == .auth, "seed \(seed)")
                #expect(
                    delivery.deadlineUnixMs == 0 || at <= delivery.deadlineUnixMs, "seed \(seed)")
            case .retry(let at, let isFree):
                #expect([.retry, .throttled].contains(kind) && !isFree, "seed \(seed)")
                let half =
                    delivery.deadlineUnixMs == 0 ? .max : (delivery.deadlineUnixMs - now) / 2
                #expect(at >= now + min(outcome.retryAfterMs, half), "seed \(seed)")
                #expect(
                    delivery.deadlineUnixMs == 0 || at < delivery.deadlineUnixMs, "seed \(seed)")
                #expect(delivery.attempt <= RetryPolicy.standard.retries, "seed \(seed)")
            case .failed: #expect(kind != .delivered, "seed \(seed)")
            }
        }
    }

    @Test(arguments: seeds)
    func `a breaker lets one probe out at a time and always closes again`(seed: UInt64) {
        var random = SplitMix(state: seed)
        var breaker = Breaker()
        var now: UInt64 = 0
        var probe: UInt64?
        let down = Breaker.Verdict.failure(weight: 1, hintMs: 0)
        for _ in 0..<5_000 {
            now += random.next() % 3_000
            switch breaker.permission(nowMs: now) {
            case .all:
                #expect(!breaker.isOpen, "seed \(seed)")
                probe = nil
                breaker.take(
                    random.next() % 3 == 0 ? .up : down, of: 1, nowMs: now, random: 0.5)
            case .probe:
                #expect(probe == nil, "seed \(seed)")
                probe = random.next()
                breaker.probe(probe ?? 0, nowMs: now)
            case .none(let until):
                #expect(breaker.isOpen, "seed \(seed)")
                #expect(until <= now + Breaker.probeMsMax, "seed \(seed)")
                // A late answer to an earlier request, or the probe's own.
                switch (random.next() % 5, probe) {
                case (0, let id?):
                    breaker.take(.up, of: id, nowMs: now, random: 0)
                    probe = nil
                    #expect(breaker.permission(nowMs: now) == .all, "seed \(seed)")
                case (1, let id?):
                    breaker.take(down, of: id, nowMs: now, random: 1)
                    probe = nil
                case (2, .some):
                    breaker.probeReturned()
                    probe = nil
                case (3, _):
                    let before = breaker
                    breaker.take(down, of: 0, nowMs: now, random: 0)
                    #expect(breaker == before, "seed \(seed)")
                default: break
                }
            }
        }
    }
}
