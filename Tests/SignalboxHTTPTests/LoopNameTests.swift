import Foundation
import Logging
import SignalboxCore
import SignalboxHTTP
import Testing

/// Event loops have names, like all threads.
@Suite struct LoopNameTests {
    private static func name() -> String {
        let text = try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
        return text?.trimmingCharacters(in: .newlines) ?? ""
    }

    @Test(arguments: [(1, ["sbx-push"]), (3, ["sbx-push-1", "sbx-push-2", "sbx-push-3"])])
    func `the loops of an engine are numbered`(threads: Int, names: [String]) async throws {
        let engine = try PushEngine(threads: threads)
        let (found, report) = AsyncStream.makeStream(of: String.self)
        // Nothing listens there, and a failed connect is reported on the pool's loop.
        let endpoint = try PushEndpoint(origin: "https://127.0.0.1:1")
        let pools = try (0..<threads).map { _ in
            try engine.makePool(endpoint: endpoint) { _ in
            } onEvent: { _ in
                report.yield(Self.name())
            } maySend: {
                true
            }
        }
        var batch = RequestBatch()
        let slice = batch.append(bytes: Array("/".utf8))
        batch.append(item: 1)
        batch.appendRequest(method: slice, path: slice, body: slice)
        for pool in pools { pool.submit(batch) }
        var all: Set<String> = []
        for await name in found {
            all.insert(name)
            if all.count == threads { break }
        }
        #expect(all.sorted() == names)
        for pool in pools { await pool.shutdown(deadlineMs: 0) }
        await engine.shutdown()
    }

    private struct Handler: HTTPServerHandler {
        func refusal(method: String, path: String) -> HTTPServerAnswer? { nil }
        func answer(
            _ request: HTTPServerRequest, done: @escaping @Sendable (HTTPServerAnswer) -> Void
        ) {
            done(HTTPServerAnswer(status: 200, body: Array(LoopNameTests.name().utf8)))
        }
    }

    @Test func `a listener's loop is one`() async throws {
        let server = try await HTTPServer.start(
            HTTPServerOptions(host: "127.0.0.1", port: 0),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, handler: Handler())
        let client = try RESTClient()
        let answer = try await client.answer(
            RESTCall(method: "GET", url: "http://127.0.0.1:\(server.port)/"))
        #expect(String(decoding: answer.body, as: UTF8.self) == "sbx-listener")
        client.shutdown()
        await server.shutdown()
    }
}
