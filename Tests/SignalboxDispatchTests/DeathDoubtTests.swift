import SignalboxCore
import Testing

@testable import SignalboxDispatch

/// Whether a provider is believed that a token is dead.
@Suite struct DeathDoubtTests {
    /// A lane with deliveries that are on their way.
    private static func sent(_ ids: ClosedRange<UInt64>) -> LaneStateRig {
        var rig = LaneStateRig(inMemoryMax: 256)
        rig.submit(ids)
        _ = rig.run()
        return rig
    }

    private static func dead(_ rig: inout LaneStateRig, _ ids: [UInt64]) -> [LaneEnding] {
        rig.take(ids, .unregistered, code: 410, reason: "Unregistered").endings
    }

    @Test func `after twenty dead tokens in a row the next ones are kept`() {
        var rig = Self.sent(1...32)
        let endings = Self.dead(&rig, Array(1...25))
        #expect(endings.prefix(20).allSatisfy { $0.outcome.kind == .unregistered })
        for ending in endings.dropFirst(20) {
            #expect(ending.kind == .failed(reason: "death_doubted", wasSent: true))
            #expect(ending.outcome.kind == .rejected && ending.outcome.providerCode == 410)
            #expect(ending.outcome.detail.contains("(Unregistered)"))
        }
        // Neither a failure of another kind nor a refusal says anything about tokens.
        _ = rig.take([26], .rejected, code: 400)
        _ = rig.take([27], .retry, code: 503)
        #expect(Self.dead(&rig, [28]).map(\.outcome.kind) == [.rejected])
    }

    @Test func `an accepted push makes the provider believable again`() {
        var rig = Self.sent(1...32)
        _ = Self.dead(&rig, Array(1...21))
        _ = rig.take([22], .delivered, code: 200)
        #expect(Self.dead(&rig, [23]).map(\.outcome.kind) == [.unregistered])
    }

    @Test func `a push that was accepted too late counts, too`() {
        var rig = Self.sent(1...32)
        _ = rig.fault([30], .timeout)
        _ = Self.dead(&rig, Array(1...20))
        var late = Outcome(item: 30, kind: .delivered, reason: "ok")
        late.providerCode = 200
        _ = rig.state.takeLate([late], rig.now, random: { 0 })
        #expect(Self.dead(&rig, [21]).map(\.outcome.kind) == [.unregistered])
    }

    private static func send(_ rig: inout LaneStateRig, _ pushes: [(id: UInt64, token: String)]) {
        rig.submit(
            pushes.map { push in
                var delivery = delivery(push.id)
                delivery.device = Device(platform: "android", token: push.token)
                return delivery
            })
        _ = rig.run()
    }

    /// Blames tokens of deliveries; returns what became of them.
    private static func blamed(_ rig: inout LaneStateRig, _ ids: [UInt64]) -> [Outcome] {
        rig.take(ids, .rejected, code: 400, reason: "INVALID_ARGUMENT") { $0.suspectsToken = true }
            .endings.map(\.outcome)
    }

    @Test func `a token that is blamed for a message is dead only if nothing was accepted for it`()
    {
        var rig = LaneStateRig(inMemoryMax: 256)
        for id in UInt64(1)...40 {
            Self.send(&rig, [(id, "token-\(id)")])
            _ = rig.take([id], .delivered, code: 200)
        }
        Self.send(&rig, [(41, "token-41"), (42, "token-42")])
        // The next message to the same devices is refused, and others are accepted in between.
        for id in UInt64(1)...40 {
            Self.send(&rig, [(100 + id, "token-\(id)"), (200 + id, "other")])
            let outcomes = Self.blamed(&rig, [100 + id])
            #expect(outcomes.map(\.kind) == [.rejected])
            #expect(outcomes[0].detail.contains("the token is kept"))
            _ = rig.take([200 + id], .delivered, code: 200)
        }
        #expect(Self.blamed(&rig, [41]).map(\.kind) == [.unregistered])
        // Without a suspicion nothing becomes of it.
        #expect(rig.take([42], .rejected).endings.map(\.outcome.kind) == [.rejected])
    }

    @Test func `a device is older than what the lane remembers for a day at most`() {
        var doubt = DeathDoubt(sinceMs: 5_000)
        var outcome = Outcome(item: 1, kind: .rejected)
        outcome.suspectsToken = true
        var device = Device(platform: "android", token: "t")
        func kind(afterMs ms: UInt64) -> Outcome.Kind {
            let now = LaneTime(unixMs: 1_000_000_000 + ms, steadyMs: 5_000 + ms)
            return doubt.judged(outcome, of: device, origin: "", now).kind
        }
        device.registeredUnixMs = 1_000_000_000 - 1
        #expect(kind(afterMs: 60_000) == .rejected)
        #expect(kind(afterMs: 86_400_000) == .unregistered)
        device.registeredUnixMs = 1_000_000_000
        #expect(kind(afterMs: 60_000) == .unregistered)
    }

    @Test func `what was accepted is remembered for many tokens, in little memory`() {
        var accepted = AcceptedTokens()
        #expect(accepted.isEmpty && !accepted.contains("1"))
        for token in 0..<50_000 { accepted.insert("token-\(token)") }
        #expect((0..<50_000).count { accepted.contains("token-\($0)") } > 49_950)
        #expect((50_000..<100_000).count { accepted.contains("token-\($0)") } < 50)
        for token in 100_000..<1_000_000 { accepted.insert("token-\(token)") }
        // Far more than it has room for: the latest are known nearly all.
        #expect((999_000..<1_000_000).count { accepted.contains("token-\($0)") } > 950)
    }

    @Test func `origins that requests name are believed or not each by itself`() {
        var rig = Self.sent(1...64)
        func answers(_ ids: ClosedRange<UInt64>, at origin: String) -> [PushResult] {
            ids.map { id in
                PushResult(
                    HTTPResponse(status: 410, items: [id]), origin: origin)
            }
        }
        _ = rig.state.answered(answers(1...21, at: "https://a") + answers(22...23, at: "https://b"))
        #expect(rig.state.turn(rig.now).responses.count == 23)
        _ = rig.take([22], .delivered, code: 201)
        let endings = Self.dead(&rig, Array(1...21) + [23])
        let isBelieved = endings.map { $0.outcome.kind == .unregistered }
        #expect(isBelieved == Array(repeating: true, count: 20) + [false, true])
        #expect(rig.state.origins.isEmpty)
    }

    @Test func `only so many origins are counted`() {
        var doubt = DeathDoubt()
        let dead = Outcome(item: 1, kind: .unregistered)
        var doubted = (0..<3_000).filter { doubt.doubts(dead, origin: "https://\($0)") }
        #expect(doubted == [])
        doubted = (0..<20).filter { _ in doubt.doubts(dead, origin: "https://2999") }
        #expect(doubted == [19])
    }

    @Test func `a lane that ends for want of work leaves its doubt to the next one`() {
        let key = LaneKey(sender: "s", app: "a")
        var doubt = DeathDoubt()
        for _ in 0..<20 { _ = doubt.doubts(Outcome(item: 1, kind: .unregistered)) }
        var roster = LaneRoster<Int>()
        guard let ticket = roster.begin(key) else { return #expect(Bool(false)) }
        _ = roster.enter(1, key, ticket)
        roster.retire(key, doubt)
        var left = roster.doubts[key]
        let isDoubted = left?.doubts(Outcome(item: 2, kind: .unregistered))
        #expect(isDoubted == true)
        // New settings may have mended it.
        _ = roster.remove { $0 == key }
        #expect(roster.doubts[key] == nil)
    }
}
