import Testing

@testable import SignalboxHTTP

@Suite struct PoolStateTests {
    func pool(_ connections: Int = 2, streams: Int = 0, oneFirst: Bool = false) -> PoolState {
        PoolState(
            connectionsMax: connections, streamsMax: streams, isOneStreamFirst: oneFirst,
            timeoutNs: 10_000_000_000)
    }

    func fill(_ pool: inout PoolState) -> [UInt64] {
        var placed: [UInt64] = []
        while let id = pool.place(), placed.count < 1_000 {
            _ = pool.opened(id, nowNs: 0)
            placed.append(id)
        }
        return placed
    }

    @Test func `connects when something waits, and only once at a time`() {
        var pool = pool()
        #expect(pool.need(waiting: 0, nowNs: 0) == [])
        #expect(pool.need(waiting: 1, nowNs: 0) == [.connect(1)])
        #expect(pool.need(waiting: 9, nowNs: 0) == [])
        pool.connected(1, peerMax: 3)
        #expect(pool.need(waiting: 9, nowNs: 0) == [])
        #expect(fill(&pool) == [1, 1, 1])
        #expect(pool.need(waiting: 1, nowNs: 0) == [.connect(2)])
        pool.connected(2, peerMax: 1)
        #expect(fill(&pool) == [2])
        #expect(pool.need(waiting: 1, nowNs: 0) == [])
    }

    @Test func `obeys the peer's limit when it rises, falls and is zero`() {
        var pool = pool(1)
        _ = pool.need(waiting: 1, nowNs: 0)
        pool.connected(1, peerMax: 0)
        #expect(pool.place() == nil)
        pool.settings(1, peerMax: 2)
        #expect(fill(&pool).count == 2)
        pool.settings(1, peerMax: 1)
        _ = pool.ended(1, isSuccess: true)
        #expect(pool.place() == nil)
        _ = pool.ended(1, isSuccess: true)
        #expect(pool.place() == 1)
    }

    @Test(arguments: [(1, 1), (63, 63), (100, 99), (640, 630)])
    func `a few of many streams stay free`(peerMax: Int, used: Int) {
        var pool = pool(1)
        _ = pool.need(waiting: 1, nowNs: 0)
        pool.connected(1, peerMax: peerMax)
        #expect(fill(&pool).count == used)
    }

    @Test func `a peer that allows no stream does not hold requests up`() {
        var pool = pool(2, oneFirst: true)
        _ = pool.need(waiting: 1, nowNs: 0)
        pool.connected(1, peerMax: 0)
        // It is not being proven: nothing can be sent on it.
        #expect(pool.need(waiting: 1, nowNs: 0) == [.connect(2)])
        pool.connected(2, peerMax: 0)
        #expect(pool.need(waiting: 1, nowNs: 0) == [])
        #expect(pool.starved() == [.stalled(1), .close(1), .stalled(2), .close(2)])
        // They were useless, so the next connect waits.
        for id in UInt64(1)...2 {
            let isFailure = pool.closed(id, nowNs: 0, random: 0.5)
            #expect(isFailure)
        }
        guard case .wake? = pool.need(waiting: 1, nowNs: 0).first else {
            Issue.record("no back-off")
            return
        }
    }

    @Test func `one stream until the first success, then all`() {
        var pool = pool(3, oneFirst: true)
        _ = pool.need(waiting: 1, nowNs: 0)
        pool.connected(1, peerMax: 1000)
        #expect(fill(&pool) == [1])
        // It is being proven, not full: it needs no second connection.
        #expect(pool.need(waiting: 5, nowNs: 0) == [])
        _ = pool.ended(1, isSuccess: false)
        #expect(fill(&pool) == [1])
        _ = pool.ended(1, isSuccess: true)
        #expect(fill(&pool).count == 985)
    }

    @Test func `waits longer after each failure, up to a bound, and forgets at success`() {
        var pool = pool()
        var now: UInt64 = 0
        var waits: [UInt64] = []
        for round in 1...10 {
            #expect(pool.need(waiting: 1, nowNs: now) == [.connect(UInt64(round))])
            pool.connectFailed(UInt64(round), nowNs: now, random: 0.5)
            #expect(pool.isFailing)
            guard case .wake(let at)? = pool.need(waiting: 1, nowNs: now).first else {
                Issue.record("no back-off in round \(round)")
                return
            }
            waits.append((at - now) / 1_000_000)
            now = at
        }
        #expect(waits == [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000, 10_000])
        _ = pool.need(waiting: 1, nowNs: now)
        pool.connected(11, peerMax: 1)
        #expect(!pool.isFailing)
    }

    @Test func `one 503 in a hundred costs no connection, ten in a row do`() {
        var pool = pool()
        _ = pool.need(waiting: 1, nowNs: 0)
        pool.connected(1, peerMax: 100)
        for number in 0..<1_000 {
            #expect(pool.answered(1, number.isMultiple(of: 100) ? 503 : 200) == [])
        }
        for _ in 1..<PoolState.unavailableMax { #expect(pool.answered(1, 503) == []) }
        #expect(pool.answered(1, 429) == [])
        for _ in 1..<PoolState.unavailableMax { #expect(pool.answered(1, 503) == []) }
        #expect(pool.answered(1, 503) == [.leave(1)])
        // If the host's bound forbids it, the next ten ask again.
        #expect(pool.answered(1, 503) == [])
    }

    @Test func `a drained connection takes nothing and closes when it is empty`() {
        var pool = pool()
        _ = pool.need(waiting: 1, nowNs: 0)
        pool.connected(1, peerMax: 10)
        _ = pool.opened(1, nowNs: 0)
        #expect(pool.drain(1) == [])
        #expect(pool.place() == nil)
        #expect(pool.need(waiting: 1, nowNs: 0) == [.connect(2)])
        #expect(pool.ended(1, isSuccess: true) == [.close(1)])
        #expect(pool.closed(1, nowNs: 0, random: 0.5) == false)
        #expect(pool.ids == [2])
    }

    @Test func `a connection that never did any good counts as a failed connect`() {
        var pool = pool()
        _ = pool.need(waiting: 1, nowNs: 0)
        pool.connected(1, peerMax: 10)
        #expect(pool.closed(1, nowNs: 0, random: 0.5) == true)
        #expect(pool.isFailing)
        #expect(pool.need(waiting: 1, nowNs: 0) == [.wake(atNs: 100_000_000)])
        _ = pool.need(waiting: 1, nowNs: 100_000_000)
        pool.connected(2, peerMax: 10)
        _ = pool.opened(2, nowNs: 100_000_000)
        _ = pool.ended(2, isSuccess: true)
        #expect(pool.closed(2, nowNs: 200_000_000, random: 0.5) == false)
        #expect(!pool.isFailing)
        #expect(pool.need(waiting: 1, nowNs: 200_000_000) == [.connect(3)])
    }

    @Test func `an own cap and a full socket hold requests back`() {
        var pool = pool(1, streams: 2)
        _ = pool.need(waiting: 1, nowNs: 0)
        pool.connected(1, peerMax: 10)
        pool.writability(1, false)
        #expect(pool.place() == nil)
        pool.writability(1, true)
        #expect(fill(&pool).count == 2)
    }

    @Test func `nothing is connected once it stops`() {
        var pool = pool()
        _ = pool.need(waiting: 1, nowNs: 0)
        pool.connected(1, peerMax: 10)
        #expect(pool.stop() == [.close(1)])
        #expect(pool.need(waiting: 1, nowNs: 0) == [])
    }
}

extension PoolState {
    /// Ends a request that was sent at this moment.
    mutating func ended(_ id: UInt64, isSuccess: Bool) -> [Action] {
        ended(
            id, Flight(sentNs: 0, answersBefore: 0), status: isSuccess ? 200 : 400, nowNs: 0)
    }

    /// Sends a request that is answered with this status.
    mutating func answered(_ id: UInt64, _ status: UInt32) -> [Action] {
        ended(id, opened(id, nowNs: 0), status: status, nowNs: 0)
    }
}
