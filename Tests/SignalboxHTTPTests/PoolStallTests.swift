import Testing

@testable import SignalboxHTTP

/// Connections that never answer, and peers that refuse connections, in virtual time.
@Suite struct PoolStallTests {
    static let second: UInt64 = 1_000_000_000

    /// A pool with one ready connection, proven by a success if `isProven`.
    func ready(connections: Int = 2, oneFirst: Bool = false, isProven: Bool) -> PoolState {
        var pool = PoolState(
            connectionsMax: connections, streamsMax: 0, isOneStreamFirst: oneFirst,
            timeoutNs: 10 * Self.second)
        _ = pool.need(waiting: 1, nowNs: 0)
        pool.connected(1, peerMax: 100)
        if isProven {
            let flight = pool.opened(1, nowNs: 0)
            _ = pool.ended(1, flight, status: 200, nowNs: Self.second)
        }
        return pool
    }

    @Test func `one time-out on a connection that never answered stalls it`() {
        var pool = ready(isProven: false)
        let flight = pool.opened(1, nowNs: 0)
        #expect(pool.timedOut(1, flight) == [.stalled(1)])
        #expect(pool.place() == nil)
        #expect(pool.need(waiting: 1, nowNs: 10 * Self.second) == [.connect(2)])
    }

    @Test func `three time-outs in a row stall a connection, an answer in between does not`() {
        var pool = ready(isProven: true)
        let flights = (0..<6).map { _ in pool.opened(1, nowNs: 2 * Self.second) }
        #expect(pool.timedOut(1, flights[0]) == [])
        #expect(pool.timedOut(1, flights[1]) == [])
        _ = pool.ended(1, flights[2], status: 400, nowNs: 12 * Self.second)
        // They were in flight while something was answered.
        for flight in flights[3...] {
            #expect(pool.timedOut(1, flight) == [])
        }
        let late = (0..<3).map { _ in pool.opened(1, nowNs: 13 * Self.second) }
        #expect(pool.timedOut(1, late[0]) == [])
        #expect(pool.timedOut(1, late[1]) == [])
        #expect(pool.timedOut(1, late[2]) == [.stalled(1)])
    }

    @Test func `a stalled connection closes when its last stream has ended`() {
        var pool = ready(isProven: false)
        let flights = [pool.opened(1, nowNs: 0), pool.opened(1, nowNs: 5 * Self.second)]
        _ = pool.timedOut(1, flights[0])
        #expect(
            pool.ended(1, flights[1], status: 200, nowNs: 11 * Self.second)
                == [])
        // The late answer did not come.
        #expect(
            pool.ended(1, nil, status: nil, nowNs: 20 * Self.second)
                == [.close(1)])
    }

    @Test func `a stop waits neither for late answers nor for a stalled connection`() {
        var pool = ready(isProven: true)
        let flight = pool.opened(1, nowNs: 2 * Self.second)
        _ = pool.timedOut(1, flight)
        #expect(pool.stop() == [.close(1)])

        pool = ready(isProven: false)
        let other = pool.opened(1, nowNs: 0)
        _ = pool.opened(1, nowNs: 5 * Self.second)
        _ = pool.timedOut(1, other)
        #expect(pool.stop() == [.close(1)])

        // The pool waits for requests that may still be answered in time, until they time out.
        pool = ready(isProven: true)
        let last = pool.opened(1, nowNs: 2 * Self.second)
        #expect(pool.stop() == [])
        #expect(pool.timedOut(1, last) == [.close(1)])
    }

    @Test func `a connection with nothing but overdue requests takes one more as a probe`() {
        var pool = ready(connections: 1, isProven: true)
        let flight = pool.opened(1, nowNs: 2 * Self.second)
        _ = pool.timedOut(1, flight)
        #expect(pool.place() == 1)
        _ = pool.opened(1, nowNs: 12 * Self.second)
        #expect(pool.place() == nil)
    }

    @Test func `successes on the first connection do not end the back-off of the second`() {
        var pool = ready(isProven: true)
        for _ in 0..<100 { _ = pool.opened(1, nowNs: Self.second) }
        var connects = 0
        var now = Self.second
        // A minute in steps of a millisecond, with a success in each.
        while now < 61 * Self.second {
            for action in pool.need(waiting: 5, nowNs: now) {
                guard case .connect(let id) = action else { continue }
                connects += 1
                pool.connected(id, peerMax: 100)
                _ = pool.closed(id, nowNs: now, random: 0.5)
            }
            let flight = Flight(sentNs: now, answersBefore: 0)
            _ = pool.ended(1, flight, status: 200, nowNs: now)
            _ = pool.opened(1, nowNs: now)
            now += 1_000_000
        }
        #expect((5...15).contains(connects), "\(connects) connects")
    }

    @Test func `failures beside a working connection do not delay its replacement`() {
        var pool = ready(isProven: true)
        for _ in 0..<100 { _ = pool.opened(1, nowNs: Self.second) }
        for round in 0..<8 {
            let now = UInt64(round * 20 + 1) * Self.second
            let id = UInt64(round + 2)
            #expect(pool.need(waiting: 1, nowNs: now) == [.connect(id)])
            pool.connectFailed(id, nowNs: now, random: 0.5)
        }
        let now = 142 * Self.second
        guard case .wake? = pool.need(waiting: 1, nowNs: now).first else {
            Issue.record("no back-off beside the first connection")
            return
        }
        _ = pool.closed(1, nowNs: now, random: 0.5)
        #expect(pool.need(waiting: 1, nowNs: now) == [.connect(10)])
    }

    @Test func `a connect that the host's bound postpones is asked for again`() {
        var pool = PoolState(
            connectionsMax: 1, streamsMax: 0, isOneStreamFirst: false, timeoutNs: Self.second)
        #expect(pool.need(waiting: 1, nowNs: 0) == [.connect(1)])
        #expect(pool.postponed(1, untilNs: 500) == [.wake(atNs: 500)])
        #expect(pool.need(waiting: 1, nowNs: 100) == [.wake(atNs: 500)])
        #expect(pool.need(waiting: 1, nowNs: 500) == [.connect(2)])
        #expect(!pool.isFailing)
    }
}

@Suite struct ConnectBudgetTests {
    static let second: UInt64 = 1_000_000_000

    @Test func `a thousand pools connect at once while nothing fails`() {
        var budget = ConnectBudget()
        let begun = (0..<1_000).count { _ in budget.begin(nowNs: 0) }
        #expect(begun == 1_000)
    }

    /// A thousand pools each ask once per second; a connect takes 100 ms.
    private func run(
        _ budget: inout ConnectBudget, fromMs: UInt64, toMs: UInt64, works: Bool,
        pools: Int = 1_000
    ) -> (begun: Int, lastMs: UInt64) {
        var ends: [UInt64: Int] = [:]
        var left = pools
        var begun = 0
        var last = fromMs
        for ms in fromMs..<toMs {
            let now = ms * 1_000_000
            for _ in 0..<(ends.removeValue(forKey: ms) ?? 0) {
                if works {
                    budget.connected()
                } else {
                    budget.failed(wasConnected: false, nowNs: now)
                    left += 1
                }
            }
            for _ in 0..<(left > 0 ? max(1, left / 1_000) : 0) where budget.begin(nowNs: now) {
                begun += 1
                left -= 1
                last = ms
                ends[ms + 100, default: 0] += 1
            }
        }
        return (begun, last)
    }

    @Test func `failures are bounded to ten per second, and a host that comes back is not`() {
        var budget = ConnectBudget()
        let first = run(&budget, fromMs: 0, toMs: 2_000, works: false)
        #expect(first.begun < 200, "\(first.begun)")
        let outage = run(&budget, fromMs: 3_000, toMs: 63_000, works: false)
        #expect((500...640).contains(outage.begun), "\(outage.begun)")
        let back = run(&budget, fromMs: 64_000, toMs: 104_000, works: true)
        #expect(back.begun == 1_000)
        #expect(back.lastMs < 80_000, "the last connects at \(back.lastMs) ms")
    }

    @Test func `connections of a host that works are left at ten per second`() {
        var budget = ConnectBudget()
        let left = (UInt64(0)..<10_000).count { budget.leave(nowNs: $0 * 1_000_000) }
        #expect((100...120).contains(left), "\(left)")
        let begins = budget.begin(nowNs: 10_000_000_000)
        #expect(begins)
    }

    @Test func `connections that come to nothing count as failures`() {
        var budget = ConnectBudget()
        var begun = 0
        for ms in UInt64(0)..<10_000 where budget.begin(nowNs: ms * 1_000_000) {
            begun += 1
            budget.connected()
            budget.failed(wasConnected: true, nowNs: ms * 1_000_000)
        }
        #expect((100...125).contains(begun), "\(begun)")
    }
}
