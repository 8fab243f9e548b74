import Foundation
import PluginRig
import Signalbox
import SignalboxCore
import SignalboxHTTP
import SignalboxJSON
import SignalboxSimulators
import Testing

/// A gateway behind a real proxy, tinyproxy, which is the only way out: the network behind it is a proxy of the tests.
@Suite(.timeLimit(.minutes(10))) struct ProxyTests {
    /// tinyproxy on a port of its own.
    private final class TinyProxy: Sendable {
        let port: Int
        private let process: Program

        /// `lines`: of its configuration, in addition to those that any has.
        init(port: Int, upstream: TunnelProxy, _ lines: [String] = []) async throws {
            self.port = port
            let text = [
                "Port \(port)", "Listen 127.0.0.1", "Timeout 600", "MaxClients 100",
                "LogLevel Critical", "Upstream http 127.0.0.1:\(upstream.port)",
            ]
            let file = try ProgramTests.temporary(
                "tinyproxy.conf", (text + lines).joined(separator: "\n") + "\n")
            let pipe = Pipe()
            process = try Program(
                ["tinyproxy", "-d", "-c", file], at: PluginRig.root, output: pipe, errors: pipe)
            pipe.fileHandleForReading.readabilityHandler = { _ = $0.availableData }
            for _ in 0..<6_000 {
                if let client = try? RawClient(port: port) {
                    client.send("GET / HTTP/1.0\r\n\r\n")
                    if await !client.read().isEmpty { return }
                }
                try await Task.sleep(for: .milliseconds(10))
            }
            throw PluginRig.Failure(description: "tinyproxy does not start")
        }

        func signal(_ number: Int32) { kill(process.processIdentifier, number) }

        func end() async throws {
            signal(SIGCONT)
            signal(SIGKILL)
            _ = try await Tool.end(process)
        }
    }

    /// Providers that only the network behind the proxy knows.
    private static func yaml(_ simulators: Simulators, proxy: String) -> String {
        func far(_ simulator: Simulator, _ name: String) -> String {
            "https://\(name).test:\(simulator.port)"
        }
        return (GatewayRig.plugins(simulators) + "\n" + GatewayRig.routes)
            .replacing(simulators.apns.origin, with: far(simulators.apns, "apns"))
            .replacing(simulators.fcm.origin, with: far(simulators.fcm, "fcm"))
            .replacing("library: APNs", with: "library: APNs\n    proxy: \"\(proxy)\"")
    }

    @Test
    func `pushes reach their providers through the proxy, and it is shown without its password`()
        async throws
    {
        let network = try TunnelProxy()
        let proxy = try await TinyProxy(
            port: try OwnPort.take(), upstream: network, ["BasicAuth me s3cret"])
        let address = "http://me:s3cret@127.0.0.1:\(proxy.port)"
        let shown = "http://127.0.0.1:\(proxy.port)"
        let rig = try await GatewayRig(
            change: {
                // FCM has none of its own.
                $0.environment.variables["https_proxy"] = address
                $0.environment.variables["no_proxy"] = "apns.test"
            }, config: { Self.yaml($0, proxy: address) })
        try await rig.post(GatewayRig.webhook([("ios", "a"), ("android", "b")]))
        #expect(await rig.delivered(rig.simulators.apns, 1) == ["a"])
        #expect(await rig.delivered(rig.simulators.fcm, 1) == ["b"])
        let asked = network.heads.map { $0.prefix { $0 != "\r\n" } }
        for (name, port) in [("apns", rig.simulators.apns.port), ("fcm", rig.simulators.fcm.port)] {
            #expect(asked.contains { $0.hasPrefix("CONNECT \(name).test:\(port) ") }, "\(asked)")
        }
        let ready = String(decoding: try await rig.admin("/readyz").body, as: UTF8.self)
        #expect(ready.components(separatedBy: #""proxy":"\#(shown)""#).count == 3, "\(ready)")
        #expect(!ready.contains("s3cret"))
        var options = GatewayOptions(configPath: rig.folder.appending(path: "gateway.yaml").path)
        options.addPluginFolders([try GatewayRig.pluginFolder()])
        options.environment.variables["https_proxy"] = address
        options.environment.variables["no_proxy"] = "apns.test"
        let report = await Gateway.examine(options)
        #expect(
            report.proxies == [
                "apns: \(shown)", "everything else: \(shown) (https_proxy), not for apns.test",
            ])
        #expect(!report.json.contains("s3cret") && report.json.contains(shown))
        #expect(!rig.log.all.contains { $0.contains("s3cret") })
        await rig.end()
        try await proxy.end()
        network.close()
    }

    /// What can be wrong with a proxy.
    enum Fault: CaseIterable, Sendable {
        case password, refusal, silence, absence

        /// Of tinyproxy's configuration.
        var lines: [String] {
            switch self {
            case .password: ["BasicAuth me other"]
            // CONNECT to this port alone.
            case .refusal: ["ConnectPort 1"]
            case .silence, .absence: []
            }
        }

        var words: String {
            switch self {
            case .password: "asks for a user and password, or refuses the given ones (401)"
            case .refusal: "the proxy refused the connection (403)"
            case .silence: "did not answer CONNECT in time"
            case .absence: "the connect failed: connection refused"
            }
        }
    }

    @Test(arguments: Fault.allCases)
    func `a proxy that is no help is told as the reason, and nothing is lost`(fault: Fault)
        async throws
    {
        let network = try TunnelProxy()
        let port = try OwnPort.take()
        var proxy = try await TinyProxy(port: port, upstream: network, fault.lines)
        if fault == .silence { proxy.signal(SIGSTOP) }
        if fault == .absence { try await proxy.end() }
        let rig = try await GatewayRig(
            config: { Self.yaml($0, proxy: "http://me:s3cret@127.0.0.1:\(port)") })
        try await rig.post(OutageTests.webhook("ios", ["a", "b", "c"]))
        let line = try await OutageTests.line(rig, "cannot connect to the provider")
        #expect(line.contains(fault.words), "\(line)")
        #expect(
            line.contains("apns.test:\(rig.simulators.apns.port) through http://127.0.0.1:\(port)"))
        #expect(!line.contains("s3cret"))
        #expect(try await OutageTests.dead(rig) == 0)
        #expect(rig.simulators.apns.received.isEmpty)
        // Somebody mends it.
        if fault != .absence { try await proxy.end() }
        proxy = try await TinyProxy(port: port, upstream: network, ["BasicAuth me s3cret"])
        #expect(Set(await rig.delivered(rig.simulators.apns, 3)) == ["a", "b", "c"])
        #expect(try await OutageTests.dead(rig) == 0)
        await rig.end()
        try await proxy.end()
        network.close()
    }

    @Test func `a proxy that dies amid pushes loses none of them`() async throws {
        let network = try TunnelProxy()
        let port = try OwnPort.take()
        var proxy = try await TinyProxy(port: port, upstream: network)
        let rig = try await GatewayRig(
            config: { Self.yaml($0, proxy: "http://127.0.0.1:\(port)") })
        try await rig.post(OutageTests.webhook("ios", ["first"]))
        #expect(await rig.delivered(rig.simulators.apns, 1) == ["first"])
        try await rig.simulators.apns.take(.stall(count: 20))
        let tokens = (0..<20).map { "t\($0)" }
        try await rig.post(OutageTests.webhook("ios", tokens, ticket: "6"))
        // Some are on their way when it dies.
        _ = await rig.simulators.apns.wait(for: 2)
        try await proxy.end()
        try await rig.simulators.apns.take(.clear)
        proxy = try await TinyProxy(port: port, upstream: network)
        #expect(Set(await rig.delivered(rig.simulators.apns, 21)).isSuperset(of: tokens))
        #expect(try await OutageTests.dead(rig) == 0)
        await rig.end()
        try await proxy.end()
        network.close()
    }

    @Test func `the admin token goes to no proxy`() async throws {
        let proxy = try TunnelProxy()
        let rig = try await GatewayRig(
            config: {
                (GatewayRig.plugins($0) + "\n" + GatewayRig.routes).replacing(
                    "drain: 5s", with: "drain: 5s, admin_token: 0123456789abcdef0123")
            })
        let place = "http://127.0.0.1:\(proxy.port)"
        let admin = "127.0.0.1:\(try #require(rig.gateway.adminPort))"
        let ended = try await ProgramTests.run(
            [
                "waiting", "list", "--config", rig.folder.appending(path: "gateway.yaml").path,
                "--admin", admin,
            ],
            environment: ["http_proxy": place, "all_proxy": place, "https_proxy": place])
        #expect(ended.status == 0, "\(ended.text)")
        #expect(proxy.heads.isEmpty)
        await rig.end()
        proxy.close()
    }

    @Test func `a variable that is no HTTP proxy is a fault, named without its value`() async throws
    {
        let simulators = try await Simulators.start()
        let file = try ProgramTests.temporary(
            "gateway.yaml", GatewayRig.plugins(simulators) + "\n" + GatewayRig.routes)
        var options = GatewayOptions(configPath: file)
        options.addPluginFolders([try GatewayRig.pluginFolder()])
        options.environment.variables["all_proxy"] = "socks5://me:s3cret@10.0.0.1:1"
        let found = await Gateway.examine(options).faults.filter { $0.code == "bad-proxy" }
        #expect(
            found.map(\.message) == [
                "the variable all_proxy is no usable proxy: only http:// proxies are supported"
            ])
        await simulators.shutdown()
    }
}
