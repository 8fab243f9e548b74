import SignalboxCore
import Testing

@testable import SignalboxDispatch

/// Every transition of a lane, one at a time.
@Suite struct LaneStateTests {
    @Test func `a report waits for the outcome of an earlier one about the same device`() {
        var rig = LaneStateRig { $0.keepsOrder = true }
        func report(_ id: UInt64, of device: String) -> Delivery {
            var report = delivery(id)
            report.stableID = device
            return report
        }
        rig.submit([report(1, of: "a"), report(2, of: "a"), report(3, of: "b")])
        #expect(rig.run().sent == [1, 3])
        rig.submit([report(4, of: "a"), report(5, of: "c")])
        #expect(rig.run().sent == [5])
        _ = rig.take([1], .delivered, code: 200)
        #expect(rig.run().sent == [2])
        _ = rig.take([2], .retry, code: 500)
        #expect(rig.run().sent == [4])
    }

    @Test func `room of a commit that failed is for what waits on disk`() {
        var rig = LaneStateRig(inMemoryMax: 2)
        let taken = rig.state.reserve([delivery(1), delivery(2)])
        // Meanwhile something else is committed, for which there is no room.
        _ = rig.state.backlog()
        #expect(rig.run().effects.wish == nil)
        let effects = rig.state.cancelled(taken.count)
        #expect(effects.isTurn)
        #expect(rig.run().effects.wish != nil)
    }

    @Test func `deliveries that fit are sent at once, and the rest waits on disk`() {
        var rig = LaneStateRig(inMemoryMax: 8)
        #expect(rig.submit(1...10).isTurn)
        let (sent, effects) = rig.run()
        // The last eighth of the room is for high priority.
        #expect(sent == Array(1...7))
        #expect(effects.wish == nil)
        _ = rig.take(Array(1...7), .delivered, code: 200)
        #expect(rig.run().effects.wish?.max == 8)
    }

    @Test func `what waits on disk goes before what comes`() {
        var rig = LaneStateRig()
        _ = rig.state.backlog()
        #expect(rig.state.reserve([delivery(1)]).isEmpty)
        let wish = rig.run().effects.wish
        #expect(rig.state.reserve([delivery(1)]).isEmpty)
        _ = rig.lend([], wish)
        #expect(rig.state.reserve([delivery(1)]) == [1])
    }

    @Test func `something stored while a lease is asked for is not forgotten`() {
        var rig = LaneStateRig()
        _ = rig.state.backlog()
        let wish = rig.run().effects.wish
        #expect(wish != nil)
        _ = rig.state.backlog()
        _ = rig.lend([], wish)
        #expect(rig.run().effects.wish != nil)
    }

    @Test func `a lease that overtakes the answer to a settlement loses nothing`() {
        var (rig, held) = LaneHoldTests.held()
        let released = held.endings.filter { $0.kind == .released }.map(\.end)
        // The lease arrives before the store's answer.
        #expect(rig.lend([9], nil).returned?.ids == [9])
        #expect(
            rig.state.stored(released, wereLate: false, rig.now).isTurn
                || rig.state.isScheduled)
        #expect(rig.lend([9], nil).arrived == 1)
    }

    @Test func `a store that fails is asked again a second later`() {
        var rig = LaneStateRig()
        _ = rig.state.backlog()
        guard let wish = rig.run().effects.wish else { return #expect(Bool(false)) }
        _ = rig.state.leased(nil, wish, rig.now)
        let effects = rig.run().effects
        #expect(effects.wish == nil && effects.wakeInMs == 1_000)
        rig.wait(ms: 1_000)
        #expect(rig.state.woken().isTurn)
        #expect(rig.run().effects.wish != nil)
    }

    @Test func `nothing comes into memory while the store cannot settle`() {
        var rig = LaneStateRig()
        rig.submit(1...1)
        _ = rig.run()
        let changes = rig.take([1], .delivered, code: 200).endings.map(\.end)
        rig.state.unsettled(changes.count)
        #expect(rig.state.reserve([delivery(2)]).isEmpty)
        _ = rig.state.backlog()
        #expect(rig.run().effects.wish == nil)
        #expect(rig.state.stored(changes, wereLate: true, rig.now).isTurn)
        #expect(rig.run().effects.wish != nil)
    }

    @Test func `no more is sent than the window holds while the store records no outcomes`() {
        var rig = LaneStateRig(inMemoryMax: 8)
        _ = rig.state.backlog()
        var ends: [LeaseEnd] = []
        for first in [UInt64(1), 5] {
            _ = rig.lend(Array(first..<first + 4), rig.run().effects.wish, hasMore: true)
            let sent = rig.run().sent
            ends += rig.take(sent, .delivered, code: 200).endings.map(\.end)
        }
        #expect(ends.count == 8)
        #expect(rig.run().effects.wish == nil)
        #expect(rig.state.reserve([delivery(9)]).isEmpty)
        #expect(rig.state.stored([ends[0]], wereLate: false, rig.now).isTurn)
        #expect(rig.run().effects.wish != nil)
    }

    @Test func `an outcome ends a delivery once`() {
        var rig = LaneStateRig()
        rig.submit(1...3)
        _ = rig.run()
        #expect(
            rig.take([1, 2, 1], .delivered, code: 200).kinds == [1: .delivered, 2: .delivered])
        #expect(rig.take([1], .delivered, code: 200).endings.isEmpty)
        #expect(
            rig.take([3], .rejected, code: 400, reason: "bad").kinds
                == [3: .failed(reason: "bad", wasSent: true)])
    }

    @Test func `a retry wakes the lane when it is due`() {
        var rig = LaneStateRig()
        rig.submit(1...1)
        _ = rig.run()
        let at = rig.now.unixMs + 1_000
        let ended = rig.take([1], .retry, code: 418)
        #expect(ended.kinds == [1: .retry(atUnixMs: at, isFree: false)])
        // A lease would not find it before the store knows of it.
        #expect(rig.run().effects.wakeInMs == nil)
        #expect(rig.state.stored(ended.endings.map(\.end), wereLate: false, rig.now).isTurn)
        #expect(rig.run().effects.wakeInMs == 1_000)
        rig.wait(ms: 1_000)
        _ = rig.state.woken()
        #expect(rig.run().effects.wish != nil)
    }

    @Test func `a wall clock that is set neither holds the lane nor is missed`() {
        var rig = LaneStateRig()
        rig.submit(1...4)
        _ = rig.run()
        _ = rig.hold([1, 2, 3, 4])
        // The wall clock is set back; the wait is over all the same.
        rig.now.unixMs -= 900_000
        rig.now.steadyMs += 2_000
        _ = rig.state.woken()
        #expect(rig.run().effects.wish?.isProbe == true)
        // A delivery that is due in an hour is looked for before that.
        var other = LaneStateRig()
        _ = other.state.backlog()
        let wish = other.run().effects.wish
        _ = other.lend([], wish, nextDueInMs: 3_600_000)
        #expect(other.run().effects.wakeInMs == LaneState.lookMs)
    }

    @Test func `a plugin that says again is asked a second later, or when it says so`() {
        var rig = LaneStateRig()
        rig.submit(1...3)
        var turn = rig.state.turn(rig.now, batchMax: rig.batchMax)
        rig.state.heldBack(
            Array(turn.batch.dropFirst()), pauseEndings: turn.pauseEndings, rig.now)
        var rest = rig.run()
        #expect(rest.sent.isEmpty && rest.effects.wakeInMs == 1_000)
        #expect(rig.state.resume().isTurn)
        // The plugin resumed while it was being asked.
        turn = rig.state.turn(rig.now, batchMax: rig.batchMax)
        #expect(turn.batch.map(\.id) == [2, 3])
        _ = rig.state.resume()
        rig.state.heldBack(turn.batch, pauseEndings: turn.pauseEndings, rig.now)
        rest = rig.run()
        #expect(rest.sent == [2, 3])
    }

    @Test func `a plugin that has crashed gets one delivery at a time, from the next turn on`() {
        var rig = LaneStateRig()
        rig.submit(1...5)
        #expect(rig.state.turn(rig.now, batchMax: 2).batch.map(\.id) == [1, 2])
        #expect(rig.state.turn(rig.now, batchMax: 1).batch.map(\.id) == [3])
        #expect(rig.state.turn(rig.now).batch.map(\.id) == [4, 5])
    }

    @Test func `past its deadline a delivery is not sent, and no attempt is counted`() {
        var rig = LaneStateRig()
        rig.submit([delivery(1, deadline: rig.now.unixMs), delivery(2)])
        let (sent, effects) = rig.run()
        #expect(sent == [2])
        #expect(effects.kinds == [1: .failed(reason: "expired", wasSent: false)])
    }

    @Test func `what was withdrawn before it was sent is settled, and nobody sees it`() {
        func push(_ id: UInt64, isWithdrawn: Bool) -> Delivery {
            var note = PushNotification()
            note.collapse = "k"
            note.isWithdrawn = isWithdrawn
            var made = delivery(id)
            made.content = SharedNotification(note, receivedUnixMs: id)
            return made
        }
        var rig = LaneStateRig()
        rig.submit([push(1, isWithdrawn: false), push(2, isWithdrawn: true)])
        let (sent, effects) = rig.run()
        #expect(sent == [2])
        #expect(effects.endings.map(\.outcome.reason) == ["taken_back"])
        #expect(effects.kinds == [1: .superseded(reason: "taken_back")])
    }
}

/// How a lane treats connections, late answers, and its own end.
@Suite struct LaneLifeTests {
    @Test func `what a closing connection has not sent goes first to the next one`() {
        var rig = LaneStateRig(batchMax: 3)
        rig.submit(1...6)
        let turn = rig.state.turn(rig.now, batchMax: rig.batchMax)
        #expect(turn.batch.map(\.id) == [1, 2, 3])
        _ = rig.state.answered([
            PushResult(items: [3], fault: .withdrawn),
            PushResult(items: [2], fault: .withdrawn),
        ])
        let next = rig.run()
        // No attempt is counted, the store is not told, and the order stays.
        #expect(next.sent == [4, 5, 6, 2, 3] || next.sent == [2, 3, 4, 5, 6])
        #expect(next.effects.endings.isEmpty)
    }

    @Test func `a late answer ends a delivery on disk, and a lease cannot bring it back`() {
        var rig = LaneStateRig { $0.lateAnswerMs = 5_000 }
        rig.submit(1...1)
        _ = rig.run()
        let effects = rig.fault([1], .timeout)
        #expect(effects.kinds == [1: .retry(atUnixMs: rig.now.unixMs + 5_000, isFree: false)])
        _ = rig.state.stored(effects.endings.map(\.end), wereLate: false, rig.now)
        // A lease is in transit when the answer arrives.
        _ = rig.state.backlog()
        let wish = rig.run().effects.wish
        let late = rig.state.takeLate(
            [Outcome(item: 1, kind: .delivered, reason: "ok")], rig.now, random: { 0 })
        #expect(late.kinds == [1: .delivered])
        #expect(late.arrived == 1)
        #expect(rig.lend([1], wish).arrived == 0)
        #expect(rig.run().sent.isEmpty)
    }

    @Test func `a late answer ends an attempt that is under way`() {
        var rig = LaneStateRig()
        rig.submit(1...1)
        _ = rig.run()
        let effects = rig.fault([1], .timeout)
        _ = rig.state.stored(effects.endings.map(\.end), wereLate: false, rig.now)
        rig.wait(ms: 2_000)
        _ = rig.state.woken()
        let wish = rig.run().effects.wish
        _ = rig.lend([1], wish)
        #expect(rig.run().sent == [1])
        let late = rig.state.takeLate(
            [Outcome(item: 1, kind: .delivered)], rig.now, random: { 0 })
        #expect(late.arrived == 0)
        #expect(rig.take([1], .delivered, code: 200).endings.isEmpty)
    }

    @Test func `a late answer to a delivery that is over says nothing`() {
        var rig = LaneStateRig { $0.lateAnswerMs = 5_000 }
        rig.submit([delivery(1, deadline: rig.now.unixMs + 100)])
        _ = rig.run()
        #expect(rig.fault([1], .timeout).kinds == [1: .failed(reason: "expired", wasSent: true)])
        let late = rig.state.takeLate(
            [Outcome(item: 1, kind: .delivered)], rig.now, random: { 0 })
        #expect(late.endings.isEmpty)
    }

    @Test func `an unknown fate is not retried where that is forbidden`() {
        var rig = LaneStateRig { $0.isAtMostOnce = true }
        rig.submit(1...2)
        _ = rig.run()
        #expect(rig.fault([1], .lost).kinds == [1: .failed(reason: "lost", wasSent: true)])
        #expect(rig.fault([2], .timeoutUnsent).endings.first?.end.id == 2)
    }

    @Test func `a lane that drains sends what it has, and leases nothing`() {
        var rig = LaneStateRig()
        rig.submit(1...2)
        _ = rig.state.backlog()
        rig.state.drain()
        let rest = rig.run()
        #expect(rest.sent == [1, 2] && rest.effects.wish == nil)
        #expect(rig.state.reserve([delivery(3)]).isEmpty)
        let (isServed, _) = rig.state.committed(
            [], under: rig.token, askedMs: 0, isMoreOnDisk: true)
        #expect(!isServed)
    }

    @Test func `a lane that is replaced gives back what it has not sent`() {
        var rig = LaneStateRig(batchMax: 2)
        rig.submit(1...5)
        _ = rig.state.turn(rig.now, batchMax: rig.batchMax)
        let effects = rig.state.leave(rig.now)
        #expect(effects.isWithdrawal)
        #expect(effects.kinds == [3: .released, 4: .released, 5: .released])
        // Its successor is notified once they are on disk.
        #expect(
            rig.state.stored(effects.endings.map(\.end), wereLate: false, rig.now).isForSuccessor)
        // What the pool had not sent follows; what is in flight ends here.
        #expect(rig.fault([1], .withdrawn).kinds == [1: .released])
        #expect(rig.take([2], .delivered, code: 200).kinds == [2: .delivered])
        // Later deliveries are not for this lane.
        let late = rig.state.committed(
            [delivery(9)], under: rig.token, askedMs: 0, isMoreOnDisk: false)
        #expect(late.effects.returned?.ids == [9])
        #expect(rig.run().effects.wish == nil)
    }

    @Test func `a lane that stops reads what has come back, and gives back the rest`() {
        var rig = LaneStateRig()
        rig.submit(1...3)
        _ = rig.run()
        _ = rig.state.learned([Outcome(item: 1, kind: .delivered, reason: "ok")])
        #expect(rig.state.stop(rig.now).endings.isEmpty)
        let effects = rig.run().effects
        #expect(effects.kinds == [1: .delivered, 2: .released, 3: .released])
        #expect(rig.state.isStopped)
        #expect(!rig.state.backlog().isTurn)
        // A lease that comes too late is returned, too.
        #expect(rig.lend([4], nil).returned?.ids == [4])
    }
}
