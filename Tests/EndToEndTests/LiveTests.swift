import Foundation
import PluginRig
import Signalbox
import SignalboxCore
import SignalboxHTTP
import Testing

/// `GET /live`: what keeps open admin pages up to date.
@Suite struct LiveTests {
    private static func open(_ rig: GatewayRig) throws -> RawClient {
        let client = try RawClient(port: try #require(rig.gateway.adminPort))
        client.send("GET /live HTTP/1.1\r\nhost: localhost\r\n\r\n")
        return client
    }

    private static func sample(_ text: String) -> Substring? {
        text.firstMatch(of: #/event: sample\ndata: {"unix_ms":(\d+)/#)?.output.1
    }

    @Test func `all readers get the same figures, made once`() async throws {
        let rig = try await GatewayRig()
        let first = try Self.open(rig)
        let begin = await first.read { Self.sample($0) != nil }
        #expect(begin.contains("content-type: text/event-stream\r\n"))
        #expect(begin.contains(#""gateway":""#) && begin.contains(#""changes":false"#))
        #expect(begin.contains(#"{"column":"route","name":"replies"}"#))
        #expect(begin.contains("event: history\ndata: ["))
        #expect(begin.contains(#""readiness":{"status":"ready""#))
        let second = try Self.open(rig)
        let stamp = try #require(
            Self.sample(await second.read { Self.sample($0) != nil })
        ).description
        #expect(await first.read { $0.contains(stamp) }.contains(stamp))
        await rig.end()
        // The gateway's end is theirs.
        _ = await first.read()
        _ = await second.read()
    }

    @Test func `a reload is told`() async throws {
        let rig = try await GatewayRig()
        let client = try Self.open(rig)
        _ = await client.read { Self.sample($0) != nil }
        let file = rig.file
        try
            (GatewayRig.plugins(rig.simulators) + "\n"
            + GatewayRig.routes.replacing("name: replies", with: "name: answers"))
            .write(to: file, atomically: true, encoding: .utf8)
        try await rig.gateway.reload()
        let told = await client.read { $0.contains("event: hello") && $0.contains("answers") }
        #expect(told.contains(#"{"column":"route","name":"answers"}"#))
        await rig.end()
    }

    @Test func `one too many is refused, until another one leaves`() async throws {
        let rig = try await GatewayRig()
        // An embedding program that asks gets the beginning, and takes no place.
        for _ in 0..<20 {
            let answer = await rig.gateway.admin(GatewayRequest(method: "GET", path: "/live"))
            #expect(answer.status == 200)
        }
        var readers: [RawClient] = []
        for _ in 0..<16 {
            let client = try Self.open(rig)
            #expect(await client.read(until: "event: hello").contains("HTTP/1.1 200"))
            readers.append(client)
        }
        let refused = try Self.open(rig)
        let answer = await refused.read(until: "close one")
        #expect(answer.hasPrefix("HTTP/1.1 503") && answer.contains("retry-after: 1"))
        readers.removeLast()
        var text = ""
        while !text.contains("event: hello") {
            text = await (try Self.open(rig)).read { $0.contains("\r\n\r\n") }
        }
        await rig.end()
    }
}
