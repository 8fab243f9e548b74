import SignalboxCore
import SignalboxDispatch
import Testing

@Suite struct RetryTests {
    @Test func `standard waits 1, 2, 4, 8, 16 s and then gives up`() {
        let waits = (1...6).map {
            RetryPolicy.standard.waitMs(afterAttempt: $0, hintMs: 0, random: 0.5)
        }
        #expect(waits == [1_000, 2_000, 4_000, 8_000, 16_000, nil])
    }

    @Test func `a hint can only lengthen and jitter only adds`() {
        var policy = RetryPolicy.standard
        #expect(policy.waitMs(afterAttempt: 1, hintMs: 60_000, random: 0) == 60_000)
        #expect(policy.waitMs(afterAttempt: 3, hintMs: 10, random: 0) == 4_000)
        // A provider that asks for years may be well a second later, and no number is too large.
        for hint in [315_360_000_000, 18_446_742_000_000_000_000, UInt64.max] {
            #expect(policy.waitMs(afterAttempt: 1, hintMs: hint, random: 0.5) == 945_000)
        }
        policy.jitter = 0.5
        #expect(policy.waitMs(afterAttempt: 1, hintMs: 0, random: 0.5) == 1_250)
        policy.maxMs = 3_000
        policy.jitter = 0
        #expect(policy.waitMs(afterAttempt: 5, hintMs: 0, random: 0) == 3_000)
    }

    @Test(arguments: [
        (Outcome.Kind.delivered, UInt32(1), DeliveryDecision.delivered),
        (.retry, 1, .retry(atUnixMs: 6_000, isFree: false)),
        (.throttled, 2, .retry(atUnixMs: 7_000, isFree: false)),
        (.auth, 1, .retry(atUnixMs: 6_000, isFree: true)),
        (.retry, 6, .failed(reason: "retries_exhausted")),
        (.rejected, 1, .failed(reason: "why")), (.unregistered, 1, .failed(reason: "why")),
        (.config, 1, .failed(reason: "why")), (.retry, 3, .failed(reason: "expired")),
    ])
    func `outcomes are settled`(kind: Outcome.Kind, attempt: UInt32, wanted: DeliveryDecision) {
        let settlement = DeliveryDecision.decide(
            Outcome(item: 1, kind: kind, reason: "why"),
            delivery: delivery(1, attempt: attempt, deadline: 8_000), policy: .standard,
            nowUnixMs: 5_000, random: 0)
        #expect(settlement == wanted)
    }

    @Test(arguments: [
        ("unreachable", UInt32(0)), ("timeout_unsent", 0), ("stopping", 0), ("server_error", 503),
    ])
    func `what was never sent, and 5xx, uses up no attempt and ends at the expiry`(
        reason: String, code: UInt32
    ) {
        var outcome = Outcome(item: 1, kind: .retry, reason: reason)
        outcome.providerCode = code
        var one = delivery(1, deadline: 86_400_000)
        var now: UInt64 = 0
        var waits: [UInt64] = []
        while true {
            let settlement = DeliveryDecision.decide(
                outcome, delivery: one, policy: .standard, nowUnixMs: now, random: 0)
            guard case .retry(let at, let isFree) = settlement else {
                #expect(settlement == .failed(reason: "expired"))
                break
            }
            #expect(isFree)
            waits.append(at - now)
            now = at
            one.attempt += 1
            one.freeAttempts += 1
        }
        #expect(now == 86_400_000)
        #expect(Array(waits.prefix(4)) == [1_000, 2_000, 4_000, 8_000])
        #expect(waits.max() == 300_000)
        // Attempts that count continue from where they were.
        one.deadlineUnixMs = 0
        let counted = DeliveryDecision.decide(
            Outcome(item: 1, kind: .retry, reason: "timeout"), delivery: one, policy: .standard,
            nowUnixMs: 0, random: 0)
        #expect(counted == .retry(atUnixMs: 1_000, isFree: false))
    }

    @Test func `a fault of the whole sender uses up no attempt, one of the delivery does`() {
        for kind in [Outcome.Kind.config, .throttled] {
            var outcome = Outcome(item: 1, kind: kind, reason: "why")
            outcome.scope = .app
            let held = DeliveryDecision.decide(
                outcome, delivery: delivery(1, attempt: 90), policy: .standard, nowUnixMs: 0,
                random: 0)
            guard case .retry(_, true) = held else {
                Issue.record("\(kind): \(held)")
                continue
            }
        }
        let reset = DeliveryDecision.decide(
            Outcome(item: 1, kind: .retry, reason: "reset"), delivery: delivery(1, attempt: 6),
            policy: .standard, nowUnixMs: 0, random: 0)
        #expect(reset == .failed(reason: "reset"))
        let withdrawn = DeliveryDecision.decide(
            Outcome(item: 1, kind: .retry, reason: "withdrawn"),
            delivery: delivery(1, attempt: 6), policy: .standard, nowUnixMs: 0, random: 0)
        #expect(withdrawn == .released)
    }

    @Test(arguments: [(Outcome.Kind.throttled, UInt32(429)), (.retry, 503)])
    func `a provider that asks for longer than the push lives is asked again before that`(
        kind: Outcome.Kind, code: UInt32
    ) {
        var outcome = Outcome(item: 1, kind: kind, reason: "later")
        outcome.providerCode = code
        outcome.retryAfterMs = .max
        let delivery = delivery(1, deadline: 601_000)
        let decision = DeliveryDecision.decide(
            outcome, delivery: delivery, policy: .standard, nowUnixMs: 1_000, random: 0)
        #expect(decision == .retry(atUnixMs: 301_000, isFree: kind == .retry))
    }

    @Test func `hints are spread, so that what was refused together comes back apart`() {
        let waits = [0, 0.5, 0.99].map {
            RetryPolicy.standard.waitMs(afterAttempt: 1, hintMs: 60_000, random: $0)
        }
        #expect(waits == [60_000, 63_000, 65_940])
    }

    @Test func `a fate that is unknown is not pushed twice where that is forbidden`() {
        #expect(
            DeliveryDecision.outcome(of: .timeout, item: 1, isAtMostOnce: true).kind == .rejected)
        #expect(DeliveryDecision.outcome(of: .timeout, item: 1, isAtMostOnce: false).kind == .retry)
        #expect(DeliveryDecision.outcome(of: .reset, item: 1, isAtMostOnce: true).kind == .rejected)
        #expect(
            DeliveryDecision.outcome(of: .unreachable, item: 1, isAtMostOnce: true).kind == .retry)
    }
}
