import Foundation
import PluginRig
import SignalboxCore
import SignalboxCrypto
import SignalboxHTTP
import Testing

@Suite struct WebTests {
    private func fault(_ body: () async throws -> RESTAnswer) async -> RESTFault.Kind? {
        do {
            _ = try await body()
            return nil
        } catch {
            return (error as? RESTFault)?.kind
        }
    }

    @Test func `a call and its answer arrive whole`() async throws {
        let rig = try await WebRig()
        var call = rig.call("POST", "/known/a%20b?x=1", body: Array("hello".utf8))
        call.headers = [Attribute("x-test", "mark")]
        let answer = try await rig.client.answer(call)
        #expect(answer.status == 200)
        #expect(answer.header("x-echo") == "yes")
        #expect(String(decoding: answer.body, as: UTF8.self) == "POST /known/a%20b?x=1 5 mark")
        await rig.end()
    }

    @Test func `no program that is started inherits a socket`() async throws {
        let rig = try await WebRig()
        _ = try await rig.client.answer(rig.call("GET", "/known"))
        let found = inheritedSockets(port: rig.server.port)
        #expect(found.count >= 2 && found.inherited == 0, "\(found)")
        await rig.end()
    }

    @Test func `an unknown path is refused with a problem document`() async throws {
        let rig = try await WebRig()
        let answer = try await rig.client.answer(rig.call("GET", "/other"))
        #expect(answer.status == 404)
        #expect(answer.header("content-type") == "application/problem+json")
        let text = String(decoding: answer.body, as: UTF8.self)
        #expect(text.contains("\"status\":404"))
        #expect(text.contains("nothing is served here"))
        await rig.end()
    }

    @Test(arguments: [false, true])
    func `a body over the bound is refused`(isChunked: Bool) async throws {
        let rig = try await WebRig(bodyBytesMax: 1000)
        var call = rig.call("POST", "/known", body: [UInt8](repeating: 65, count: 1001))
        if isChunked { call.headers = [Attribute("transfer-encoding", "chunked")] }
        #expect(try await rig.client.answer(call).status == 413)
        call.body.removeLast()
        #expect(try await rig.client.answer(call).status == 200)
        await rig.end()
    }

    @Test(arguments: [
        ("http://any.example/known/x?y=1", "GET /known/x?y=1 0 "),
        ("HTTPS://a:1/known", "GET /known? 0 "),
        ("http://a/known?u=http://b/c", "GET /known?u=http://b/c 0 "),
        ("http://a?x=1", "nothing is served here"), ("http://a", "nothing is served here"),
    ])
    func `a target may be a whole URL`(target: String, answer: String) async throws {
        let rig = try await WebRig()
        let client = try RawClient(port: rig.server.port)
        client.send("GET \(target) HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
        let text = await client.read()
        #expect(text.contains(answer), "\(text)")
        await rig.end()
    }

    @Test(arguments: [
        ("gzip", "content-length: 3", 415), ("GZIP", "transfer-encoding: chunked", 415),
        ("deflate, br", "content-length: 3", 415), ("identity", "content-length: 3", 200),
        ("gzip", "x: y", 200),
    ])
    func `a compressed body is refused with a word about it`(
        coding: String, length: String, status: Int
    ) async throws {
        let rig = try await WebRig()
        let client = try RawClient(port: rig.server.port)
        let body =
            length.contains("3") ? "abc" : length.contains("chunked") ? "3\r\nabc\r\n0\r\n\r\n" : ""
        client.send(
            "POST /known HTTP/1.1\r\nhost: a\r\ncontent-encoding: \(coding)\r\n\(length)\r\n"
                + "connection: close\r\n\r\n\(body)")
        let text = await client.read()
        #expect(text.hasPrefix("HTTP/1.1 \(status) "), "\(text)")
        if status == 415 {
            #expect(text.lowercased().contains("accept-encoding: identity\r\n"))
            #expect(text.contains("send the body without a content-encoding"))
        }
        await rig.end()
    }

    @Test func `redirects are followed only when asked and only to https`() async throws {
        let rig = try await WebRig()
        var call = rig.call("GET", "/known/redirect")
        #expect(try await rig.client.answer(call).status == 302)
        call.redirectsMax = 3
        let refused = call
        #expect(await fault { try await rig.client.answer(refused) } == .invalid)
        await rig.end()
    }

    @Test func `an answer over 1 MiB is cut off`() async throws {
        let rig = try await WebRig()
        let call = rig.call("GET", "/known/large")
        #expect(await fault { try await rig.client.answer(call) } == .tooLarge)
        await rig.end()
    }

    @Test func `a silent server meets the deadline`() async throws {
        let rig = try await WebRig()
        var call = rig.call("GET", "/known/wait")
        call.timeoutMs = 50
        let waiting = call
        #expect(await fault { try await rig.client.answer(waiting) } == .timeout)
        rig.release.finish()
        await rig.end()
    }

    @Test func `calls beyond the bound are refused`() async throws {
        let rig = try await WebRig(callsMax: 1)
        let waiting = rig.call("GET", "/known/wait")
        let (answers, found) = AsyncStream.makeStream(of: UInt32.self)
        try rig.client.submit(waiting) { found.yield((try? $0.get())?.status ?? 0) }
        #expect(await fault { try await rig.client.answer(waiting) } == .full)
        rig.release.finish()
        #expect(await answers.first { _ in true } == 200)
        await rig.end()
    }

    @Test func `private addresses are refused on demand`() async throws {
        let rig = try await WebRig()
        var call = rig.call("GET", "/known")
        call.refusesPrivateAddresses = true
        let refused = call
        #expect(await fault { try await rig.client.answer(refused) } == .privateAddress)
        await rig.end()
    }

    @Test func `a connection that others have opened is no way to a private address`() async throws
    {
        let rig = try await WebRig()
        let open = rig.call("GET", "/known")
        _ = try await rig.client.answer(open)
        var call = open
        call.refusesPrivateAddresses = true
        let refused = call
        #expect(await fault { try await rig.client.answer(refused) } == .privateAddress)
        await rig.end()
    }

    @Test(arguments: ["ftp://127.0.0.1/", "not a url", "http://a\r\nb/"])
    func `a malformed call is refused`(url: String) async throws {
        let client = try RESTClient()
        let call = RESTCall(method: "GET", url: url)
        #expect(await fault { try await client.answer(call) } == .invalid)
        client.shutdown()
    }

    @Test func `nothing listens`() async throws {
        // Bound but not listening: connects are refused, and no other test can
        // get the port meanwhile.
        let held = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(held) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(held, $0, length) == 0 && getsockname(held, $0, &length) == 0
            }
        }
        #expect(isBound)
        let port = UInt16(bigEndian: address.sin_port)
        let client = try RESTClient()
        let call = RESTCall(method: "GET", url: "http://127.0.0.1:\(port)/known")
        #expect(await fault { try await client.answer(call) } == .unreachable)
        client.shutdown()
    }

    @Test func `a shut-down client answers what is under way`() async throws {
        let rig = try await WebRig()
        let call = rig.call("GET", "/known/wait")
        async let first = fault { try await rig.client.answer(call) }
        rig.client.shutdown()
        #expect(await first == .stopping)
        rig.release.finish()
        await rig.server.shutdown()
    }

    @Test func `TLS is checked against the given roots`() async throws {
        let rig = try await PushRig()
        let client = try RESTClient()
        let url = "https://127.0.0.1:\(rig.server.port)/token"
        let stranger = RESTCall(method: "POST", url: url)
        #expect(await fault { try await client.answer(stranger) } == .unreachable)
        var trusting = stranger
        trusting.caFile = rig.caFile
        #expect(try await client.answer(trusting).status == 200)
        client.shutdown()
        await rig.end()
    }
}
