import SignalboxCore
import Testing

@testable import SignalboxDispatch

/// Every transition of a lane, one at a time.
@Suite struct LaneStateTests {
    @Test func `a report waits for the outcome of an earlier one about the same device`() {
        var bench = LaneStateBench { $0.keepsOrder = true }
        func report(_ id: UInt64, of device: String) -> Delivery {
            var report = delivery(id)
            report.stableID = device
            return report
        }
        bench.submit([report(1, of: "a"), report(2, of: "a"), report(3, of: "b")])
        #expect(bench.run().sent == [1, 3])
        bench.submit([report(4, of: "a"), report(5, of: "c")])
        #expect(bench.run().sent == [5])
        _ = bench.take([1], .delivered, code: 200)
        #expect(bench.run().sent == [2])
        _ = bench.take([2], .retry, code: 500)
        #expect(bench.run().sent == [4])
    }

    @Test func `room of a commit that failed is for what waits on disk`() {
        var bench = LaneStateBench(inMemoryMax: 2)
        let taken = bench.state.reserve([delivery(1), delivery(2)])
        // Something else is committed meanwhile: there is no room to ask for it.
        _ = bench.state.backlog()
        #expect(bench.run().todo.wish == nil)
        let todo = bench.state.cancelled(taken.count)
        #expect(todo.isTurn)
        #expect(bench.run().todo.wish != nil)
    }

    @Test func `deliveries that fit are sent at once, and the rest waits on disk`() {
        var bench = LaneStateBench(inMemoryMax: 8)
        #expect(bench.submit(1...10).isTurn)
        let (sent, todo) = bench.run()
        // The last eighth of the room is for high priority.
        #expect(sent == Array(1...7))
        #expect(todo.wish == nil)
        _ = bench.take(Array(1...7), .delivered, code: 200)
        #expect(bench.run().todo.wish?.max == 8)
    }

    @Test func `what waits on disk goes before what comes`() {
        var bench = LaneStateBench()
        _ = bench.state.backlog()
        #expect(bench.state.reserve([delivery(1)]).isEmpty)
        let wish = bench.run().todo.wish
        #expect(bench.state.reserve([delivery(1)]).isEmpty)
        _ = bench.lend([], wish)
        #expect(bench.state.reserve([delivery(1)]) == [1])
    }

    @Test func `something stored while a lease is asked for is not forgotten`() {
        var bench = LaneStateBench()
        _ = bench.state.backlog()
        let wish = bench.run().todo.wish
        #expect(wish != nil)
        _ = bench.state.backlog()
        _ = bench.lend([], wish)
        #expect(bench.run().todo.wish != nil)
    }

    @Test func `a lease that overtakes the answer to a settlement loses nothing`() {
        var (bench, held) = LaneHoldTests.held()
        let released = held.endings.filter { $0.kind == .released }.map(\.end)
        // The lease overtakes the answer of the store.
        #expect(bench.lend([9], nil).returned?.ids == [9])
        #expect(
            bench.state.stored(released, wereLate: false, bench.now).isTurn
                || bench.state.isScheduled)
        #expect(bench.lend([9], nil).arrived == 1)
    }

    @Test func `a store that fails is asked again a second later`() {
        var bench = LaneStateBench()
        _ = bench.state.backlog()
        guard let wish = bench.run().todo.wish else { return #expect(Bool(false)) }
        _ = bench.state.leased(nil, wish, bench.now)
        let todo = bench.run().todo
        #expect(todo.wish == nil && todo.wakeInMs == 1_000)
        bench.wait(ms: 1_000)
        #expect(bench.state.woken().isTurn)
        #expect(bench.run().todo.wish != nil)
    }

    @Test func `nothing comes into memory while the store cannot settle`() {
        var bench = LaneStateBench()
        bench.submit(1...1)
        _ = bench.run()
        let changes = bench.take([1], .delivered, code: 200).endings.map(\.end)
        bench.state.unsettled(changes.count)
        #expect(bench.state.reserve([delivery(2)]).isEmpty)
        _ = bench.state.backlog()
        #expect(bench.run().todo.wish == nil)
        #expect(bench.state.stored(changes, wereLate: true, bench.now).isTurn)
        #expect(bench.run().todo.wish != nil)
    }

    @Test func `an outcome ends a delivery once`() {
        var bench = LaneStateBench()
        bench.submit(1...3)
        _ = bench.run()
        #expect(
            bench.take([1, 2, 1], .delivered, code: 200).kinds == [1: .delivered, 2: .delivered])
        #expect(bench.take([1], .delivered, code: 200).endings.isEmpty)
        #expect(
            bench.take([3], .rejected, code: 400, reason: "bad").kinds
                == [3: .failed(reason: "bad", wasSent: true)])
    }

    @Test func `a retry wakes the lane when it is due`() {
        var bench = LaneStateBench()
        bench.submit(1...1)
        _ = bench.run()
        let at = bench.now.unixMs + 1_000
        let ended = bench.take([1], .retry, code: 418)
        #expect(ended.kinds == [1: .retry(atUnixMs: at, isFree: false)])
        // A lease would not find it before the store knows of it.
        #expect(bench.run().todo.wakeInMs == nil)
        #expect(bench.state.stored(ended.endings.map(\.end), wereLate: false, bench.now).isTurn)
        #expect(bench.run().todo.wakeInMs == 1_000)
        bench.wait(ms: 1_000)
        _ = bench.state.woken()
        #expect(bench.run().todo.wish != nil)
    }

    @Test func `a wall clock that is set neither holds the lane nor is missed`() {
        var bench = LaneStateBench()
        bench.submit(1...4)
        _ = bench.run()
        _ = bench.hold([1, 2, 3, 4])
        // An hour back: the wait is over all the same.
        bench.now.unixMs -= 900_000
        bench.now.steadyMs += 2_000
        _ = bench.state.woken()
        #expect(bench.run().todo.wish?.isProbe == true)
        // A delivery that is due in an hour is looked for before that.
        var other = LaneStateBench()
        _ = other.state.backlog()
        let wish = other.run().todo.wish
        _ = other.lend([], wish, nextDueInMs: 3_600_000)
        #expect(other.run().todo.wakeInMs == LaneState.lookMs)
    }

    @Test func `a plugin that says again is asked a second later, or when it says so`() {
        var bench = LaneStateBench()
        bench.submit(1...3)
        var turn = bench.state.turn(bench.now, batchMax: bench.batchMax)
        bench.state.heldBack(
            Array(turn.batch.dropFirst()), pauseEndings: turn.pauseEndings, bench.now)
        var rest = bench.run()
        #expect(rest.sent.isEmpty && rest.todo.wakeInMs == 1_000)
        #expect(bench.state.resume().isTurn)
        // It said so while it was asked.
        turn = bench.state.turn(bench.now, batchMax: bench.batchMax)
        #expect(turn.batch.map(\.id) == [2, 3])
        _ = bench.state.resume()
        bench.state.heldBack(turn.batch, pauseEndings: turn.pauseEndings, bench.now)
        rest = bench.run()
        #expect(rest.sent == [2, 3])
    }

    @Test func `a plugin that has crashed gets one delivery at a time, from the next turn on`() {
        var bench = LaneStateBench()
        bench.submit(1...5)
        #expect(bench.state.turn(bench.now, batchMax: 2).batch.map(\.id) == [1, 2])
        #expect(bench.state.turn(bench.now, batchMax: 1).batch.map(\.id) == [3])
        #expect(bench.state.turn(bench.now).batch.map(\.id) == [4, 5])
    }

    @Test func `past its deadline a delivery is not sent, and no attempt is counted`() {
        var bench = LaneStateBench()
        bench.submit([delivery(1, deadline: bench.now.unixMs), delivery(2)])
        let (sent, todo) = bench.run()
        #expect(sent == [2])
        #expect(todo.kinds == [1: .failed(reason: "expired", wasSent: false)])
    }

    @Test func `what was withdrawn before it was sent is settled, and nobody sees it`() {
        func push(_ id: UInt64, isWithdrawn: Bool) -> Delivery {
            var note = PushNotification()
            note.collapse = "k"
            note.isWithdrawn = isWithdrawn
            var made = delivery(id)
            made.content = SharedNotification(note)
            return made
        }
        var bench = LaneStateBench()
        bench.submit([push(1, isWithdrawn: false), push(2, isWithdrawn: true)])
        let (sent, todo) = bench.run()
        #expect(sent == [2])
        #expect(todo.endings.map(\.outcome.reason) == ["taken_back"])
        #expect(todo.kinds == [1: .delivered])
    }
}

/// What a lane does with connections, late answers, and its own end.
@Suite struct LaneLifeTests {
    @Test func `what a closing connection has not sent goes first to the next one`() {
        var bench = LaneStateBench(batchMax: 3)
        bench.submit(1...6)
        let turn = bench.state.turn(bench.now, batchMax: bench.batchMax)
        #expect(turn.batch.map(\.id) == [1, 2, 3])
        _ = bench.state.answered([
            PushResult(items: [3], answer: .fault(.withdrawn)),
            PushResult(items: [2], answer: .fault(.withdrawn)),
        ])
        let next = bench.run()
        // No attempt is counted, the store hears nothing, and the order is as before.
        #expect(next.sent == [4, 5, 6, 2, 3] || next.sent == [2, 3, 4, 5, 6])
        #expect(next.todo.endings.isEmpty)
    }

    @Test func `a late answer ends a delivery on disk, and a lease cannot bring it back`() {
        var bench = LaneStateBench { $0.lateAnswerMs = 5_000 }
        bench.submit(1...1)
        _ = bench.run()
        let todo = bench.fault([1], .timeout)
        #expect(todo.kinds == [1: .retry(atUnixMs: bench.now.unixMs + 5_000, isFree: false)])
        _ = bench.state.stored(todo.endings.map(\.end), wereLate: false, bench.now)
        // A lease is on its way when the answer comes.
        _ = bench.state.backlog()
        let wish = bench.run().todo.wish
        let late = bench.state.takeLate(
            [Outcome(item: 1, kind: .delivered, reason: "ok")], bench.now, random: { 0 })
        #expect(late.kinds == [1: .delivered])
        #expect(late.endings.first?.wasInMemory == false)
        #expect(bench.lend([1], wish).arrived == 0)
        #expect(bench.run().sent.isEmpty)
    }

    @Test func `a late answer ends an attempt that is under way`() {
        var bench = LaneStateBench()
        bench.submit(1...1)
        _ = bench.run()
        let todo = bench.fault([1], .timeout)
        _ = bench.state.stored(todo.endings.map(\.end), wereLate: false, bench.now)
        bench.wait(ms: 2_000)
        _ = bench.state.woken()
        let wish = bench.run().todo.wish
        _ = bench.lend([1], wish)
        #expect(bench.run().sent == [1])
        let late = bench.state.takeLate(
            [Outcome(item: 1, kind: .delivered)], bench.now, random: { 0 })
        #expect(late.endings.first?.wasInMemory == true)
        #expect(bench.take([1], .delivered, code: 200).endings.isEmpty)
    }

    @Test func `a late answer to a delivery that is over says nothing`() {
        var bench = LaneStateBench { $0.lateAnswerMs = 5_000 }
        bench.submit([delivery(1, deadline: bench.now.unixMs + 100)])
        _ = bench.run()
        #expect(bench.fault([1], .timeout).kinds == [1: .failed(reason: "expired", wasSent: true)])
        let late = bench.state.takeLate(
            [Outcome(item: 1, kind: .delivered)], bench.now, random: { 0 })
        #expect(late.endings.isEmpty)
    }

    @Test func `an unknown fate is not retried where that is forbidden`() {
        var bench = LaneStateBench { $0.isAtMostOnce = true }
        bench.submit(1...2)
        _ = bench.run()
        #expect(bench.fault([1], .lost).kinds == [1: .failed(reason: "lost", wasSent: true)])
        #expect(bench.fault([2], .timeoutUnsent).endings.first?.end.id == 2)
    }

    @Test func `a lane that drains sends what it has, and leases nothing`() {
        var bench = LaneStateBench()
        bench.submit(1...2)
        _ = bench.state.backlog()
        bench.state.drain()
        let rest = bench.run()
        #expect(rest.sent == [1, 2] && rest.todo.wish == nil)
        #expect(bench.state.reserve([delivery(3)]).isEmpty)
        let (isServed, _) = bench.state.committed(
            [], under: bench.token, askedMs: 0, isMoreOnDisk: true)
        #expect(!isServed)
    }

    @Test func `a lane that is replaced gives back what it has not sent`() {
        var bench = LaneStateBench(batchMax: 2)
        bench.submit(1...5)
        _ = bench.state.turn(bench.now, batchMax: bench.batchMax)
        let todo = bench.state.leave(bench.now)
        #expect(todo.isWithdrawal)
        #expect(todo.kinds == [3: .released, 4: .released, 5: .released])
        // Its successor is told as soon as they are on disk.
        #expect(
            bench.state.stored(todo.endings.map(\.end), wereLate: false, bench.now).isForSuccessor)
        // What the pool had not sent follows; what is in flight ends here.
        #expect(bench.fault([1], .withdrawn).kinds == [1: .released])
        #expect(bench.take([2], .delivered, code: 200).kinds == [2: .delivered])
        // What comes now is not for this lane.
        let late = bench.state.committed(
            [delivery(9)], under: bench.token, askedMs: 0, isMoreOnDisk: false)
        #expect(late.todo.returned?.ids == [9])
        #expect(bench.run().todo.wish == nil)
    }

    @Test func `a lane that stops reads what has come back, and gives back the rest`() {
        var bench = LaneStateBench()
        bench.submit(1...3)
        _ = bench.run()
        _ = bench.state.learned([Outcome(item: 1, kind: .delivered, reason: "ok")])
        #expect(bench.state.stop(bench.now).endings.isEmpty)
        let todo = bench.run().todo
        #expect(todo.kinds == [1: .delivered, 2: .released, 3: .released])
        #expect(bench.state.isStopped)
        #expect(!bench.state.backlog().isTurn)
        // A lease that comes too late goes back, too.
        #expect(bench.lend([4], nil).returned?.ids == [4])
    }
}
