import Logging
import PluginRig
import Synchronization
import Testing

@testable import SignalboxHTTP

/// What a process does that did not run for a while.
@Suite struct StallTests {
    /// A clock that the test sets.
    private final class Clock: Sendable {
        private let ms = Atomic<UInt64>(1_000_000)

        var nowNs: UInt64 { ms.load(ordering: .relaxed) * 1_000_000 }

        func pass(ms count: UInt64) { ms.wrappingAdd(count, ordering: .relaxed) }
    }

    @Test
    func `what came while the process did not run is refused, because it may be elsewhere by now`()
        async throws
    {
        let clock = Clock()
        var options = HTTPServerOptions(host: "127.0.0.1", port: 0)
        options.nowNs = { clock.nowNs }
        let server = try await HTTPServer.start(
            options, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            handler: WebRig.Echo(gate: nil))
        let known = try RawClient(port: server.port)
        func status(_ client: RawClient, _ number: Int) async -> Substring {
            client.send("GET /known/\(number) HTTP/1.1\r\nhost: a\r\n\r\n")
            let answer = await client.read { text in
                text.contains("\(number)? 0") || text.contains("send it again")
            }
            return answer.prefix(12)
        }
        #expect(await status(known, 1) == "HTTP/1.1 200")
        clock.pass(ms: 3_400)
        #expect(await status(known, 2) == "HTTP/1.1 200")
        clock.pass(ms: 25_000)
        #expect(await status(known, 3) == "HTTP/1.1 503")
        // Others come a moment later.
        clock.pass(ms: 400)
        let new = try RawClient(port: server.port)
        #expect(await status(new, 4) == "HTTP/1.1 503")
        clock.pass(ms: 100)
        #expect(await status(new, 5) == "HTTP/1.1 200")
        #expect(await status(known, 6) == "HTTP/1.1 200")
        await server.shutdown()
    }
}
