import SignalboxCore
import SignalboxHTTP
import Testing

@Suite(.timeLimit(.minutes(2))) struct PushStallTests {
    @Test func `a connection that swallows requests gives way to another`() async throws {
        let rig = try await PushRig(swallowing: [1]) {
            $0.requestTimeoutMs = 1_000
            $0.connectionsMax = 1
        }
        rig.submit(1...5)
        let first = await rig.outcomes(5)
        #expect(first.values.allSatisfy { $0 == "timeout" }, "\(first)")
        rig.submit(6...10)
        let second = await rig.outcomes(10)
        #expect((6...10).allSatisfy { second[$0] == "200" }, "\(second)")
        #expect(rig.events.contains { $0.kind == .stalled && $0.connection == 1 })
        // It is closed once no late answer can come.
        #expect(await rig.settle { $0.draining == 0 && $0.ready == 1 && $0.inFlight == 0 })
        await rig.end()
    }

    @Test func `a connection that stops answering gives way after three time-outs`() async throws {
        let orders: [Order] = [.answer(200, "")] + Array(repeating: .stall, count: 3)
        let rig = try await PushRig(orders) {
            $0.requestTimeoutMs = 1_000
            $0.connectionsMax = 1
        }
        rig.submit(1...1)
        _ = await rig.outcomes(1)
        rig.submit(2...4)
        let outcomes = await rig.outcomes(4)
        #expect(outcomes == [1: "200", 2: "timeout", 3: "timeout", 4: "timeout"])
        rig.submit(5...5)
        #expect(await rig.outcomes(5)[5] == "200")
        #expect(rig.handler.seen.last?.connection == 2)
        await rig.end()
    }

    @Test func `a stop does not wait for a connection that answers nothing`() async throws {
        let rig = try await PushRig([.stall]) { $0.requestTimeoutMs = 10_000 }
        rig.submit(1...1)
        #expect(await rig.outcomes(1) == [1: "timeout"])
        let start = ContinuousClock.now
        await rig.pool.shutdown(deadlineMs: 60_000)
        // Waiting for the late answer alone would take as long as the time-out.
        #expect(ContinuousClock.now - start < .seconds(8))
        await rig.end()
    }

    @Test func `an answer that comes late is reported as such`() async throws {
        // The pool waits for the answer as long again: enough to release it on a busy machine.
        let rig = try await PushRig([.hold]) { $0.requestTimeoutMs = 15_000 }
        rig.submit(1...1)
        let first = await rig.wait(for: 1)
        #expect(first.map(\.isLate) == [false])
        #expect(await rig.outcomes(1) == [1: "timeout"])
        rig.handler.release()
        let both = await rig.wait(for: 2)
        #expect(both.map(\.isLate) == [false, true])
        #expect(both.last?.items == [1])
        guard case .response(let response)? = both.last?.answer else {
            Issue.record("no late answer but \(both)")
            return
        }
        #expect(response.status == 200)
        #expect(await rig.settle { $0.inFlight == 0 })
        await rig.end()
    }

    @Test func `a late answer is awaited as long as the time-out, then the stream is free`()
        async throws
    {
        let rig = try await PushRig([.answer(200, ""), .hold], streams: 1) {
            // The same time again to look before the stream is free.
            $0.requestTimeoutMs = 15_000
            $0.connectionsMax = 1
        }
        rig.submit(1...1)
        _ = await rig.outcomes(1)
        rig.submit(2...2)
        #expect(await rig.outcomes(2)[2] == "timeout")
        // The stream still counts towards the peer's limit.
        #expect(await rig.pool.status().inFlight == 1)
        #expect(await rig.settle { $0.inFlight == 0 })
        rig.handler.release()
        rig.submit(3...3)
        #expect(await rig.outcomes(3)[3] == "200")
        #expect(!rig.results.contains { $0.isLate })
        #expect(Set(rig.handler.seen.map(\.connection)).count == 1)
        await rig.end()
    }

    @Test func `a slow peer means slow progress, not a wave of time-outs`() async throws {
        // 40 answers fit into one time-out.
        let rig = try await PushRig(paceMs: 50) {
            $0.requestTimeoutMs = 2_000
            $0.connectionsMax = 1
        }
        rig.submit(1...60)
        _ = await rig.outcomes(60)
        #expect(await rig.settle { $0.inFlight == 0 })
        rig.submit(101...200)
        #expect(await rig.settle { $0.waiting == 0 && $0.inFlight == 0 })
        let outcomes = rig.results.filter { $0.items[0] > 100 && !$0.isLate }
        let answered = outcomes.count {
            if case .response = $0.answer { true } else { false }
        }
        #expect(answered >= 80, "\(answered) of \(outcomes.count)")
        await rig.end()
    }

    @Test func `a peer that takes one connection only is not called in a loop`() async throws {
        let rig = try await PushRig(holdMs: 10, streams: 5, serverConnectionsMax: 1) {
            $0.connectionsMax = 2
        }
        rig.submit(1...500)
        #expect(await rig.outcomes(500).values.allSatisfy { $0 == "200" })
        #expect((2...14).contains(rig.server.acceptedCount), "\(rig.server.acceptedCount)")
        await rig.end()
    }

    @Test func `a header that the peer refuses fails its own request alone`() async throws {
        let rig = try await PushRig()
        rig.submit(1...1)
        _ = await rig.outcomes(1)
        rig.submit(2...2, authorization: " bearer x ")
        rig.submit(3...3, authorization: "bearer\nx")
        rig.submit(4...4)
        let outcomes = await rig.outcomes(4)
        #expect(outcomes == [1: "200", 2: "reset", 3: "reset", 4: "200"])
        #expect(!rig.events.contains { $0.kind == .closed })
        await rig.end()
    }
}
