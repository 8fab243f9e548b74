import SignalboxCore
import SignalboxHTTP
import Testing

/// Pools of one owner that share their connections.
@Suite struct PushSharingTests {
    private final class Owner: Sendable {}

    /// One app: its pool, and its results.
    private final class App: Sendable {
        let pool: PushPool
        private let results: AsyncStream<PushResult>

        init(
            _ rig: PushRig, _ owner: Owner?, maySend: @escaping @Sendable () -> Bool = { true }
        ) throws {
            let (results, continuation) = AsyncStream.makeStream(of: PushResult.self)
            self.results = results
            pool = try rig.engine.makePool(
                endpoint: rig.endpoint, owner: owner,
                onResults: { for result in $0 { continuation.yield(result) } }, onEvent: { _ in },
                maySend: maySend)
        }

        func submit(_ numbers: ClosedRange<Int>) { pool.submit(PushRig.batch(numbers)) }

        /// The next results by item: a status, or the name of a fault.
        func outcomes(_ count: Int) async -> [UInt64: String] {
            var out: [UInt64: String] = [:]
            for await result in results {
                switch result.answer {
                case .response(let response): out[result.items[0]] = String(response.status)
                case .fault(let fault): out[result.items[0]] = fault.rawValue
                }
                if out.count == count { break }
            }
            return out
        }
    }

    private func connections(_ rig: PushRig) -> Set<UInt64> {
        Set(rig.handler.seen.map(\.connection))
    }

    @Test func `apps of one owner share a connection, and each gets its own results`()
        async throws
    {
        let (rig, owner) = (try await PushRig(), Owner())
        let (one, other) = (try App(rig, owner), try App(rig, owner))
        one.submit(1...3)
        #expect(await one.outcomes(3) == [1: "200", 2: "200", 3: "200"])
        other.submit(4...4)
        #expect(await other.outcomes(1) == [4: "200"])
        #expect(connections(rig).count == 1)
        await one.pool.shutdown(deadlineMs: 1_000)
        await other.pool.shutdown(deadlineMs: 1_000)
        await rig.end()
    }

    @Test func `pools of different owners, or of none, share nothing`() async throws {
        let rig = try await PushRig()
        let apps = [
            try App(rig, Owner()), try App(rig, Owner()), try App(rig, nil), try App(rig, nil),
        ]
        for app in apps {
            app.submit(1...1)
            #expect(await app.outcomes(1) == [1: "200"])
        }
        #expect(connections(rig).count == 4)
        for app in apps { await app.pool.shutdown(deadlineMs: 1_000) }
        await rig.end()
    }

    /// A provider that has seen a new credential must not see the previous one again.
    @Test func `requests of all apps are sent in the order in which they were submitted`()
        async throws
    {
        let rig = try await PushRig(streams: 1) { $0.connectionsMax = 1 }
        let owner = Owner()
        let (one, other) = (try App(rig, owner), try App(rig, owner))
        one.submit(1...3)
        other.submit(4...5)
        one.submit(6...6)
        _ = await one.outcomes(4)
        #expect(await other.outcomes(2).count == 2)
        #expect(rig.handler.paths == (1...6).map { "/\($0)" })
        for app in [one, other] { await app.pool.shutdown(deadlineMs: 1_000) }
        await rig.end()
    }

    @Test func `changed credentials give all apps of the owner new connections`() async throws {
        let (rig, owner) = (try await PushRig(), Owner())
        let apps = [try App(rig, owner), try App(rig, owner)]
        for app in apps {
            app.submit(1...1)
            _ = await app.outcomes(1)
        }
        rig.engine.outdate(owner)
        for app in apps { try app.pool.renew(rig.endpoint) }
        let later = try App(rig, owner)
        for app in apps + [later] {
            app.submit(2...2)
            #expect(await app.outcomes(1) == [2: "200"])
        }
        #expect(connections(rig).count == 2)
        for app in apps + [later] { await app.pool.shutdown(deadlineMs: 1_000) }
        await rig.end()
    }

    @Test func `a renewed pool without an owner has new connections`() async throws {
        let rig = try await PushRig()
        let app = try App(rig, nil)
        for number in 1...2 {
            app.submit(number...number)
            #expect(await app.outcomes(1) == [UInt64(number): "200"])
            try app.pool.renew(rig.endpoint)
        }
        #expect(connections(rig).count == 2)
        await app.pool.shutdown(deadlineMs: 1_000)
        await rig.end()
    }

    @Test func `an app that may not send holds nobody up`() async throws {
        let (rig, owner) = (try await PushRig(), Owner())
        let held = try App(rig, owner, maySend: { false })
        let other = try App(rig, owner)
        held.submit(1...2)
        other.submit(3...3)
        #expect(await held.outcomes(2) == [1: "withdrawn", 2: "withdrawn"])
        #expect(await other.outcomes(1) == [3: "200"])
        #expect(rig.handler.paths == ["/3"])
        for app in [held, other] { await app.pool.shutdown(deadlineMs: 1_000) }
        await rig.end()
    }

    @Test func `an app that leaves takes what it has in flight along, and no connection`()
        async throws
    {
        let (rig, owner) = (try await PushRig([.hold, .hold]), Owner())
        let (leaving, staying) = (try App(rig, owner), try App(rig, owner))
        leaving.submit(1...1)
        staying.submit(2...2)
        while rig.handler.seen.count < 2 { await Task.yield() }
        await leaving.pool.shutdown(deadlineMs: 50)
        #expect(await leaving.outcomes(1) == [1: "lost"])
        leaving.submit(3...3)
        rig.handler.release()
        #expect(await staying.outcomes(1) == [2: "200"])
        staying.submit(4...4)
        #expect(await staying.outcomes(1) == [4: "200"])
        #expect(Set(rig.handler.paths) == ["/1", "/2", "/4"])
        #expect(connections(rig).count == 1)
        await staying.pool.shutdown(deadlineMs: 1_000)
        await rig.end()
    }

    @Test func `an app whose endpoint changes leaves the others where they are`() async throws {
        let (rig, next, owner) = (try await PushRig(), try await PushRig(), Owner())
        let (moved, staying) = (try App(rig, owner), try App(rig, owner))
        for app in [moved, staying] {
            app.submit(1...1)
            _ = await app.outcomes(1)
        }
        var endpoint = next.endpoint
        endpoint.caFile = rig.endpoint.caFile
        try moved.pool.renew(endpoint)
        try staying.pool.renew(rig.endpoint)
        for app in [moved, staying] {
            app.submit(2...2)
            #expect(await app.outcomes(1) == [2: "200"])
        }
        #expect(next.handler.paths == ["/2"])
        #expect(connections(rig).count == 1)
        for app in [moved, staying] { await app.pool.shutdown(deadlineMs: 1_000) }
        await next.end()
        await rig.end()
    }
}
