import SignalboxCore
import Testing

func delivery(_ id: UInt64, attempt: UInt32 = 1, deadline: UInt64 = 0) -> Delivery {
    Delivery(
        id: id, eventID: 1, route: 0, sender: "s", stableID: "u", attempt: attempt,
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

@Suite struct SenderQueueTests {
    func expect(
        _ queue: inout SenderQueue, _ count: Int, _ now: UInt64, _ wanted: [UInt64],
        at place: SourceLocation = #_sourceLocation
    ) {
        let leased = queue.lease(max: count, nowUnixMs: now).batch.map(\.id)
        #expect(leased == wanted, sourceLocation: place)
    }

    @Test func `lends in order, no more than the window`() {
        var queue = SenderQueue(inFlightMax: 3)
        queue.append((1...5).map { delivery($0) })
        expect(&queue, 2, 0, [1, 2])
        expect(&queue, 9, 0, [3])
        expect(&queue, 9, 0, [])
        let (first, second) = (queue.settle(2), queue.settle(2))
        #expect(first?.id == 2)
        #expect(second == nil)
        expect(&queue, 9, 0, [4])
        #expect(queue.count == 4)
    }

    @Test func `what is given back comes first, unchanged`() {
        var queue = SenderQueue(inFlightMax: 10)
        queue.append((1...3).map { delivery($0) })
        let batch = queue.lease(max: 2, nowUnixMs: 0).batch
        queue.giveBack(batch)
        expect(&queue, 9, 0, [1, 2, 3])
        #expect(queue.inFlightCount == 3)
    }

    @Test func `a retry waits for its time and counts its attempt`() throws {
        var queue = SenderQueue(inFlightMax: 10)
        queue.append([delivery(1), delivery(2)])
        for leased in queue.lease(max: 9, nowUnixMs: 0).batch {
            let known = queue.settle(leased.id)
            let settled = try #require(known)
            queue.retry(settled, atUnixMs: leased.id == 1 ? 500 : 200)
        }
        #expect(queue.nextWakeUnixMs == 200)
        expect(&queue, 9, 199, [])
        expect(&queue, 9, 300, [2])
        let late = queue.lease(max: 9, nowUnixMs: 500).batch
        #expect(late.map(\.id) == [1])
        #expect(late.map(\.attempt) == [2])
    }

    @Test func `what is past its deadline is handed out as expired`() {
        var queue = SenderQueue(inFlightMax: 10)
        queue.append([delivery(1, deadline: 100), delivery(2)])
        let lease = queue.lease(max: 9, nowUnixMs: 100)
        #expect(lease.expired.map(\.id) == [1])
        #expect(lease.batch.map(\.id) == [2])
        #expect(queue.count == 1)
    }

    @Test(arguments: [UInt64(1), 7, 1234])
    func `nothing is lost and nothing doubled, whatever happens`(seed: UInt64) {
        var random = SplitMix(state: seed)
        var queue = SenderQueue(inFlightMax: 8)
        var out: Set<UInt64> = []
        var leased: [Delivery] = []
        queue.append((1...3_000).map { delivery($0) })
        var now: UInt64 = 0
        while out.count < 3_000 {
            now += random.next() % 50
            leased += queue.lease(max: Int(random.next() % 5) + 1, nowUnixMs: now).batch
            guard let pick = leased.indices.randomElement(using: &random) else { continue }
            let one = leased.remove(at: pick)
            switch random.next() % 4 {
            case 0: queue.giveBack([one])
            case 1:
                if let settled = queue.settle(one.id) {
                    queue.retry(settled, atUnixMs: now + random.next() % 90)
                }
            default:
                let settled = queue.settle(one.id)
                #expect(settled != nil, "seed \(seed)")
                #expect(out.insert(one.id).inserted, "seed \(seed)")
            }
        }
        #expect(queue.count == 0, "seed \(seed)")
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
