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

    @Test func `origins that requests name are believed or not each by itself`() {
        var rig = Self.sent(1...64)
        func answers(_ ids: ClosedRange<UInt64>, at origin: String) -> [PushResult] {
            ids.map { id in
                PushResult(
                    items: [id], answer: .response(HTTPResponse(status: 410)), origin: origin)
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
