import Foundation
import Logging
import PluginRig
import SignalboxCore
import SignalboxHTTP
import Testing

/// The listener with clients that send raw bytes over a socket, as no library would.
@Suite struct ListenerTests {
    private func count(_ word: String, in text: String) -> Int {
        text.components(separatedBy: word).count - 1
    }

    @Test func `requests that come all at once are answered in turn`() async throws {
        let rig = try await WebRig()
        let client = try RawClient(port: rig.server.port)
        client.send(
            "GET /known/1 HTTP/1.1\r\nhost: a\r\n\r\n"
                + "POST /known/2 HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\nabc"
                + "GET /other HTTP/1.1\r\nhost: a\r\n\r\n"
                + "POST /other HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\nabc"
                + "GET /known/3 HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
        let text = await client.read()
        let places = ["/known/1? 0", "/known/2? 3", "nothing is served", "/known/3? 0"].map {
            text.range(of: $0)?.lowerBound
        }
        #expect(
            !places.contains(nil) && places.compactMap { $0 } == places.compactMap { $0 }.sorted())
        #expect(count("HTTP/1.1 404", in: text) == 2)
        #expect(count("connection: close", in: text) == 1)
        await rig.end()
    }

    @Test func `a client that has closed its end gets its answer`() async throws {
        let rig = try await WebRig()
        let client = try RawClient(port: rig.server.port)
        client.send("GET /known/wait HTTP/1.1\r\nhost: a\r\n\r\n")
        client.endSending()
        rig.release.finish()
        #expect(await client.read().contains("GET /known/wait? 0"))
        await rig.end()
    }

    @Test func `HTTP 1.0 is answered and closed`() async throws {
        let rig = try await WebRig()
        let client = try RawClient(port: rig.server.port)
        client.send("GET /known/old HTTP/1.0\r\n\r\n")
        let text = await client.read()
        #expect(text.hasPrefix("HTTP/1.0 200") && text.hasSuffix("GET /known/old? 0 "))
        await rig.end()
    }

    @Test func `HEAD gets the length and no body`() async throws {
        let rig = try await WebRig()
        let client = try RawClient(port: rig.server.port)
        client.send("HEAD /known HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
        let text = await client.read()
        #expect(text.contains("content-length: 15\r\n") && text.hasSuffix("\r\n\r\n"))
        await rig.end()
    }

    @Test func `a client that waits is told to go on, or why not`() async throws {
        let rig = try await WebRig(bodyBytesMax: 1_000)
        let head = "HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length:"
        let client = try RawClient(port: rig.server.port)
        client.send("POST /known \(head) 3\r\n\r\n")
        #expect(await client.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 100"))
        client.send("abc")
        #expect(await client.read(until: "known? 3").contains("200 OK"))
        for (path, size, status) in [("/known", 1_001, "413"), ("/other", 3, "404")] {
            let refused = try RawClient(port: rig.server.port)
            refused.send("POST \(path) \(head) \(size)\r\n\r\n")
            let text = await refused.read()
            #expect(text.hasPrefix("HTTP/1.1 \(status)") && text.contains("connection: close"))
        }
        await rig.end()
    }

    @Test func `a body over the bound is answered although the client goes on sending`()
        async throws
    {
        let rig = try await WebRig(bodyBytesMax: 1_000)
        let client = try RawClient(port: rig.server.port)
        client.send("POST /known HTTP/1.1\r\nhost: a\r\ncontent-length: 3000\r\n\r\n")
        client.send(String(repeating: "a", count: 3_000))
        let text = await client.read()
        #expect(text.hasPrefix("HTTP/1.1 413") && text.contains("the body is over 1000 bytes"))
        await rig.end()
    }

    private static let chunked =
        "POST /known HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n"

    @Test(arguments: [
        ("NONSENSE\r\n\r\n", 400), ("\(chunked)zz\r\nabc\r\n0\r\n\r\n", 400),
        ("\(chunked)3\r\nabcdef\r\n0\r\n\r\n", 400), ("\(chunked)3\r\nabc\r\n-1\r\n", 400),
        ("GET / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n", 400),
        (
            "POST /known HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
            400
        ),
        (
            "GET /known HTTP/1.1\r\nhost: a\r\nlarge: \(String(repeating: "a", count: 20_000))\r\n\r\n",
            431
        ),
        ("GET /known HTTP/1.1\r\nhost: a\r\n\(String(repeating: "a: b\r\n", count: 200))\r\n", 431),
    ])
    func `what is not HTTP ends its own connection`(bytes: String, status: Int) async throws {
        let rig = try await WebRig()
        let client = try RawClient(port: rig.server.port)
        client.send(bytes)
        let text = await client.read()
        #expect(text.hasPrefix("HTTP/1.1 \(status)"), "\(text.prefix(60))")
        let answer = try await rig.client.answer(rig.call("GET", "/known"))
        #expect(answer.status == 200)
        await rig.end()
    }

    @Test(arguments: [
        ("GET /known HTTP/1.1\r\n\r\n", "400", "the request has no Host header"),
        (
            "GET /known HTTP/1.1\r\nhost: a\r\nHost: b\r\n\r\n", "400",
            "the request has more than one Host header"
        ),
        ("POST /known HTTP/1.1\r\ncontent-length: 3\r\n\r\nabc", "400", "no Host header"),
        ("GET /known HTTP/1.1\r\nhost: a, b\r\n\r\n", "400", "more than one Host"),
        ("POST /known HTTP/1.1\r\nhost: a\r\ncontent-length:  3 \r\n\r\nabc", "200", "known"),
        ("GET /known HTTP/1.0\r\n\r\n", "200", "known"),
        (
            "POST /known HTTP/1.1\r\nhost: a\r\ncontent-length: 9223372036854775808\r\n\r\n", "413",
            "the body is over"
        ),
        (
            "POST /known HTTP/1.1\r\nhost: a\r\ncontent-length: 99999999999999999999\r\n\r\n",
            "400",
            "this is not HTTP"
        ),
    ])
    func `a request names one host, and a length that fits`(
        request: String, status: String, words: String
    ) async throws {
        let rig = try await WebRig()
        let client = try RawClient(port: rig.server.port)
        client.send(request)
        let text = await client.read(until: words)
        #expect(text.contains(" \(status) ") && text.contains(words), "\(text.prefix(200))")
        await rig.end()
    }

    @Test func `of two Authorization headers none counts`() async throws {
        let rig = try await WebRig()
        let client = try RawClient(port: rig.server.port)
        client.send(
            "GET /known HTTP/1.1\r\nhost: a\r\nAuthorization: Bearer a\r\nauthorization: b\r\n\r\n")
        let text = await client.read(until: "Authorization header")
        #expect(text.hasPrefix("HTTP/1.1 400"), "\(text)")
        client.send("GET /known HTTP/1.1\r\nhost: a\r\nauthorization: Bearer a\r\n\r\n")
        #expect(await client.read(until: "known? 0").contains("200 OK"))
        await rig.end()
    }

    @Test func `a stop answers what is open and closes what is idle`() async throws {
        let rig = try await WebRig()
        let idle = try RawClient(port: rig.server.port)
        idle.send("GET /known HTTP/1.1\r\nhost: a\r\n\r\n")
        #expect(await idle.read(until: "known? 0").contains("200 OK"))
        let open = try RawClient(port: rig.server.port)
        open.send("GET /known/wait HTTP/1.1\r\nhost: a\r\n\r\n")
        _ = await rig.client.asked(rig.call("GET", "/known"))
        async let ended: Void = rig.server.shutdown()
        #expect(await idle.read().isEmpty)
        rig.release.finish()
        let text = await open.read()
        #expect(text.contains("GET /known/wait? 0") && text.contains("connection: close"))
        await ended
        rig.client.shutdown()
    }

    @Test func `a second stop waits for the first, and ends`() async throws {
        let rig = try await WebRig()
        async let first: Void = rig.server.shutdown()
        await rig.server.shutdown()
        await first
        await rig.server.shutdown()
        rig.client.shutdown()
    }

    @Test func `who begins and does not go on is closed in time`() async throws {
        var options = HTTPServerOptions(host: "127.0.0.1", port: 0)
        options.idleSeconds = 0
        options.requestSeconds = 0
        let server = try await HTTPServer.start(
            options, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            handler: WebRig.Echo(gate: nil))
        for bytes in [
            "", "GET /kno", "POST /known HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nabc",
        ] {
            let client = try RawClient(port: server.port)
            client.send(bytes)
            #expect(await client.read().isEmpty)
        }
        await server.shutdown()
    }
}

extension RESTClient {
    /// The status; 0 on any failure.
    fileprivate func asked(_ call: RESTCall) async -> UInt32 {
        (try? await answer(call).status) ?? 0
    }
}
