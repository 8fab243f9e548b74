import SignalboxCore
import Testing

@testable import SignalboxDispatch

/// A lane whose sender, or one of whose routes, an operator has paused.
@Suite struct LanePauseTests {
    private let note = PauseNote(
        by: "anna", address: "10.0.0.7", reason: "wrong text", sinceUnixMs: 1_000_000)
    private var whole: LanePause { LanePause(whole: note) }

    /// The same delivery on another route.
    private func other(_ id: UInt64, deadline: UInt64 = 0) -> Delivery {
        var out = delivery(id, deadline: deadline)
        out.route = "other"
        return out
    }

    @Test func `a paused sender gives back what it has not sent, and leases nothing`() {
        var rig = LaneStateRig(batchMax: 2)
        rig.submit(1...4)
        _ = rig.state.turn(rig.now, batchMax: 2)
        var effects = rig.pause(whole)
        #expect(effects.isWithdrawal && !effects.isHaste)
        effects.add(rig.run().effects)
        #expect(effects.kinds == [3: .released, 4: .released])
        effects = rig.state.stored(effects.endings.map(\.end), wereLate: false, rig.now)
        effects.add(rig.run().effects)
        #expect(effects.wish == nil && effects.wakeInMs == nil)
        // What comes now stays on disk.
        #expect(rig.state.reserve([delivery(9)]).isEmpty)
        _ = rig.state.backlog()
        #expect(rig.run().effects.wish == nil)
        rig.wait(ms: 60_000)
        _ = rig.state.woken()
        #expect(rig.run().effects.wish == nil)
        #expect(!rig.state.isAsleep(rig.now))
    }

    @Test func `what a paused sender has in flight ends as ever, and what comes back unsent waits`()
    {
        var rig = LaneStateRig()
        rig.submit(1...3)
        #expect(rig.run().sent == [1, 2, 3])
        _ = rig.pause(whole)
        var effects = rig.fault([3], .withdrawn)
        effects.add(rig.take([1], .delivered, code: 200))
        effects.add(rig.run().effects)
        #expect(effects.kinds == [1: .delivered, 3: .released])
    }

    @Test func `what was being committed when a sender was paused goes to the disk`() {
        var rig = LaneStateRig()
        let taken = rig.state.reserve([delivery(1)])
        #expect(taken == [1])
        _ = rig.pause(whole)
        _ = rig.run()
        _ = rig.state.committed(
            [delivery(1)], under: rig.token, askedMs: rig.now.steadyMs, isMoreOnDisk: false)
        let (sent, effects) = rig.run()
        #expect(sent.isEmpty && effects.kinds == [1: .released])
    }

    @Test func `a resumed sender asks for what waits`() {
        var rig = LaneStateRig()
        _ = rig.pause(whole)
        _ = rig.state.backlog()
        _ = rig.run()
        _ = rig.pause(LanePause())
        let wish = rig.run().effects.wish
        #expect(wish != nil)
        _ = rig.lend([1, 2], wish)
        #expect(rig.run().sent == [1, 2])
    }

    @Test func `deliveries of a paused route are put aside, at most until they expire`() {
        var rig = LaneStateRig()
        rig.submit([delivery(1), other(2), other(3, deadline: rig.now.unixMs + 5_000), delivery(4)])
        _ = rig.pause(LanePause(routes: ["other": note]))
        let (sent, effects) = rig.run()
        #expect(sent == [1, 4])
        #expect(
            effects.kinds == [
                2: .aside(untilUnixMs: rig.now.unixMs + LaneState.asideMs),
                3: .aside(untilUnixMs: rig.now.unixMs + 5_000),
            ])
        guard case .retry(3, afterMs: 5_000, let attempt, isFree: true) = effects.endings.last?.end
        else { return #expect(Bool(false)) }
        #expect(attempt.reason == "paused")
        // Later ones are not even taken over.
        #expect(rig.state.reserve([other(5), delivery(6)]) == [6])
    }

    @Test func `what was put aside is due at once when its route is resumed`() {
        var rig = LaneStateRig()
        _ = rig.pause(LanePause(routes: ["other": note]))
        _ = rig.state.backlog()
        var lease = StoreLease(token: rig.token)
        lease.deliveries = [other(1)]
        var effects = rig.run().effects
        _ = rig.state.leased(lease, effects.wish ?? LeaseWish(max: 1, forMs: 1), rig.now)
        effects = rig.run().effects
        #expect(effects.kinds.count == 1)
        // The route is resumed before the store has the delivery: it is hastened again when it has.
        #expect(rig.pause(LanePause()).isHaste)
        let stored = rig.state.stored(effects.endings.map(\.end), wereLate: false, rig.now)
        #expect(stored.isHaste)
        #expect(rig.run().effects.wish != nil)
        #expect(!rig.state.stored([], wereLate: false, rig.now).isHaste)
    }

    @Test func `to pause a second route hastens nothing, and the same order twice does nothing`() {
        var rig = LaneStateRig()
        _ = rig.pause(LanePause(routes: ["a": note]))
        let effects = rig.pause(LanePause(routes: ["a": note, "b": note]))
        #expect(!effects.isHaste && effects.isWithdrawal)
        _ = rig.run()
        #expect(rig.pause(LanePause(routes: ["a": note, "b": note])).isEmpty)
    }

    @Test func `what is cancelled ends when its turn comes, and what came later is sent`() {
        func received(_ id: UInt64, atMs: UInt64) -> Delivery {
            var out = delivery(id)
            out.content = SharedNotification(PushNotification(), receivedUnixMs: atMs)
            return out
        }
        var rig = LaneStateRig()
        rig.submit([received(1, atMs: 10)])
        #expect(rig.run().sent == [1])
        var order = CancelOrder(beforeUnixMs: 100)
        order.route = "r"
        let effects = rig.pause(LanePause(cancelled: [order]))
        #expect(effects.isWithdrawal)
        #expect(rig.state.inFlight(coveredBy: order) == 1)
        rig.submit([received(2, atMs: 99), received(3, atMs: 100)])
        let (sent, ended) = rig.run()
        #expect(sent == [3])
        #expect(ended.kinds == [2: .cancelled])
        guard case .delivered(2, nil) = ended.endings.first?.end else {
            return #expect(Bool(false))
        }
        // What is in flight ends as its provider says.
        #expect(rig.take([1], .delivered, code: 200).kinds == [1: .delivered])
    }

    @Test func `an order covers what has all that it names`() {
        var given = delivery(1)
        given.content = SharedNotification(PushNotification(), receivedUnixMs: 5)
        var order = CancelOrder(beforeUnixMs: 6)
        #expect(order.covers(given))
        order.sender = "s"
        order.eventID = 1
        #expect(order.covers(given))
        for change: (inout CancelOrder) -> Void in [
            { $0.sender = "x" }, { $0.route = "x" }, { $0.user = "x" }, { $0.eventID = 2 },
            { $0.beforeUnixMs = 5 },
        ] {
            var other = order
            change(&other)
            #expect(!other.covers(given))
        }
    }
}
