import Testing

@testable import SignalboxHTTP

/// How many requests a slow peer gets at once, in virtual time.
@Suite struct StreamWindowTests {
    static let ms: UInt64 = 1_000_000

    /// A peer that answers requests one by one, and the pool that uses it.
    struct Simulation {
        var pool: PoolState
        /// Sent and unanswered requests, in order.
        var queue: [(flight: Flight, id: UInt64)] = []
        var waiting = 0
        var answered = 0
        var timedOut = 0
        var peak = 0
        var nowMs: UInt64 = 0

        init(peerMax: Int) {
            pool = PoolState(
                connectionsMax: 1, streamsMax: 0, isOneStreamFirst: false,
                timeoutNs: 10_000 * StreamWindowTests.ms)
            _ = pool.need(waiting: 1, nowNs: 0)
            pool.connected(1, peerMax: peerMax)
        }

        /// Runs for a time; the peer answers `perSecond` requests, each after at least `delayMs`.
        mutating func run(forMs: UInt64, perSecond: Double, delayMs: UInt64 = 0, demand: Int) {
            var capacity = 0.0
            for _ in 0..<forMs {
                nowMs += 1
                let now = nowMs * StreamWindowTests.ms
                capacity = min(capacity + perSecond / 1_000, max(1, perSecond / 1_000))
                while capacity >= 1, let first = queue.first,
                    now >= first.flight.sentNs + delayMs * StreamWindowTests.ms
                {
                    capacity -= 1
                    queue.removeFirst()
                    answered += first.flight.isOverdue ? 0 : 1
                    _ = pool.ended(
                        first.id, first.flight, status: 200, nowNs: now)
                }
                expire(now)
                waiting = demand
                while waiting > 0, let id = pool.place() {
                    waiting -= 1
                    queue.append((pool.opened(id, nowNs: now), id))
                }
                peak = max(peak, queue.count)
            }
        }

        private mutating func expire(_ now: UInt64) {
            let timeout = 10_000 * StreamWindowTests.ms
            for index in queue.indices
            where !queue[index].flight.isOverdue && now >= queue[index].flight.sentNs + timeout {
                queue[index].flight.isOverdue = true
                timedOut += 1
                _ = pool.timedOut(queue[index].id, queue[index].flight)
            }
            while let first = queue.first, now >= first.flight.sentNs + 2 * timeout {
                queue.removeFirst()
                _ = pool.ended(
                    first.id, nil, status: nil, nowNs: now)
            }
        }
    }

    @Test func `a healthy peer is never held back`() {
        var simulation = Simulation(peerMax: 1_000)
        simulation.run(forMs: 5_000, perSecond: 20_000, delayMs: 45, demand: 2_000)
        // The most that a pool uses of a thousand.
        #expect(simulation.peak == 985)
        #expect(simulation.pool.place() == nil)
        #expect(simulation.answered > 90_000)
    }

    @Test func `a peer that slows down gets fewer at once, and few requests time out`() {
        var simulation = Simulation(peerMax: 1_000)
        simulation.run(forMs: 5_000, perSecond: 20_000, delayMs: 45, demand: 2_000)
        // Now 20 per second: what is in flight would take 50 seconds.
        simulation.run(forMs: 120_000, perSecond: 20, delayMs: 45, demand: 2_000)
        // The requests that were in flight at that moment, and hardly any others.
        #expect(simulation.timedOut < 1_200, "\(simulation.timedOut) time-outs")
        let (timedOut, answered) = (simulation.timedOut, simulation.answered)
        simulation.run(forMs: 120_000, perSecond: 20, delayMs: 45, demand: 2_000)
        #expect(simulation.timedOut == timedOut)
        #expect(simulation.answered - answered > 2_300, "it is kept busy")
        #expect(simulation.pool.openCount <= 120)
    }

    @Test func `a peer that recovers gets all again`() {
        var simulation = Simulation(peerMax: 1_000)
        simulation.run(forMs: 60_000, perSecond: 20, delayMs: 45, demand: 2_000)
        #expect(simulation.pool.openCount < 200)
        simulation.run(forMs: 20_000, perSecond: 20_000, delayMs: 45, demand: 2_000)
        #expect(simulation.pool.openCount == 985)
    }

    @Test func `an answer that comes late does not raise the limit`() {
        var window = StreamWindow(timeoutNs: 10_000 * Self.ms)
        window.timedOut(answers: 0)
        #expect(window.limit == 1)
        window.answered(
            Flight(sentNs: 0, answersBefore: 0, isOverdue: true), answers: 1, peerMax: 100,
            nowNs: 12_000 * Self.ms)
        #expect(window.limit == 1)
    }

    @Test func `a wave of time-outs leaves what was answered in half of the time`() {
        var window = StreamWindow(timeoutNs: 10_000 * Self.ms)
        for _ in 0..<50 { window.timedOut(answers: 80) }
        #expect(window.limit == 40)
        // One request hangs while many are answered.
        window.timedOut(answers: 5_000)
        #expect(window.limit == 40)
        window.timedOut(answers: 20)
        #expect(window.limit == 10)
    }

    @Test func `a time-out cuts below what slow answers leave`() {
        var window = StreamWindow(timeoutNs: 10_000 * Self.ms)
        let flight = Flight(sentNs: 0, answersBefore: 0)
        window.answered(flight, answers: 30, peerMax: 1_000, nowNs: 6_000 * Self.ms)
        #expect(window.limit == 125)
        window.timedOut(answers: 40)
        #expect(window.limit == 20)
    }

    @Test func `an answer that is slow whatever is sent leaves an eighth of the peer's limit`() {
        var window = StreamWindow(timeoutNs: 10_000 * Self.ms)
        for round in UInt64(0)..<100 {
            window.answered(
                Flight(sentNs: round * 6_000 * Self.ms, answersBefore: 0), answers: 3,
                peerMax: 1_000, nowNs: (round + 1) * 6_000 * Self.ms)
        }
        #expect(window.limit == 125)
    }
}
