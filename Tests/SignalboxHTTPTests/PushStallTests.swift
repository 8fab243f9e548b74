import SignalboxCore
import SignalboxHTTP
import Testing

@Suite(.timeLimit(.minutes(2))) struct PushStallTests {
    @Test func `a connection that swallows requests gives way to another`() async throws {
        let bench = try await PushBench(swallowing: [1]) {
            $0.requestTimeoutMs = 1_000
            $0.connectionsMax = 1
        }
        bench.submit(1...5)
        let first = await bench.outcomes(5)
        #expect(first.values.allSatisfy { $0 == "timeout" }, "\(first)")
        bench.submit(6...10)
        let second = await bench.outcomes(10)
        #expect((6...10).allSatisfy { second[$0] == "200" }, "\(second)")
        #expect(bench.events.contains { $0.kind == .stalled && $0.connection == 1 })
        // Once nothing late can come, it is closed.
        #expect(await bench.settle { $0.draining == 0 && $0.ready == 1 && $0.inFlight == 0 })
        await bench.end()
    }

    @Test func `a connection that stops answering gives way after three time-outs`() async throws {
        let orders: [Order] = [.answer(200, "")] + Array(repeating: .stall, count: 3)
        let bench = try await PushBench(orders) {
            $0.requestTimeoutMs = 1_000
            $0.connectionsMax = 1
        }
        bench.submit(1...1)
        _ = await bench.outcomes(1)
        bench.submit(2...4)
        let outcomes = await bench.outcomes(4)
        #expect(outcomes == [1: "200", 2: "timeout", 3: "timeout", 4: "timeout"])
        bench.submit(5...5)
        #expect(await bench.outcomes(5)[5] == "200")
        #expect(bench.handler.seen.last?.connection == 2)
        await bench.end()
    }

    @Test func `a stop does not wait for a connection that answers nothing`() async throws {
        let bench = try await PushBench([.stall]) { $0.requestTimeoutMs = 10_000 }
        bench.submit(1...1)
        #expect(await bench.outcomes(1) == [1: "timeout"])
        let start = ContinuousClock.now
        await bench.pool.shutdown(deadlineMs: 60_000)
        // The late answer alone would be waited for as long as the time-out.
        #expect(ContinuousClock.now - start < .seconds(8))
        await bench.end()
    }

    @Test func `an answer that comes late is reported as such`() async throws {
        // The answer is awaited as long again: enough to release it on a busy machine.
        let bench = try await PushBench([.hold]) { $0.requestTimeoutMs = 15_000 }
        bench.submit(1...1)
        let first = await bench.wait(for: 1)
        #expect(first.map(\.isLate) == [false])
        #expect(await bench.outcomes(1) == [1: "timeout"])
        bench.handler.release()
        let both = await bench.wait(for: 2)
        #expect(both.map(\.isLate) == [false, true])
        #expect(both.last?.items == [1])
        guard case .response(let response)? = both.last?.answer else {
            Issue.record("no late answer but \(both)")
            return
        }
        #expect(response.status == 200)
        #expect(await bench.settle { $0.inFlight == 0 })
        await bench.end()
    }

    @Test func `a late answer is awaited as long as the time-out, then the stream is free`()
        async throws
    {
        let bench = try await PushBench([.answer(200, ""), .hold], streams: 1) {
            // As much time, again, to look before the stream is free.
            $0.requestTimeoutMs = 15_000
            $0.connectionsMax = 1
        }
        bench.submit(1...1)
        _ = await bench.outcomes(1)
        bench.submit(2...2)
        #expect(await bench.outcomes(2)[2] == "timeout")
        // The stream still counts against the peer's limit.
        #expect(await bench.pool.status().inFlight == 1)
        #expect(await bench.settle { $0.inFlight == 0 })
        bench.handler.release()
        bench.submit(3...3)
        #expect(await bench.outcomes(3)[3] == "200")
        #expect(!bench.results.contains { $0.isLate })
        #expect(Set(bench.handler.seen.map(\.connection)).count == 1)
        await bench.end()
    }

    @Test func `a slow peer means slow progress, not a wave of time-outs`() async throws {
        // 40 answers fit into a time-out.
        let bench = try await PushBench(paceMs: 50) {
            $0.requestTimeoutMs = 2_000
            $0.connectionsMax = 1
        }
        bench.submit(1...60)
        _ = await bench.outcomes(60)
        #expect(await bench.settle { $0.inFlight == 0 })
        bench.submit(101...200)
        #expect(await bench.settle { $0.waiting == 0 && $0.inFlight == 0 })
        let outcomes = bench.results.filter { $0.items[0] > 100 && !$0.isLate }
        let answered = outcomes.count {
            if case .response = $0.answer { true } else { false }
        }
        #expect(answered >= 80, "\(answered) of \(outcomes.count)")
        await bench.end()
    }

    @Test func `a peer that takes one connection only is not called in a loop`() async throws {
        let bench = try await PushBench(holdMs: 10, streams: 5, serverConnectionsMax: 1) {
            $0.connectionsMax = 2
        }
        bench.submit(1...500)
        #expect(await bench.outcomes(500).values.allSatisfy { $0 == "200" })
        #expect((2...14).contains(bench.server.acceptedCount), "\(bench.server.acceptedCount)")
        await bench.end()
    }

    @Test func `a header that the peer refuses fails its own request alone`() async throws {
        let bench = try await PushBench()
        bench.submit(1...1)
        _ = await bench.outcomes(1)
        bench.submit(2...2, authorization: " bearer x ")
        bench.submit(3...3, authorization: "bearer\nx")
        bench.submit(4...4)
        let outcomes = await bench.outcomes(4)
        #expect(outcomes == [1: "200", 2: "reset", 3: "reset", 4: "200"])
        #expect(!bench.events.contains { $0.kind == .closed })
        await bench.end()
    }
}
