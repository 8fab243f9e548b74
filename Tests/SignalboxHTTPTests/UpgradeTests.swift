import Foundation
import PluginRig
import SignalboxHTTP
import Testing

/// Upgrade requests: none is accepted, and the connection continues in HTTP/1.1.
@Suite struct UpgradeTests {
    /// The headers that Java's HttpClient sends by default over plain HTTP.
    static let java =
        "connection: Upgrade, HTTP2-Settings\r\nhost: 127.0.0.1\r\nhttp2-settings: "
        + "AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA\r\nupgrade: h2c\r\nuser-agent: Java\r\n"
    /// The headers that `curl --http2` sends.
    static let curl =
        "Host: 127.0.0.1\r\nUser-Agent: curl/7.88.1\r\nAccept: */*\r\nConnection: Upgrade, "
        + "HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n"
    /// The decoder continues by itself after this one.
    static let partial = "Host: a\r\nUpgrade: h2c\r\n"

    static let requests = [
        "GET /known/1 HTTP/1.1\r\n\(java)content-length: 0\r\n\r\n",
        "GET /known/1 HTTP/1.1\r\n\(curl)\r\n",
        "GET /other HTTP/1.1\r\n\(java)\r\n",
        "POST /known/1 HTTP/1.1\r\n\(java)content-length: 3\r\n\r\nabc",
        "POST /known/1 HTTP/1.1\r\n\(curl)Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        "POST /other HTTP/1.1\r\n\(java)content-length: 3\r\n\r\nabc",
        "GET /known/1 HTTP/1.1\r\n\(partial)\r\n",
        "POST /known/1 HTTP/1.1\r\n\(partial)content-length: 3\r\n\r\nabc",
    ]

    @Test(arguments: requests)
    func `a connection goes on after a request for an upgrade`(request: String) async throws {
        let rig = try await WebRig()
        let client = try RawClient(port: rig.server.port)
        for _ in 0..<3 {
            client.send(request)
            let text = await client.read(
                until: request.contains("/other") ? "here\"}" : "/known/1? ")
            #expect(text.hasPrefix("HTTP/1.1 \(request.contains("/other") ? 404 : 200)"))
            #expect(!text.contains("connection: close"))
        }
        client.send("GET /known/last HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
        #expect(await client.read().hasSuffix("GET /known/last? 0 "))
        await rig.end()
    }

    @Test(arguments: requests)
    func `requests right after one for an upgrade are answered, wherever the bytes are cut`(
        request: String
    ) async throws {
        let rig = try await WebRig()
        let bytes = Array(
            (request + request + "GET /known/last HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
                .utf8)
        for cut in 0..<bytes.count {
            let client = try RawClient(port: rig.server.port)
            client.send(String(decoding: bytes[..<cut], as: UTF8.self))
            // The server has one loop: once it answers another client, it has read the first part.
            if cut > request.utf8.count - 8 {
                _ = try await rig.client.answer(rig.call("GET", "/known"))
            }
            client.send(String(decoding: bytes[cut...], as: UTF8.self))
            let text = await client.read()
            #expect(text.components(separatedBy: "HTTP/1.1 ").count == 4, "cut at \(cut): \(text)")
            #expect(text.hasSuffix("GET /known/last? 0 "), "cut at \(cut)")
        }
        await rig.end()
    }

    @Test func `curl --http2 gets both answers`() async throws {
        let rig = try await WebRig()
        let url = "http://127.0.0.1:\(rig.server.port)/known"
        let text = try await Tool.output([
            "curl", "--silent", "--show-error", "--max-time", "20", "--http2", "\(url)/1",
            "\(url)/2",
            "--data", "abc", "\(url)/3",
        ])
        #expect(text == "POST /known/1? 3 POST /known/2? 3 POST /known/3? 3 ")
        await rig.end()
    }

    @Test(arguments: ["/other", "/known"])
    func `bytes without end after a request for an upgrade end the connection`(
        path: String
    ) async throws {
        let rig = try await WebRig()
        let client = try RawClient(port: rig.server.port)
        client.send("GET \(path) HTTP/1.1\r\n\(Self.java)\r\n")
        let sent = try await client.flood("x", bytes: 64 << 20)
        #expect(sent < 32 << 20)
        #expect(try await rig.client.answer(rig.call("GET", "/known")).status == 200)
        await rig.end()
    }

    @Test(arguments: [
        ("CONNECT a:443 HTTP/1.1\r\nhost: a:443\r\n\r\n", 501),
        ("CONNECT a:443 HTTP/1.1\r\nhost: a:443\r\ncontent-length: 30\r\n\r\n", 501),
        ("POST /known HTTP/1.1\r\n\(java)transfer-encoding: gzip\r\n\r\n", 400),
        ("POST /known HTTP/1.1\r\n\(java)transfer-encoding: chunked, x\r\n\r\n", 400),
        ("POST /known HTTP/1.1\r\n\(java)transfer-encoding: gzip, chunked\r\n\r\n", 501),
        (
            "POST /known HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
            501
        ),
        (
            "POST /known HTTP/1.1\r\nhost: a\r\nTransfer-Encoding: GZIP,chunked\r\n\r\n0\r\n\r\n",
            501
        ),
        (
            "POST /known HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip\r\n"
                + "transfer-encoding: chunked\r\n\r\n0\r\n\r\n", 501
        ),
        (
            "POST /known HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n"
                + "0\r\n\r\n", 400
        ),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    ])
    func `what hides where a request ends is refused, and nothing after it is read`(
        request: String, status: Int
    ) async throws {
        let rig = try await WebRig()
        let client = try RawClient(port: rig.server.port)
        client.send(request + "GET /known/hidden HTTP/1.1\r\nhost: a\r\n\r\n")
        let text = await client.read()
        #expect(
            text.hasPrefix("HTTP/1.1 \(status)") && text.contains("connection: close"), "\(text)")
        #expect(!text.contains("hidden"))
        await rig.end()
    }
}
