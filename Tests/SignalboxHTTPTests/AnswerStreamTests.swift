import Foundation
import Logging
import PluginRig
import SignalboxCore
import SignalboxHTTP
import Synchronization
import Testing

/// Answers that last until somebody closes the connection.
@Suite struct AnswerStreamTests {
    /// Answers everything with a stream.
    private struct Streams: AsyncHTTPServerHandler {
        let stream: AnswerStream

        func refusal(method: String, path: String) -> HTTPServerAnswer? { nil }

        func answer(_ request: HTTPServerRequest) async -> HTTPServerAnswer {
            var answer = HTTPServerAnswer(status: 200, body: Array("begin;".utf8))
            answer.stream = stream
            return answer
        }
    }

    private final class Flag: Sendable {
        let value = Mutex(false)
    }

    private struct Rig {
        let server: HTTPServer
        let stream: AnswerStream
        let ended: AsyncStream<Void>
        let isOver: Flag

        init() async throws {
            let (ended, end) = AsyncStream.makeStream(of: Void.self)
            self.ended = ended
            let isOver = Flag()
            self.isOver = isOver
            stream = AnswerStream {
                isOver.value.withLock { $0 = true }
                end.yield()
            }
            server = try await HTTPServer.start(
                HTTPServerOptions(host: "127.0.0.1", port: 0),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
                handler: Streams(stream: stream))
        }

        func ask(_ method: String = "GET", takesLittle: Bool = false) throws -> RawClient {
            let client = try RawClient(port: server.port, takesLittle: takesLittle)
            client.send("\(method) /a HTTP/1.1\r\nhost: a\r\n\r\n")
            return client
        }

        func end() async { for await _ in ended { return } }
    }

    @Test func `parts follow the beginning until the server ends`() async throws {
        let rig = try await Rig()
        let client = try rig.ask()
        let head = await client.read(until: "begin;")
        #expect(head.contains("connection: close\r\n") && !head.contains("content-length"))
        rig.stream.send(Array("one;".utf8))
        rig.stream.send(Array("two;".utf8))
        #expect(await client.read(until: "two;") == "one;two;")
        await rig.server.shutdown()
        #expect(await client.read() == "")
        await rig.end()
        // Nobody is left.
        rig.stream.send(Array("three;".utf8))
    }

    @Test func `a client that leaves ends its stream`() async throws {
        let rig = try await Rig()
        var client: RawClient? = try rig.ask()
        _ = await client?.read(until: "begin;")
        client = nil
        await rig.end()
        await rig.server.shutdown()
    }

    @Test func `a client that does not read is disconnected`() async throws {
        let rig = try await Rig()
        let client = try rig.ask(takesLittle: true)
        _ = await client.read(until: "begin;")
        // More than the buffers of both sides take.
        let part = [UInt8](repeating: 65, count: 64 << 10)
        for _ in 0..<256 { rig.stream.send(part) }
        for _ in 0..<1_000 where !rig.isOver.value.withLock({ $0 }) {
            await withCheckedContinuation { turn in rig.server.turn { turn.resume() } }
        }
        #expect(rig.isOver.value.withLock { $0 })
        async let end: Void = rig.server.shutdown()
        #expect(await client.readCount() < 256 * part.count)
        await end
    }

    @Test func `HEAD gets the head, and the stream ends at once`() async throws {
        let rig = try await Rig()
        let client = try rig.ask("HEAD")
        await rig.end()
        client.endSending()
        let text = await client.read()
        #expect(text.hasPrefix("HTTP/1.1 200") && !text.contains("begin;"))
        await rig.server.shutdown()
    }
}
