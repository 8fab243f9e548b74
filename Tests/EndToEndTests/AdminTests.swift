import Foundation
import PluginRig
import Signalbox
import SignalboxCore
import SignalboxHTTP
import SignalboxSimulators
import Synchronization
import Testing

/// Who may use the admin listener.
@Suite struct AdminTests {
    static let token = "token-of-operators"

    static func rig(_ settings: String = "", address: String = "127.0.0.1:0") async throws
        -> GatewayRig
    {
        try await GatewayRig(config: { config($0, settings, address) })
    }

    static func config(
        _ simulators: Simulators, _ settings: String, _ address: String
    ) -> String {
        GatewayRig.yaml(simulators).replacingOccurrences(
            of: #"admin: "127.0.0.1:0""#, with: #"admin: "\#(address)"\#(settings)"#)
    }

    /// The status and the head of an answer.
    static func ask(
        _ rig: GatewayRig, _ method: String, _ path: String, _ headers: [String],
        body: String = ""
    ) async throws -> (status: Int, head: String) {
        let client = try RawClient(port: try #require(rig.gateway.adminPort))
        let lines = headers + ["connection: close", "content-length: \(body.utf8.count)"]
        client.send(
            "\(method) \(path) HTTP/1.1\r\n" + lines.map { $0 + "\r\n" }.joined() + "\r\n" + body)
        let text = await client.read()
        let status = text.firstMatch(of: #/^HTTP/1.1 (\d+)/#)?.output.1
        return (status.flatMap { Int($0) } ?? 0, text)
    }

    @Test func `the host of a request is that of its URL, before that of its field`() async throws {
        let rig = try await Self.rig()
        let port = try #require(rig.gateway.adminPort)
        let both = ["host: localhost", "host: evil.example"]
        #expect(try await Self.ask(rig, "GET", "/dead", both).status == 400)
        let absolute = "http://localhost:\(port)/dead"
        #expect(try await Self.ask(rig, "GET", absolute, ["host: evil.example"]).status == 200)
        let evil = "http://evil.example/dead"
        #expect(try await Self.ask(rig, "GET", evil, ["host: localhost"]).status == 421)
        // The public listener accepts it.
        let client = try RawClient(port: rig.gateway.port)
        client.send("GET /in/z HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n")
        #expect(await client.read().hasPrefix("HTTP/1.1 405"))
        await rig.end()
    }

    @Test func `the page needs no token and shows nothing, and its figures need one`() async throws
    {
        let rig = try await Self.rig(#", admin_token: "\#(Self.token)""#)
        let host = "host: localhost"
        for path in ["/", "/page/style.css", "/page/app.js", "/page/try.js"] {
            let answer = try await Self.ask(rig, "GET", path, [host])
            #expect(answer.status == 200)
            for field in [
                "content-security-policy: default-src 'none'; script-src 'self';",
                "x-content-type-options: nosniff\r\n", "cache-control: no-store\r\n",
                "referrer-policy: no-referrer\r\n",
            ] { #expect(answer.head.contains(field), "\(path)") }
            #expect(!answer.head.contains("unsafe"))
            #expect(try await Self.ask(rig, "GET", path, ["host: evil.example"]).status == 421)
        }
        for path in ["/live", "/config", "/devices?user=u"] {
            #expect(try await Self.ask(rig, "GET", path, [host]).status == 401, "\(path)")
        }
        // Without the token nobody sees more than health.
        for path in ["/dead", "/dead/1", "/metrics"] {
            for wrong in [
                "", "authorization: Bearer \(Self.token)x", "authorization: \(Self.token)",
            ] {
                let answer = try await Self.ask(
                    rig, "GET", path, [host] + (wrong.isEmpty ? [] : [wrong]))
                #expect(answer.status == 401)
                #expect(answer.head.contains("www-authenticate: Bearer\r\n"))
                #expect(!answer.head.contains(Self.token))
            }
        }
        for path in ["/livez", "/healthz", "/readyz"] {
            #expect(try await Self.ask(rig, "GET", path, [host]).status == 200)
        }
        for path in ["/dead", "/metrics"] {
            let headers = [host, "authorization: bearer \(Self.token)"]
            #expect(try await Self.ask(rig, "GET", path, headers).status == 200)
        }
        #expect(!rig.log.all.contains { $0.contains(Self.token) })
        await rig.end()
    }

    @Test func `beyond this machine it needs a token, whoever gives the address`() async throws {
        let simulators = try await Simulators.start()
        let file = try ProgramTests.temporary(
            "gateway.yaml", Self.config(simulators, "", "127.0.0.1:0"))
        var options = GatewayOptions(configPath: file)
        options.silence()
        options.addPluginFolders([try GatewayRig.pluginFolder()])
        let isSet = options.setAdmin("0.0.0.0:0")
        #expect(isSet)
        let given = options
        let fault = await #expect(throws: ConfigurationError.self) {
            _ = try await Gateway.start(given)
        }
        #expect(fault?.diagnostics.map(\.code) == ["admin-needs-token"])
        #expect(fault?.diagnostics.first?.position.line == 2)
        await #expect(throws: ConfigurationError.self) { try await Gateway.check(given) }
        await simulators.shutdown()
    }

    @Test
    func `a reload changes token and hosts at once, and takes no token from an open listener`()
        async throws
    {
        let rig = try await Self.rig(
            #", admin_token: "\#(Self.token)""#, address: "0.0.0.0:0")
        // A listener for all addresses knows each of them, and no name.
        for (host, status) in [("10.1.2.3:8081", 200), ("[fe80::1]", 200), ("evil.example", 421)] {
            let token = "authorization: Bearer \(Self.token)"
            let answer = try await Self.ask(rig, "GET", "/dead", ["host: \(host)", token])
            #expect(answer.status == status, "\(host)")
        }
        func write(_ settings: String, _ address: String) throws {
            try rig.write(Self.config(rig.simulators, settings, address))
        }
        try write(#", admin_token: "another-token-1234", admin_hosts: [other]"#, "0.0.0.0:0")
        #expect(try await rig.gateway.reload().needRestart == [])
        for (token, status) in [(Self.token, 401), ("another-token-1234", 200)] {
            let headers = ["host: other", "authorization: Bearer \(token)"]
            #expect(try await Self.ask(rig, "GET", "/dead", headers).status == status)
        }
        // The new address would need no token, but the old one is in use until a restart.
        try write("", "127.0.0.1:0")
        let fault = await #expect(throws: ConfigurationError.self) {
            try await rig.gateway.reload()
        }
        #expect(fault?.diagnostics.map(\.code) == ["admin-needs-token"])
        #expect(try await Self.ask(rig, "GET", "/dead", ["host: other"]).status == 401)
        await rig.end()
    }

    @Test func `a new token holds from the switch on, while replaced instances still send`()
        async throws
    {
        let rig = try await Self.rig(#", admin_token: "\#(Self.token)""#)
        try await rig.simulators.apns.take(.delay(ms: 3_000))
        try await rig.post(GatewayRig.webhook([("ios", "slow")]))
        let config = Self.config(
            rig.simulators, #", admin_token: "another-token-1234""#, "127.0.0.1:0")
        try rig.write(
            config.replacingOccurrences(
                of: "request_timeout_ms: 10000", with: "request_timeout_ms: 9000"
            ))
        let hasEnded = Mutex(false)
        let reload = Task {
            let report = try await rig.gateway.reload()
            hasEnded.withLock { $0 = true }
            return report
        }
        var status = 0
        while status != 200, !hasEnded.withLock({ $0 }) {
            status = try await Self.ask(
                rig, "GET", "/metrics",
                ["host: localhost", "authorization: Bearer another-token-1234"]
            ).status
        }
        #expect(status == 200)
        #expect(!hasEnded.withLock { $0 })
        #expect(try await reload.value.changed.contains("apns"))
        #expect(await rig.delivered(rig.simulators.apns, 1) == ["slow"])
        await rig.end()
    }
}
