import Foundation
import PluginRig
import SignalboxCore
import Testing

@testable import SignalboxHTTP

/// Pushes and REST calls through a proxy.
@Suite struct ProxyTunnelTests {
    static let host = "provider.test"

    private func rules(_ proxy: TunnelProxy, user: String = "") throws -> ProxyRules {
        ProxyRules(only: try ProxyAddress("http://\(user)127.0.0.1:\(proxy.port)"))
    }

    private func rig(
        _ proxy: TunnelProxy, _ orders: [Order] = [], user: String = "", connectMs: Int = 60_000
    ) async throws -> PushRig {
        let rules = try rules(proxy, user: user)
        return try await PushRig(orders) {
            $0.host = Self.host
            $0.proxies = rules
            $0.connectTimeoutMs = connectMs
        }
    }

    /// Waits until a connect fails with such a reason.
    private func reason(_ rig: PushRig, _ words: String) async throws -> String {
        for _ in 0..<6_000 {
            let failed = rig.events.filter { $0.kind == .connectFailed }.map(\.text)
            if let text = failed.first(where: { $0.contains(words) }) { return text }
            try await Task.sleep(for: .milliseconds(10))
        }
        Issue.record("no connect has failed for \"\(words)\": \(rig.events.map(\.text))")
        return ""
    }

    @Test func `pushes go through the proxy, which looks the host up`() async throws {
        let proxy = try TunnelProxy()
        let rig = try await rig(proxy, user: "me:p%40ss@")
        rig.submit(1...3)
        #expect(await rig.outcomes(3) == [1: "200", 2: "200", 3: "200"])
        let place = "\(Self.host):\(rig.server.port)"
        #expect(
            proxy.heads == [
                "CONNECT \(place) HTTP/1.1\r\nHost: \(place)\r\n"
                    + "Proxy-Authorization: Basic bWU6cEBzcw==\r\n\r\n"
            ])
        #expect(await rig.pool.status().proxy.map { "\($0)" } == "http://127.0.0.1:\(proxy.port)")
        await rig.end()
        proxy.close()
    }

    @Test(arguments: [
        ("HTTP/1.1 407 Nope\r\n\r\n", "asks for a user and password"),
        ("HTTP/1.1 401 Nope\r\n\r\n", "refuses the given ones (401)"),
        ("HTTP/1.0 403 Forbidden\r\nx: y\r\n\r\n", "the proxy refused the connection (403)"),
        ("HTTP/1.1 502 \n\n", "the proxy refused the connection (502)"),
        ("SSH-2.0-x\r\n\r\n", "is not HTTP/1.1"), ("HTTP/1.1\r\n\r\n", "is not HTTP/1.1"),
        ("HTTP/1.1 200 OK\r\n\r\nmore", "before the host could"),
        ("HTTP/1.1 200 OK\r\nhalf", "the proxy closed the connection"),
        ("", "the proxy closed the connection"),
        (String(repeating: "x", count: 40_000), "has no end"),
    ])
    func `what the proxy says is the reason, and the push waits for a better answer`(
        answer: String, words: String
    ) async throws {
        let proxy = try TunnelProxy()
        proxy.set(.answering(answer))
        let rig = try await rig(proxy)
        rig.submit(1...1)
        let reason = try await reason(rig, words)
        let place = "\(Self.host):\(rig.server.port) through http://127.0.0.1:\(proxy.port): "
        #expect(reason.hasPrefix(place), "\(reason)")
        proxy.set(.passing)
        #expect(await rig.outcomes(1) == [1: "200"])
        await rig.end()
        proxy.close()
    }

    @Test func `a proxy that does not answer is given up, and nothing was sent`() async throws {
        let proxy = try TunnelProxy()
        proxy.set(.silent)
        let rig = try await rig(proxy, connectMs: 100)
        rig.submit(1...1)
        _ = try await reason(rig, "did not answer CONNECT in time")
        proxy.set(.passing)
        // A connect needs longer than that on a busy machine.
        var endpoint = try PushEndpoint(origin: "https://\(Self.host):\(rig.server.port)")
        endpoint.caFile = rig.caFile
        endpoint.proxies = try rules(proxy)
        endpoint.requestTimeoutMs = 120_000
        endpoint.connectTimeoutMs = 60_000
        try rig.pool.renew(endpoint)
        #expect(await rig.outcomes(1) == [1: "withdrawn"])
        rig.submit(2...2)
        #expect(await rig.outcomes(2)[2] == "200")
        #expect(rig.handler.paths == ["/2"])
        await rig.end()
        proxy.close()
    }

    @Test func `a proxy that dies amid pushes loses the connection, and the next one works`()
        async throws
    {
        let proxy = try TunnelProxy()
        let rig = try await rig(proxy, [.answer(200, ""), .hold])
        rig.submit(1...1)
        #expect(await rig.outcomes(1) == [1: "200"])
        rig.submit(2...2)
        for _ in 0..<6_000 where rig.handler.seen.count < 2 {
            try await Task.sleep(for: .milliseconds(10))
        }
        proxy.cut()
        #expect(await rig.outcomes(2)[2] == "lost")
        rig.submit(3...3)
        #expect(await rig.outcomes(3)[3] == "200")
        #expect(proxy.heads.count == 2)
        await rig.end()
        proxy.close()
    }

    @Test func `a proxy that is away is named`() async throws {
        let proxy = try TunnelProxy()
        proxy.close()
        let rig = try await rig(proxy)
        rig.submit(1...1)
        _ = try await reason(rig, "through http://127.0.0.1:\(proxy.port): ")
        await rig.end()
    }

    @Test func `pushes to this machine do not go through it`() async throws {
        let proxy = try TunnelProxy()
        let rules = try rules(proxy)
        let rig = try await PushRig { $0.proxies = rules }
        rig.submit(1...1)
        #expect(await rig.outcomes(1) == [1: "200"])
        #expect(proxy.heads.isEmpty)
        await rig.end()
        proxy.close()
    }

    // MARK: REST calls

    private func fault(_ client: RESTClient, _ call: RESTCall) async -> RESTFault? {
        do {
            _ = try await client.answer(call)
            return nil
        } catch {
            return error as? RESTFault
        }
    }

    @Test func `a REST call goes through the proxy, too`() async throws {
        let proxy = try TunnelProxy()
        let rig = try await PushRig()
        let client = try RESTClient(proxies: try rules(proxy, user: "me:p%40ss@"))
        var call = RESTCall(
            method: "POST", url: "https://\(Self.host):\(rig.server.port)/token",
            body: Array("x".utf8))
        call.caFile = rig.caFile
        let answer = try await client.answer(call)
        #expect(answer.status == 200)
        // The headers of the proxy's own answer are not the call's.
        #expect(answer.header("via") == nil)
        call.refusesPrivateAddresses = true
        #expect(try await client.answer(call).status == 200)
        #expect(proxy.heads.count >= 1)
        #expect(
            proxy.heads.allSatisfy {
                $0.hasPrefix("CONNECT \(Self.host):\(rig.server.port) HTTP/1.1\r\n")
                    && $0.contains("Proxy-Authorization: Basic bWU6cEBzcw==\r\n")
            })
        await client.close()
        await rig.end()
        proxy.close()
    }

    @Test(arguments: [
        ("HTTP/1.1 407 Nope\r\nproxy-authenticate: Basic realm=x\r\n\r\n", "(407)"),
        ("HTTP/1.1 403 Forbidden\r\n\r\n", "refused the connection (403)"),
        ("", "through http://127.0.0.1:"),
    ])
    func `a REST call that the proxy refuses was not sent`(
        answer: String, words: String
    ) async throws {
        let proxy = try TunnelProxy()
        proxy.set(.answering(answer))
        let client = try RESTClient(proxies: try rules(proxy))
        let found = await fault(client, RESTCall(method: "GET", url: "https://\(Self.host)/"))
        #expect(found?.message.contains(words) == true, "\(found?.message ?? "none")")
        #expect(found?.kind == .unreachable)
        await client.close()
        proxy.close()
    }

    @Test func `a REST call whose proxy does not answer was not sent`() async throws {
        let proxy = try TunnelProxy()
        proxy.set(.silent)
        let client = try RESTClient(proxies: try rules(proxy))
        var call = RESTCall(method: "GET", url: "https://\(Self.host)/")
        call.timeoutMs = 200
        #expect(await fault(client, call)?.kind == .unreachable)
        await client.close()
        proxy.close()
    }

    @Test(arguments: [
        "https://10.0.0.1/", "https://[fd00::1]/", "https://169.254.169.254/latest",
        "https://2130706433/", "https://127.1/", "https://0x7f000001/", "https://x.localhost/",
        "https://u@192.168.1.1:8443/",
    ])
    func `an address that data names is refused before the proxy hears of it`(url: String)
        async throws
    {
        let proxy = try TunnelProxy()
        let client = try RESTClient(proxies: try rules(proxy))
        var call = RESTCall(method: "GET", url: url)
        call.refusesPrivateAddresses = true
        let found = await fault(client, call)?.kind
        // What is no address at all is looked up here, since it is this machine, and may be unknown.
        #expect(found == .privateAddress || url.contains("localhost") && found == .unreachable)
        #expect(proxy.heads.isEmpty)
        await client.close()
        proxy.close()
    }

    @Test func `this machine is never asked through the variables' proxy`() async throws {
        let proxy = try TunnelProxy()
        let place = "http://127.0.0.1:\(proxy.port)"
        let rules = ProxyRules(variables: ["http_proxy": place, "all_proxy": place])
        let rig = try await WebRig()
        let client = try RESTClient(proxies: rules)
        #expect(try await client.answer(rig.call("GET", "/known")).status == 200)
        #expect(proxy.heads.isEmpty)
        await client.close()
        await rig.end()
        proxy.close()
    }
}
