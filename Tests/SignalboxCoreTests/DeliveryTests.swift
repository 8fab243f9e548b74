import SignalboxCore
import Testing

func delivery(_ id: UInt64, attempt: UInt32 = 1, deadline: UInt64 = 0) -> Delivery {
    Delivery(
        id: id, eventID: 1, route: "r", sender: "s", stableID: "u", attempt: attempt,
        deadlineUnixMs: deadline, content: SharedNotification(Notification()),
        device: Device(token: "t"))
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
        (.retry, 1, .retry(atUnixMs: 6_000)), (.throttled, 2, .retry(atUnixMs: 7_000)),
        (.auth, 1, .retry(atUnixMs: 6_000)), (.retry, 6, .failed(reason: "retries_exhausted")),
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

    @Test func `a fate that is unknown is not pushed twice where that is forbidden`() {
        #expect(Settlement.outcome(of: .timeout, item: 1, isAtMostOnce: true).kind == .rejected)
        #expect(Settlement.outcome(of: .timeout, item: 1, isAtMostOnce: false).kind == .retry)
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
    @Test func `opens after failures in a row, probes, and waits longer each time`() {
        var breaker = Breaker()
        for _ in 1..<Breaker.failuresMax { breaker.fail(nowUnixMs: 0) }
        #expect(breaker.permission(nowUnixMs: 0) == .all)
        breaker.fail(nowUnixMs: 0)
        var now: UInt64 = 0
        var waits: [UInt64] = []
        for _ in 0..<8 {
            guard case .none(let until) = breaker.permission(nowUnixMs: now) else { break }
            waits.append(until - now)
            now = until
            #expect(breaker.permission(nowUnixMs: now) == .probe)
            breaker.probe()
            #expect(breaker.permission(nowUnixMs: now) == .none(untilUnixMs: .max))
            breaker.fail(nowUnixMs: now)
        }
        #expect(waits == [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000])
        now += 30_000
        breaker.probe()
        breaker.succeed()
        #expect(breaker.permission(nowUnixMs: now) == .all)
    }

    @Test func `a success in between starts the count anew`() {
        var breaker = Breaker()
        for _ in 0..<100 {
            for _ in 1..<Breaker.failuresMax { breaker.fail(nowUnixMs: 0) }
            breaker.succeed()
        }
        #expect(!breaker.isOpen)
    }

    @Test func `late failures of before do not lengthen the wait`() {
        var breaker = Breaker()
        for _ in 0..<500 { breaker.fail(nowUnixMs: 0) }
        #expect(breaker.permission(nowUnixMs: 0) == .none(untilUnixMs: 1_000))
    }

    @Test func `a probe that was not sent may be tried again`() {
        var breaker = Breaker()
        for _ in 0..<Breaker.failuresMax { breaker.fail(nowUnixMs: 0) }
        breaker.probe()
        breaker.probeReturned()
        #expect(breaker.permission(nowUnixMs: 1_000) == .probe)
    }

    @Test(arguments: [
        (Outcome.Kind.delivered, UInt32(200), "ok", Bool?.some(false)),
        (.rejected, 400, "x", false),
        (.unregistered, 410, "x", false), (.throttled, 429, "x", false), (.retry, 503, "x", true),
        (.retry, 0, "unreachable", true), (.retry, 0, "timeout", true),
        (.retry, 0, "stopping", nil),
        (.retry, 0, "plugin_forgot", nil), (.auth, 401, "x", nil), (.config, 403, "x", nil),
        (.rejected, 0, "malformed_token", nil),
    ])
    func `outcomes say whether a provider is down`(
        kind: Outcome.Kind, code: UInt32, reason: String, verdict: Bool?
    ) {
        var outcome = Outcome(item: 1, kind: kind, reason: reason)
        outcome.providerCode = code
        #expect(Breaker.verdict(outcome) == verdict)
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
