import SignalboxCore
import Testing

func delivery(_ id: UInt64, attempt: UInt32 = 1, deadline: UInt64 = 0) -> Delivery {
    Delivery(
        id: id, eventID: 1, route: "r", sender: "s", stableID: "u", attempt: attempt,
        deadlineUnixMs: deadline, content: SharedNotification(Notification()),
        device: Device(token: "t"))
}

@Suite struct WithdrawalTests {
    func delivery(
        _ id: UInt64, _ token: String = "t", key: String = "k", isWithdrawn: Bool = false
    ) -> Delivery {
        var note = Notification()
        note.collapse = key
        note.isWithdrawn = isWithdrawn
        return Delivery(
            id: id, eventID: 1, route: "r", sender: "s", stableID: "u", deadlineUnixMs: 0,
            content: SharedNotification(note), device: Device(token: token))
    }

    @Test func `an older push of the same key and device is not sent any more`() {
        var withdrawals = Withdrawals()
        var first = [delivery(1)]
        #expect(withdrawals.takeCovered(from: &first).isEmpty && first.count == 1)
        // In one batch with its message, whatever the order.
        var batch = [
            delivery(5, isWithdrawn: true), delivery(4), delivery(3, "other"),
            delivery(2, key: "else"), delivery(6), delivery(7, key: ""),
        ]
        #expect(withdrawals.takeCovered(from: &batch).map(\.id) == [4])
        #expect(batch.map(\.id) == [5, 3, 2, 6, 7])
        // Tried again later.
        var retried = [delivery(1)]
        #expect(withdrawals.takeCovered(from: &retried).map(\.id) == [1])
    }

    @Test func `what is remembered has a bound`() {
        var withdrawals = Withdrawals(countMax: 10)
        for id in UInt64(100)..<200 {
            var batch = [delivery(id, key: "k\(id)", isWithdrawn: true)]
            #expect(withdrawals.takeCovered(from: &batch).isEmpty)
        }
        var recent = (UInt64(190)..<200).map { delivery(1, key: "k\($0)") }
        #expect(withdrawals.takeCovered(from: &recent).count == 10)
        var old = [delivery(1, key: "k100")]
        #expect(withdrawals.takeCovered(from: &old).isEmpty)
    }
}

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
        policy.jitter = 0.5
        #expect(policy.waitMs(afterAttempt: 1, hintMs: 0, random: 0.5) == 1_250)
        policy.maxMs = 3_000
        policy.jitter = 0
        #expect(policy.waitMs(afterAttempt: 5, hintMs: 0, random: 0) == 3_000)
    }

    @Test(arguments: [
        (Outcome.Kind.delivered, UInt32(1), Settlement.delivered),
        (.retry, 1, .retry(atUnixMs: 6_000, isFree: false)),
        (.throttled, 2, .retry(atUnixMs: 7_000, isFree: false)),
        (.auth, 1, .retry(atUnixMs: 6_000, isFree: false)),
        (.retry, 6, .failed(reason: "retries_exhausted")),
        (.rejected, 1, .failed(reason: "why")), (.unregistered, 1, .failed(reason: "why")),
        (.config, 1, .failed(reason: "why")), (.retry, 3, .failed(reason: "expired")),
    ])
    func `outcomes are settled`(kind: Outcome.Kind, attempt: UInt32, wanted: Settlement) {
        let settlement = Settlement.decide(
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
            let settlement = Settlement.decide(
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
        // What counts still counts, from where it stood.
        one.deadlineUnixMs = 0
        let counted = Settlement.decide(
            Outcome(item: 1, kind: .retry, reason: "timeout"), delivery: one, policy: .standard,
            nowUnixMs: 0, random: 0)
        #expect(counted == .retry(atUnixMs: 1_000, isFree: false))
    }

    @Test func `a fault of the whole sender uses up no attempt, one of the delivery does`() {
        for kind in [Outcome.Kind.config, .throttled] {
            var outcome = Outcome(item: 1, kind: kind, reason: "why")
            outcome.scope = .app
            let held = Settlement.decide(
                outcome, delivery: delivery(1, attempt: 90), policy: .standard, nowUnixMs: 0,
                random: 0)
            guard case .retry(_, true) = held else {
                Issue.record("\(kind): \(held)")
                continue
            }
        }
        let reset = Settlement.decide(
            Outcome(item: 1, kind: .retry, reason: "reset"), delivery: delivery(1, attempt: 6),
            policy: .standard, nowUnixMs: 0, random: 0)
        #expect(reset == .failed(reason: "reset"))
        let withdrawn = Settlement.decide(
            Outcome(item: 1, kind: .retry, reason: "withdrawn"),
            delivery: delivery(1, attempt: 6), policy: .standard, nowUnixMs: 0, random: 0)
        #expect(withdrawn == .released)
    }

    @Test func `hints are spread, so that what was refused together comes back apart`() {
        let waits = [0, 0.5, 0.99].map {
            RetryPolicy.standard.waitMs(afterAttempt: 1, hintMs: 60_000, random: $0)
        }
        #expect(waits == [60_000, 63_000, 65_940])
    }

    @Test func `a fate that is unknown is not pushed twice where that is forbidden`() {
        #expect(Settlement.outcome(of: .timeout, item: 1, isAtMostOnce: true).kind == .rejected)
        #expect(Settlement.outcome(of: .timeout, item: 1, isAtMostOnce: false).kind == .retry)
        #expect(Settlement.outcome(of: .reset, item: 1, isAtMostOnce: true).kind == .rejected)
        #expect(Settlement.outcome(of: .unreachable, item: 1, isAtMostOnce: true).kind == .retry)
    }
}

@Suite struct LaneWindowTests {
    func high(_ id: UInt64) -> Delivery {
        var note = Notification()
        note.priority = .high
        var made = delivery(id)
        made.content = SharedNotification(note)
        return made
    }

    func expect(
        _ window: inout LaneWindow, _ count: Int, _ wanted: [UInt64],
        at place: SourceLocation = #_sourceLocation
    ) {
        let taken = window.next(max: count, nowUnixMs: 0).batch.map(\.id)
        #expect(taken == wanted, sourceLocation: place)
    }

    @Test func `takes in order, high priority first`() {
        var window = LaneWindow(countMax: 100)
        window.arrive([delivery(1), delivery(2), high(3)])
        expect(&window, 2, [3, 1])
        window.arrive([high(4)])
        expect(&window, 9, [4, 2])
        let (first, second) = (window.settle(2), window.settle(2))
        #expect(first?.id == 2)
        #expect(second == nil)
        #expect(window.count == 3 && window.inFlightCount == 3)
    }

    @Test func `what is given back comes first, unchanged`() {
        var window = LaneWindow(countMax: 100)
        window.arrive((1...3).map { delivery($0) })
        let batch = window.next(max: 2, nowUnixMs: 0).batch
        window.giveBack(batch)
        expect(&window, 9, [1, 2, 3])
    }

    @Test func `a delivery that is there is not taken in twice`() {
        var window = LaneWindow(countMax: 100)
        window.arrive([delivery(1), delivery(2)])
        _ = window.next(max: 1, nowUnixMs: 0)
        let new = window.arrive([delivery(1), delivery(2), delivery(3)])
        #expect(new == 1)
        #expect(window.count == 3)
        // Settled, but the store does not know yet.
        _ = window.settle(1)
        let early = window.arrive([delivery(1)])
        #expect(early == 0)
        window.committed([1])
        let late = window.arrive([delivery(1)])
        #expect(late == 1)
    }

    @Test func `what is ready can be given back to the store, and is not taken in before that`() {
        var window = LaneWindow(countMax: 100)
        window.arrive([delivery(1), delivery(2), high(3)])
        _ = window.next(max: 1, nowUnixMs: 0)
        #expect(window.takeReady() == [1, 2])
        #expect(window.count == 1 && window.readyCount == 0)
        let early = window.arrive([delivery(1)])
        #expect(early == 0)
        window.committed([1, 2])
        let late = window.arrive([delivery(1), delivery(2)])
        #expect(late == 2)
        expect(&window, 9, [1, 2])
    }

    @Test func `a delivery that is settled while it is ready is not sent`() {
        var window = LaneWindow(countMax: 100)
        window.arrive([delivery(1), delivery(2), delivery(3)])
        let settled = [2, 2, 9].map { window.withdraw($0) }
        #expect(settled == [true, false, false])
        #expect(window.count == 2)
        expect(&window, 9, [1, 3])
        let isSent = !window.withdraw(1)
        #expect(isSent)
        #expect(window.readyCount == 0 && window.inFlightCount == 2)
    }

    @Test func `room is kept while deliveries are committed, the last of it for high priority`() {
        var window = LaneWindow(countMax: 16)
        let normal = window.reserve((1...20).map { delivery($0) })
        #expect(normal.count == 14)
        #expect(window.reserve([high(30), high(31), high(32)]).count == 2)
        #expect(window.room == 0)
        window.release(reserved: 16)
        #expect(window.room == 16)
    }

    @Test func `what is past its deadline is handed out as expired`() {
        var window = LaneWindow(countMax: 100)
        window.arrive([delivery(1, deadline: 100), delivery(2)])
        let taken = window.next(max: 9, nowUnixMs: 100)
        #expect(taken.expired.map(\.id) == [1])
        #expect(taken.batch.map(\.id) == [2])
        #expect(window.count == 1)
    }

    @Test(arguments: [UInt64(1), 7, 1234])
    func `nothing is lost and nothing doubled, whatever happens`(seed: UInt64) {
        var random = SplitMix(state: seed)
        var window = LaneWindow(countMax: 64)
        var waiting = (UInt64(1)...3_000).map { $0 % 3 == 0 ? high($0) : delivery($0) }[...]
        var out: Set<UInt64> = []
        var taken: [Delivery] = []
        while out.count < 3_000 {
            let part = waiting.prefix(min(window.room, Int(random.next() % 9)))
            waiting = waiting.dropFirst(part.count)
            window.arrive(part)
            #expect(window.count <= 64)
            taken += window.next(max: Int(random.next() % 5) + 1, nowUnixMs: 0).batch
            guard let pick = taken.indices.randomElement(using: &random) else { continue }
            let one = taken.remove(at: pick)
            if random.next() % 3 == 0 {
                window.giveBack([one])
            } else if let settled = window.settle(one.id) {
                #expect(out.insert(settled.id).inserted, "seed \(seed)")
            }
        }
        #expect(window.count == 0)
    }
}

@Suite struct BreakerTests {
    static let down = Breaker.Verdict.failure(weight: 1, hintMs: 0)

    func opened(_ verdict: Breaker.Verdict = down) -> Breaker {
        var breaker = Breaker()
        for _ in 0..<Breaker.failuresMax {
            breaker.take(verdict, of: 1, nowUnixMs: 0, random: 0)
        }
        return breaker
    }

    /// How long it waits before each of its probes, all of which end with the same verdict.
    func waits(_ breaker: inout Breaker, _ count: Int, _ verdict: Breaker.Verdict) -> [UInt64] {
        var now: UInt64 = 0
        var waits: [UInt64] = []
        for id in 0..<UInt64(count) {
            guard case .none(let until) = breaker.permission(nowUnixMs: now) else { break }
            waits.append(until - now)
            now = until
            #expect(breaker.permission(nowUnixMs: now) == .probe)
            breaker.probe(id)
            #expect(breaker.permission(nowUnixMs: now) == .none(untilUnixMs: .max))
            breaker.take(verdict, of: id, nowUnixMs: now, random: 0)
        }
        return waits
    }

    @Test func `opens after failures in a row, probes, and waits longer each time`() {
        var breaker = Breaker()
        for _ in 1..<Breaker.failuresMax {
            breaker.take(Self.down, of: 1, nowUnixMs: 0, random: 0)
        }
        #expect(breaker.permission(nowUnixMs: 0) == .all)
        breaker = opened()
        #expect(breaker.cause == .down)
        let waited = waits(&breaker, 8, Self.down)
        #expect(waited == [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000])
        breaker.take(.up, of: 99, nowUnixMs: 0, random: 0)
        #expect(breaker.permission(nowUnixMs: 0) == .all)
    }

    @Test func `three deliveries that cannot be sent open it`() {
        var breaker = Breaker()
        let verdict = Breaker.verdict(
            Outcome(item: 1, kind: .retry, reason: "unreachable"), isFirst: true)
        for _ in 0..<2 { breaker.take(verdict, of: 1, nowUnixMs: 0, random: 0) }
        #expect(!breaker.isOpen)
        breaker.take(verdict, of: 1, nowUnixMs: 0, random: 0)
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
                breaker.take(Self.down, of: 1, nowUnixMs: 0, random: 0)
            }
            breaker.take(.up, of: 1, nowUnixMs: 0, random: 0)
        }
        #expect(!breaker.isOpen)
    }

    @Test func `outcomes of earlier requests do not lengthen the wait`() {
        var breaker = opened()
        for id in 0..<UInt64(500) { breaker.take(Self.down, of: id, nowUnixMs: 0, random: 0) }
        #expect(breaker.permission(nowUnixMs: 0) == .none(untilUnixMs: 1_000))
        // Also while one tries.
        breaker.probe(7)
        breaker.take(Self.down, of: 8, nowUnixMs: 1_000, random: 0)
        #expect(breaker.permission(nowUnixMs: 1_000) == .none(untilUnixMs: .max))
    }

    @Test func `a probe that was not sent may be tried again, one that says nothing waits`() {
        var breaker = opened()
        breaker.probe(1)
        breaker.probeReturned()
        #expect(breaker.permission(nowUnixMs: 1_000) == .probe)
        breaker.probe(2)
        breaker.take(.silent, of: 2, nowUnixMs: 1_000, random: 0)
        #expect(breaker.permission(nowUnixMs: 1_000) == .none(untilUnixMs: 2_000))
    }

    @Test func `wrong credentials open it at once, and only a probe closes it again`() {
        var breaker = Breaker()
        let refused = Breaker.Verdict.closed(.misconfigured, hintMs: 0)
        breaker.take(refused, of: 1, nowUnixMs: 0, random: 0)
        #expect(breaker.permission(nowUnixMs: 0) == .none(untilUnixMs: 30_000))
        // It was sent before the key was revoked.
        breaker.take(.up, of: 2, nowUnixMs: 0, random: 0)
        #expect(breaker.cause == .misconfigured)
        let waited = waits(&breaker, 7, refused)
        #expect(waited == [30_000, 60_000, 120_000, 240_000, 480_000, 900_000, 900_000])
        breaker.tryNow()
        #expect(breaker.permission(nowUnixMs: 1) == .probe)
        breaker.probe(9)
        breaker.take(.up, of: 9, nowUnixMs: 1, random: 0)
        #expect(!breaker.isOpen)
    }

    @Test func `a used-up quota waits as long as the provider says, and a little more`() {
        var breaker = Breaker()
        breaker.take(.closed(.throttled, hintMs: 60_000), of: 1, nowUnixMs: 0, random: 0.5)
        #expect(breaker.permission(nowUnixMs: 0) == .none(untilUnixMs: 66_000))
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
                health.take(outcome(id, .delivered, 200), isFirst: true, nowUnixMs: 0, random: 0)
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
            health.take(outcome(id, .retry, 503), isFirst: true, nowUnixMs: 0, random: 0)
        }
        #expect(health.breaker.cause == .down)
        health.probe(1)
        health.take(outcome(1, .delivered, 200), isFirst: true, nowUnixMs: 0, random: 0)
        #expect(!health.breaker.isOpen)
        #expect(health.room(inFlight: 0) == LaneHealth.inFlightAfterOutage)
    }
}

struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = (state ^ (state >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
}

@Suite struct SmallPartsTests {
    @Test func `stable ids are lower-case UUIDs and never repeat`() throws {
        var ids = StableIDs(seed: (3, 4))
        let made = (0..<10_000).map { _ in ids.next() }
        #expect(Set(made).count == 10_000)
        let shape = try Regex(
            "^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")
        #expect(made.allSatisfy { $0.wholeMatch(of: shape) != nil })
    }

    @Test func `runs of ids are the sequence itself, whoever uses them first`() {
        let start = DeliveryIDs(last: 7, stableIDs: StableIDs(seed: (3, 4)))
        var whole = start
        let all = (0..<6).map { _ in whole.next() }
        var shared = start
        var (two, four) = (shared.take(2), shared.take(4))
        let late = (0..<4).map { _ in four.next() }
        let early = (0..<2).map { _ in two.next() }
        #expect((early + late).map(\.id) == all.map(\.id) && all[0].id == 8)
        #expect((early + late).map(\.stableID) == all.map(\.stableID))
        #expect(shared.next() == whole.next())
    }

    @Test func `JSON is merged member by member`() {
        let base = JSONValue.object([
            .init("a", .integer(1)), .init("b", .object([.init("x", .string("1"))])),
        ])
        let patch = JSONValue.object([
            .init("a", .null), .init("b", .object([.init("y", .bool(true))])),
            .init("c", .array([.null])),
        ])
        #expect(base.merging(patch).text == #"{"b":{"x":"1","y":true},"c":[null]}"#)
        #expect(JSONValue.string("a\"\\\n\u{1}é").text == #""a\"\\\n\u0001é""#)
    }

    @Test(arguments: [
        ("apn", "apns"), ("titel", "title"), ("zendsk", "zendesk"), ("routs", "routes"),
        ("qqq", nil), ("", nil),
    ])
    func `misspelt names are recognised`(name: String, wanted: String?) {
        let known = ["apns", "fcm", "zendesk", "title", "routes"]
        #expect(Suggestion.nearest(to: name, among: known) == wanted)
    }
}
