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

        func end() async throws {
            kill(process.processIdentifier, SIGKILL)
            _ = try await Tool.end(process)
        }
    }

    /// Providers that only the network behind the proxy knows.
    private static func yaml(_ simulators: Simulators, proxy: String) -> String {
        func far(_ simulator: Simulator, _ name: String) -> String {
            "https://\(name).test:\(simulator.port)"
        }
        return GatewayRig.yaml(simulators)
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

    @Test func `a proxy that is no help is told as the reason, and nothing is lost`() async throws {
        let network = try TunnelProxy()
        let port = try OwnPort.take()
        var proxy = try await TinyProxy(port: port, upstream: network, ["BasicAuth me other"])
        let rig = try await GatewayRig(
            config: { Self.yaml($0, proxy: "http://me:s3cret@127.0.0.1:\(port)") })
        try await rig.post(OutageTests.webhook("ios", ["a", "b", "c"]))
        let line = try await OutageTests.line(rig, "cannot connect to the provider")
        let words = "asks for a user and password, or refuses the given ones (401)"
        #expect(line.contains(words), "\(line)")
        #expect(
            line.contains("apns.test:\(rig.simulators.apns.port) through http://127.0.0.1:\(port)"))
        #expect(!line.contains("s3cret"))
        #expect(try await OutageTests.dead(rig) == 0)
        #expect(rig.simulators.apns.received.isEmpty)
        // Somebody mends it.
        try await proxy.end()
        proxy = try await TinyProxy(port: port, upstream: network, ["BasicAuth me s3cret"])
        #expect(Set(await rig.delivered(rig.simulators.apns, 3)) == ["a", "b", "c"])
        #expect(try await OutageTests.dead(rig) == 0)
        await rig.end()
        try await proxy.end()
        network.close()
    }

    @Test func `the admin token goes to no proxy`() async throws {
        let proxy = try TunnelProxy()
        let rig = try await GatewayRig(
            config: {
                GatewayRig.yaml($0).replacing(
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
}
