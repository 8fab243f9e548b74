import Foundation
import Logging
import PluginRig
import SignalboxCore
import SignalboxHTTP
import Synchronization
import Testing

/// Clients that send many requests at once, and clients that do not read their answers.
@Suite struct PipelineTests {
    /// Counts the bytes of its answers.
    private final class Counter: HTTPServerHandler {
        let bytes = Atomic<Int>(0)

        func refusal(method: String, path: String) -> HTTPServerAnswer? {
            path == "/refused" ? made(404) : nil
        }

        func answer(
            _ request: HTTPServerRequest, done: @escaping @Sendable (HTTPServerAnswer) -> Void
        ) { done(made(200)) }

        private func made(_ status: Int) -> HTTPServerAnswer {
            bytes.add(1_000, ordering: .relaxed)
            return HTTPServerAnswer(status: status, body: [UInt8](repeating: 65, count: 1_000))
        }
    }

    private static func server(_ handler: any HTTPServerHandler, requestSeconds: Int) async throws
        -> HTTPServer
    {
        var options = HTTPServerOptions(host: "127.0.0.1", port: 0)
        options.requestSeconds = requestSeconds
        return try await HTTPServer.start(
            options, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            handler: handler)
    }

    @Test func `when there are too many connections the longest idle one makes room`() async throws
    {
        var options = HTTPServerOptions(host: "127.0.0.1", port: 0)
        options.connectionsMax = 2
        let server = try await HTTPServer.start(
            options, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            handler: Counter())
        let first = try RawClient(port: server.port)
        first.send("GET /refused HTTP/1.1\r\nhost: a\r\nx-half: ")
        let second = try RawClient(port: server.port)
        second.send("GET /refused HTTP/1.1\r\nhost: a\r\n")
        let third = try RawClient(port: server.port)
        third.send("GET /refused HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
        #expect(await third.read().contains("404"))
        // The connection was closed without an answer.
        #expect(await first.read().isEmpty)
        second.send("connection: close\r\n\r\n")
        #expect(await second.read().contains("404"))
        await server.shutdown()
    }

    /// A client that is closed before its connection is active tells nobody: the stop waited for it forever.
    @Test(.timeLimit(.minutes(2)))
    func `half requests in all places keep neither newcomers out nor the server from stopping`()
        async throws
    {
        var options = HTTPServerOptions(host: "127.0.0.1", port: 0)
        options.connectionsMax = 16
        options.requestSeconds = 1
        let server = try await HTTPServer.start(
            options, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            handler: Counter())
        var clients: [RawClient] = []
        for _ in 0..<40 {
            let client = try RawClient(port: server.port)
            client.send("POST /answered HTTP/1.1\r\nhost: a\r\ncontent-length: 500\r\n\r\n{")
            clients.append(client)
        }
        for number in 0..<20 {
            let client = try RawClient(port: server.port)
            client.send("GET /refused HTTP/1.1\r\nhost: a\r\n\r\n")
            #expect(await client.read { $0.contains("404") }.contains("404"), "newcomer \(number)")
            clients.append(client)
        }
        await server.shutdown()
    }

    @Test func `unfinished bodies have a bound over all connections`() async throws {
        var options = HTTPServerOptions(host: "127.0.0.1", port: 0)
        options.bodiesBytesMax = 1_000
        let server = try await HTTPServer.start(
            options, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            handler: Counter())
        let head =
            "POST /answered HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 801\r\n\r\n"
        let part = String(repeating: "x", count: 800)
        let first = try RawClient(port: server.port)
        first.send(head + part)
        // The server has one loop: once it answers the second client, it has read
        // the first one's bytes.
        let second = try RawClient(port: server.port)
        second.send(
            "POST /answered HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        #expect(await second.read().contains("200"))
        let third = try RawClient(port: server.port)
        third.send(head + part)
        #expect(await third.read(until: { $0.contains("\r\n\r\n") }).contains(" 503 "))
        first.send("x")
        #expect(await first.read().contains(" 200 "))
        // There is room again.
        let fourth = try RawClient(port: server.port)
        fourth.send(head + part + "x")
        #expect(await fourth.read().contains(" 200 "))
        await server.shutdown()
    }

    @Test(arguments: ["/refused", "/answered"])
    func `a client that reads nothing is read no further, and closed in time`(
        path: String
    ) async throws {
        let counter = Counter()
        let server = try await Self.server(counter, requestSeconds: 0)
        let client = try RawClient(port: server.port, takesLittle: true)
        let sent = try await client.flood(
            "GET \(path) HTTP/1.1\r\nhost: a\r\n\r\n", bytes: 35_000_000)
        // Little more than the kernel's buffers on both sides.
        #expect(sent < 16 << 20)
        #expect(counter.bytes.load(ordering: .relaxed) < 16 << 20)
        await server.shutdown()
    }

    @Test(arguments: ["/refused", "/answered"])
    func `a client that reads gets all answers, however many requests it has sent`(
        path: String
    ) async throws {
        let counter = Counter()
        let server = try await Self.server(counter, requestSeconds: 30)
        let client = try RawClient(port: server.port, takesLittle: true)
        async let received = client.readCount()
        // On its own thread, because it blocks until the server reads.
        try await Tool.aside {
            client.send(String(repeating: "GET \(path) HTTP/1.1\r\nhost: a\r\n\r\n", count: 10_000))
            client.endSending()
        }
        #expect(await received > 10_000_000)
        #expect(counter.bytes.load(ordering: .relaxed) == 10_000_000)
        await server.shutdown()
    }

    @Test func `requests sent ahead of a slow answer are all answered`() async throws {
        let rig = try await WebRig()
        let client = try RawClient(port: rig.server.port)
        async let sent: Void = Tool.aside {
            client.send(
                "GET /known/wait HTTP/1.1\r\nhost: a\r\n\r\n"
                    + String(repeating: "GET /known HTTP/1.1\r\nhost: a\r\n\r\n", count: 5_000))
            client.endSending()
        }
        // The first ones have been read once the server answers another client.
        _ = try await rig.client.answer(rig.call("GET", "/known"))
        rig.release.finish()
        let text = await client.read()
        #expect(text.components(separatedBy: "HTTP/1.1 200").count == 5_002)
        try await sent
        await rig.end()
    }

    @Test func `an answer is not lost because nonsense follows its request`() async throws {
        let rig = try await WebRig()
        let client = try RawClient(port: rig.server.port)
        client.send(
            "GET /known/wait HTTP/1.1\r\nhost: a\r\n\r\n"
                + String(repeating: "\u{1}", count: 200_000))
        _ = try await rig.client.answer(rig.call("GET", "/known"))
        rig.release.finish()
        let text = await client.read()
        #expect(text.hasPrefix("HTTP/1.1 200") && text.contains("connection: close"))
        #expect(text.hasSuffix("GET /known/wait? 0 "))
        await rig.end()
    }
}
