import Logging
import PluginRig
import SignalboxCore
import SignalboxHTTP
import Testing

/// The configurations in deploy/, with a gateway that fails in front of its health checks' back.
@Suite(.timeLimit(.minutes(10))) struct BalancerRepeatTests {
    enum Fault: CaseIterable, Sendable { case none, refuses, hangs }

    /// Ready like a gateway, whatever it does with webhooks.
    private struct Gateway: AsyncHTTPServerHandler {
        let fault: Fault
        let end: AsyncStream<Void>

        func refusal(method: String, path: String) -> HTTPServerAnswer? { nil }

        func answer(_ request: HTTPServerRequest) async -> HTTPServerAnswer {
            if request.path != "/readyz" {
                if fault == .refuses { return HTTPServerAnswer(status: 503) }
                if fault == .hangs { for await _ in end {} }
            }
            return HTTPServerAnswer(status: 200)
        }
    }

    /// Head and body come in packets of their own, as many clients send them.
    private static func post(_ port: Int, bytes: Int) async throws -> String {
        let client = try RawClient(port: port)
        client.send(
            "POST /in/z HTTP/1.1\r\nhost: a\r\nconnection: close\r\n"
                + "content-length: \(bytes)\r\n\r\n")
        // The balancer has read the head when it has answered somebody else.
        let other = try RawClient(port: port)
        other.send("GET /readyz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
        _ = await other.read()
        client.send(String(repeating: "x", count: bytes))
        return await client.read()
    }

    /// Who never ends a request would hold a connection, and a buffer, for as long as the client's timeout allows.
    @Test(arguments: Front.Balancer.allCases, ["", "content-length: 9\r\n\r\nx"])
    func `a request that never ends is answered 408`(
        balancer: Front.Balancer, rest: String
    ) async throws {
        let port = try OwnPort.take()
        let front = try Front(balancer, port: port, [], requestMs: 200)
        var answer: String?
        for _ in 0..<6_000 where answer == nil {
            if let client = try? RawClient(port: port) {
                client.send("POST /in/z HTTP/1.1\r\nhost: a\r\n" + rest)
                answer = await client.read()
            } else {
                try await Task.sleep(for: .milliseconds(20))
            }
        }
        // nginx ends the connection without an answer if the head is missing.
        #expect(
            answer?.hasPrefix("HTTP/1.1 408") == true || balancer == .nginx && answer == "",
            "\(answer ?? "none"); \(front.said)")
        try await front.end()
    }

    @Test(arguments: Front.Balancer.allCases, [Fault.refuses, .hangs])
    func `a webhook whose gateway fails is answered by another one`(
        balancer: Front.Balancer, fault: Fault
    ) async throws {
        let (end, ending) = AsyncStream.makeStream(of: Void.self)
        var gateways: [HTTPServer] = []
        for fault in [fault, .none] {
            gateways.append(
                try await HTTPServer.start(
                    HTTPServerOptions(host: "127.0.0.1", port: 0),
                    logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
                    handler: Gateway(fault: fault, end: end)))
        }
        let port = try OwnPort.take()
        let front = try Front(balancer, port: port, gateways.map { ($0.port, $0.port) })
        for _ in 0..<6_000 {
            if let client = try? RawClient(port: port) {
                client.send("GET /readyz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
                if await client.read().hasPrefix("HTTP/1.1 200") { break }
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        let answers = try await withThrowingTaskGroup { group in
            for bytes in [300, 20_000, 60_000] {
                for _ in 0..<4 { group.addTask { try await Self.post(port, bytes: bytes) } }
            }
            return try await group.reduce(into: [String]()) { $0.append(String($1.prefix(12))) }
        }
        #expect(answers == Array(repeating: "HTTP/1.1 200", count: 12))
        ending.finish()
        try await front.end()
        for gateway in gateways { await gateway.shutdown() }
    }
}
