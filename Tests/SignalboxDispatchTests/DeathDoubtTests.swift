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
}
