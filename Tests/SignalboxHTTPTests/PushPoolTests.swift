import SignalboxCore
import SignalboxHTTP
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(2))) struct PushPoolTests {
    @Test func `requests arrive as they were written and answers come back`() async throws {
        let rig = try await PushRig([.answer(410, #"{"reason":"Unregistered"}"#)])
        rig.submit(1...1, body: #"{"a":1}"#)
        let results = await rig.wait(for: 1)
        guard case .response(let response)? = results.first?.answer else {
            Issue.record("no response but \(results)")
            return
        }
        #expect(response.status == 410)
        #expect(response.headers == [Attribute("x-a", "b")])
        #expect(response.body == Array(#"{"reason":"Unregistered"}"#.utf8))
        let request = try #require(rig.handler.seen.first)
        #expect(request.method == "POST")
        #expect(request.path == "/1")
        #expect(request.body == Array(#"{"a":1}"#.utf8))
        #expect(request.header("authorization") == "bearer x")
        #expect(request.header("content-length") == "7")
        #expect(request.authority == "127.0.0.1:\(rig.server.port)")
        #expect(rig.events.map(\.kind) == [.connected])
        await rig.end()
    }

    @Test func `a request with more headers than fit into a frame arrives`() async throws {
        let rig = try await PushRig()
        let long = String(repeating: "x", count: 40_000)
        rig.submit(1...2, authorization: long)
        #expect(await rig.outcomes(2) == [1: "200", 2: "200"])
        #expect(rig.handler.seen.allSatisfy { $0.header("authorization") == long })
        #expect(rig.handler.seen.map(\.body.count) == [2, 2])
        await rig.end()
    }

    @Test func `what comes after the body are trailers`() async throws {
        let rig = try await PushRig([.trailers([Attribute("grpc-status", "5")])])
        rig.submit(1...2)
        let answers = await rig.wait(for: 2).compactMap { result in
            if case .response(let response) = result.answer { response } else { nil }
        }
        let first = try #require(answers.first { $0.headers.count == 2 })
        #expect(first.headers == [Attribute("x-a", "b"), Attribute("grpc-status", "5")])
        #expect(first.trailerCount == 1 && first.body == Array("{}".utf8))
        let second = try #require(answers.first { $0.headers.count != 2 })
        #expect(second.trailerCount == 0)
        await rig.end()
    }

    @Test func `what waited until its lease may be over comes back unsent`() async throws {
        let isHeld = Atomic(true)
        // The connection that is made takes the second one, too.
        let rig = try await PushRig(maySend: { isHeld.exchange(false, ordering: .relaxed) })
        rig.submit(1...2)
        #expect(await rig.outcomes(2) == [1: "withdrawn", 2: "withdrawn"])
        #expect(rig.handler.seen.isEmpty)
        await rig.end()
    }

    @Test func `thousands go over one connection`() async throws {
        let rig = try await PushRig { $0.connectionsMax = 1 }
        for start in stride(from: 1, to: 5_000, by: 500) { rig.submit(start...start + 499) }
        let outcomes = await rig.outcomes(5_000)
        #expect(outcomes.count == 5_000)
        #expect(outcomes.values.allSatisfy { $0 == "200" })
        #expect(Set(rig.handler.seen.map(\.connection)).count == 1)
        await rig.end()
    }

    @Test func `large bodies pass the flow-control window`() async throws {
        let rig = try await PushRig()
        rig.submit(1...3, body: String(repeating: "x", count: 200_000))
        #expect(await rig.outcomes(3) == [1: "200", 2: "200", 3: "200"])
        #expect(rig.handler.seen.map(\.body.count) == [200_000, 200_000, 200_000])
        await rig.end()
    }

    @Test(arguments: [true, false])
    func `a peer without ALPN is taken where that is allowed`(isRequired: Bool) async throws {
        let rig = try await PushRig(offersALPN: false) {
            $0.isALPNRequired = isRequired
            $0.requestTimeoutMs = isRequired ? 300 : 10_000
        }
        rig.submit(1...1)
        #expect(await rig.outcomes(1) == [1: isRequired ? "unreachable" : "200"])
        if isRequired {
            #expect(rig.events.first?.text.contains("ALPN") == true)
        }
        await rig.end()
    }

    @Test func `an untrusted certificate is refused with words`() async throws {
        let rig = try await PushRig(trustsServer: false) { $0.requestTimeoutMs = 300 }
        rig.submit(1...2)
        #expect(await rig.outcomes(2) == [1: "unreachable", 2: "unreachable"])
        #expect(rig.handler.seen.isEmpty)
        let event = try #require(rig.events.first)
        #expect(event.kind == .connectFailed)
        #expect(event.text.contains("certificate is not trusted"))
        #expect(await rig.pool.status().failure == event.text)
        await rig.end()
    }

    @Test func `one stream until the first success`() async throws {
        let rig = try await PushRig([.answer(403, ""), .answerLater(ms: 30)]) {
            $0.isOneStreamFirst = true
            $0.connectionsMax = 3
        }
        rig.submit(1...50)
        let outcomes = await rig.outcomes(50)
        #expect(outcomes.values.count { $0 == "200" } == 49)
        // The first two were sent alone; the third shows that the gate opened.
        #expect(Set(rig.handler.seen.map(\.connection)).count == 1)
        await rig.end()
    }

    @Test func `streams stay within the peer's SETTINGS when they are lowered and raised`()
        async throws
    {
        let rig = try await PushRig(holdMs: 2, streams: 3) { $0.connectionsMax = 1 }
        rig.submit(1...60)
        #expect(await rig.outcomes(60).count == 60)
        rig.server.setMaxConcurrentStreams(0)
        #expect(await rig.settle { $0.waiting == 0 && $0.inFlight == 0 })
        // With a limit of 0 they wait; once it is raised, they are sent.
        rig.submit(61...70)
        rig.server.setMaxConcurrentStreams(2)
        let outcomes = await rig.outcomes(70)
        #expect(outcomes.values.allSatisfy { $0 == "200" })
        await rig.end()
    }

    @Test func `a second connection is opened when the first is full`() async throws {
        let rig = try await PushRig(holdMs: 30, streams: 5) { $0.connectionsMax = 2 }
        rig.submit(1...40)
        #expect(await rig.outcomes(40).values.allSatisfy { $0 == "200" })
        #expect(Set(rig.handler.seen.map(\.connection)).count == 2)
        await rig.end()
    }
}

@Suite(.timeLimit(.minutes(2))) struct PushFaultTests {
    @Test func `a refused stream is sent again`() async throws {
        let rig = try await PushRig([.refuse, .refuse])
        rig.submit(1...2)
        #expect(await rig.outcomes(2) == [1: "200", 2: "200"])
        #expect(rig.handler.seen.count == 4)
        await rig.end()
    }

    @Test func `a stream that is refused for ever is given up`() async throws {
        let rig = try await PushRig(Array(repeating: .refuse, count: 100))
        rig.submit(1...1)
        #expect(await rig.outcomes(1) == [1: "unreachable"])
        await rig.end()
    }

    @Test func `GOAWAY finishes what is below and moves the rest`() async throws {
        let rig = try await PushRig(
            [.answerLater(ms: 40), .goAway(includingThis: false, debug: #"{"reason":"Shutdown"}"#)])
        rig.submit(1...6)
        let outcomes = await rig.outcomes(6)
        #expect(outcomes.count == 6)
        #expect(outcomes.values.allSatisfy { $0 == "200" })
        #expect(Set(rig.handler.seen.map(\.connection)).count == 2)
        let goAway = rig.events.first { $0.kind == .goAway }
        #expect(goAway?.text == "Shutdown")
        await rig.end()
    }

    @Test func `GOAWAY of an idle connection costs nothing`() async throws {
        let rig = try await PushRig()
        rig.submit(1...1)
        _ = await rig.wait(for: 1)
        rig.server.goAwayAll(debugData: "max_age")
        #expect(await rig.settle { $0.ready == 0 && $0.draining == 0 })
        rig.submit(2...2)
        #expect(await rig.outcomes(2) == [1: "200", 2: "200"])
        #expect(rig.events.contains { $0.kind == .goAway && $0.text == "max_age" })
        await rig.end()
    }

    @Test func `a stream that is reset has an unknown fate`() async throws {
        let rig = try await PushRig([.answer(200, ""), .reset])
        rig.submit(1...3)
        let outcomes = await rig.outcomes(3)
        #expect(outcomes == [1: "200", 2: "reset", 3: "200"])
        let reset = rig.results.first { $0.items == [2] }
        #expect(reset?.detail == "the peer reset the stream with INTERNAL_ERROR (2)")
        await rig.end()
    }

    /// Each connection accepts one request and says that it accepts no more.
    @Test func `what a GOAWAY leaves moves as often as it must, in its order`() async throws {
        let count = 20
        let rig = try await PushRig(
            Array(repeating: .goAway(includingThis: true, debug: "one at a time"), count: count)
        ) { $0.connectionsMax = 1 }
        rig.submit(1...count)
        let outcomes = await rig.outcomes(count)
        #expect(outcomes.count == count && outcomes.values.allSatisfy { $0 == "200" })
        // The first request on each connection; the others were never processed.
        var first: [UInt64: String] = [:]
        for request in rig.handler.seen where first[request.connection] == nil {
            first[request.connection] = request.path
        }
        let order = first.sorted { $0.key < $1.key }.map(\.value)
        #expect(order == (1...count).map { "/\($0)" })
        await rig.end()
    }

    @Test func `a cut connection loses what was sent and the next one serves`() async throws {
        let rig = try await PushRig([.drop])
        rig.submit(1...1)
        #expect(await rig.outcomes(1) == [1: "lost"])
        rig.submit(2...2)
        #expect(await rig.outcomes(2) == [1: "lost", 2: "200"])
        await rig.end()
    }

    @Test func `a request that is never answered meets its deadline and harms no other`()
        async throws
    {
        let rig = try await PushRig([.stall]) {
            $0.requestTimeoutMs = 250
            $0.pingTimeoutMs = 10_000
        }
        rig.submit(1...2)
        #expect(await rig.outcomes(2) == [1: "timeout", 2: "200"])
        // Its stream was reset, so the slot is free and the connection still works.
        rig.submit(3...3)
        #expect(await rig.outcomes(3)[3] == "200")
        #expect(Set(rig.handler.seen.map(\.connection)).count == 1)
        await rig.end()
    }

    @Test func `deadlines fire while nothing can be connected`() async throws {
        let rig = try await PushRig { $0.requestTimeoutMs = 200 }
        await rig.server.closeListener(droppingConnections: true)
        rig.submit(1...3)
        #expect(await rig.outcomes(3) == [1: "unreachable", 2: "unreachable", 3: "unreachable"])
        #expect(rig.events.allSatisfy { $0.kind == .connectFailed })
        await rig.end()
    }

    @Test func `no program that is started inherits a connection`() async throws {
        let rig = try await PushRig()
        rig.submit(1...1)
        _ = await rig.outcomes(1)
        let found = inheritedSockets(port: rig.server.port)
        // The listener, and both ends of a connection.
        #expect(found.count >= 3 && found.inherited == 0, "\(found)")
        await rig.end()
    }

    @Test func `requests wait for a listener that comes back`() async throws {
        let rig = try await PushRig()
        rig.submit(1...1)
        _ = await rig.wait(for: 1)
        await rig.server.closeListener(droppingConnections: true)
        #expect(await rig.settle { $0.ready == 0 })
        rig.submit(2...5)
        #expect(await rig.settle { $0.isFailing })
        try await rig.server.reopenListener()
        let outcomes = await rig.outcomes(5)
        #expect(outcomes.values.allSatisfy { $0 == "200" })
        await rig.end()
    }

    @Test func `a peer that is silent at TLS level is noticed by PING`() async throws {
        let rig = try await PushRig([.answer(200, ""), .stall]) {
            $0.requestTimeoutMs = 6_000
            $0.pingTimeoutMs = 2_000
        }
        rig.submit(1...1)
        _ = await rig.wait(for: 1)
        // The server answers PINGs, so a stalled request alone must not end the connection.
        rig.submit(2...3)
        let outcomes = await rig.outcomes(2)
        #expect(outcomes[3] == "200" || outcomes[2] == "200")
        #expect(!rig.events.contains { $0.kind == .pingTimeout })
        await rig.end()
    }

    @Test func `shutdown answers everything`() async throws {
        let rig = try await PushRig([.stall])
        rig.submit(1...1)
        #expect(await rig.settle { $0.inFlight == 1 })
        await rig.pool.shutdown(deadlineMs: 50)
        rig.submit(2...2)
        let outcomes = await rig.outcomes(2)
        #expect(outcomes == [1: "lost", 2: "stopping"])
        await rig.end()
    }
}

extension PushRig {
    /// Polls the pool until its status is as wanted; false if it never is.
    func settle(_ isWanted: (PushPoolStatus) -> Bool) async -> Bool {
        let clock = ContinuousClock()
        let end = clock.now + .seconds(120)
        while true {
            // On a busy machine the answer may come after the end: it counts all the same.
            let isLate = clock.now >= end
            if isWanted(await pool.status()) { return true }
            if isLate { return false }
            await Task.yield()
        }
    }
}
