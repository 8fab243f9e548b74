import SignalboxCore
import Testing

@testable import SignalboxDispatch

/// A push that is late says how long it was held, and why.
@Suite struct LaneDelayTests {
    private let note = PauseNote(
        by: "anna", address: "10.0.0.7", reason: "wrong text", sinceUnixMs: 1_000_000)

    private func received(
        _ id: UInt64, _ unixMs: UInt64 = 1_000_000, route: String = "r", deadline: UInt64 = 0
    ) -> Delivery {
        var out = delivery(id, deadline: deadline)
        out.content = SharedNotification(PushNotification(), receivedUnixMs: unixMs)
        out.route = route
        return out
    }

    /// Pauses, waits, resumes, and lends these.
    private func resumed(
        _ order: LanePause, afterMs ms: UInt64, _ deliveries: [Delivery]
    ) -> LaneStateRig {
        var rig = LaneStateRig()
        _ = rig.pause(order)
        rig.wait(ms: ms)
        _ = rig.pause(LanePause())
        _ = rig.state.backlog()
        var lease = StoreLease(token: rig.token)
        lease.deliveries = deliveries
        let wish = rig.run().effects.wish ?? LeaseWish(max: 9, forMs: 9)
        _ = rig.state.leased(lease, wish, rig.now)
        return rig
    }

    @Test func `a push that a pause made late says by whom, and why`() {
        var rig = resumed(LanePause(whole: note), afterMs: 7_380_000, [received(1)])
        #expect(rig.run().sent == [1])
        let ending = rig.take([1], .delivered, code: 200).endings.first
        #expect(
            ending?.outcome.detail
                == "held 2 h 3 min, paused by anna (10.0.0.7): wrong text")
        #expect(ending?.step?.detail == ending?.outcome.detail)
        #expect(ending?.pausedMs == 7_380_000)
    }

    @Test func `a push that expired in a pause says so, also in its dead letter`() {
        let old = received(1, deadline: 1_060_000)
        var rig = resumed(LanePause(whole: note), afterMs: 120_000, [old])
        let ending = rig.run().effects.endings.first
        #expect(ending?.kind == .failed(reason: "expired", wasSent: false))
        guard case .dead(1, reason: "expired", let attempt)? = ending?.end else {
            return #expect(Bool(false))
        }
        #expect(attempt.detail == "held 2 min 0 s, paused by anna (10.0.0.7): wrong text")
    }

    @Test func `a push that expires while its route is paused says so`() {
        var rig = LaneStateRig()
        rig.submit([received(1, route: "other", deadline: 1_030_000)])
        _ = rig.pause(LanePause(routes: ["other": note]))
        rig.wait(ms: 30_000)
        let ending = rig.run().effects.endings.first
        #expect(ending?.kind == .failed(reason: "expired", wasSent: false))
        #expect(ending?.outcome.detail.hasPrefix("held 30 s, paused by anna") == true)
    }

    @Test func `a pause of one route makes no push of another late`() {
        let both = [received(1), received(2, route: "other")]
        var rig = resumed(LanePause(routes: ["other": note]), afterMs: 60_000, both)
        #expect(rig.run().sent == [1, 2])
        let endings = rig.take([1, 2], .delivered, code: 200).endings
        #expect(endings.map { !$0.outcome.detail.isEmpty } == [false, true])
        #expect(endings.map(\.pausedMs) == [0, 60_000])
    }

    @Test func `what came after a pause, or waited seconds for it, says nothing`() {
        let late = [received(1, 1_060_000), received(2, 1_055_000), received(3, 1_045_000)]
        var rig = resumed(LanePause(whole: note), afterMs: 60_000, late)
        _ = rig.run()
        rig.wait(ms: 30_000)
        let endings = rig.take([1, 2, 3], .delivered, code: 200).endings
        #expect(
            endings.map(\.outcome.detail) == [
                "", "", "held 15 s, paused by anna (10.0.0.7): wrong text",
            ])
    }

    @Test func `a push that waited for its provider says so in the same words`() {
        var rig = LaneStateRig(batchMax: 8)
        rig.submit(1...12)
        _ = rig.state.turn(rig.now, batchMax: rig.batchMax)
        _ = rig.take([1, 2, 3, 4], .retry, reason: "unreachable") {
            $0.detail = "connection refused"
        }
        #expect(rig.state.hold?.said == "connection refused")
        rig.wait(ms: 3_600_000)
        let outcome = Outcome(item: 3, kind: .delivered, reason: "ok")
        let ending = rig.state.ended(received(3), .delivered, outcome, rig.now)
        #expect(
            ending.outcome.detail
                == "held 1 h 0 min, down, unreachable, connection refused")
        #expect(ending.pausedMs == 0)
    }

    @Test func `the newest delays are kept`() {
        var delays = LaneDelays()
        for number in 1...UInt64(LaneDelays.countMax + 5) {
            delays.add(
                .init(sinceUnixMs: number, untilUnixMs: number + 1, isPause: true, words: ""))
        }
        #expect(delays.past.count == LaneDelays.countMax)
        #expect(delays.past.last?.sinceUnixMs == UInt64(LaneDelays.countMax + 5))
    }
}
