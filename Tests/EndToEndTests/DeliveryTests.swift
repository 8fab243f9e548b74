import Foundation
import Logging
import PluginRig
import Signalbox
import SignalboxCore
import SignalboxCrypto
import SignalboxDevTools
import SignalboxJSON
import SignalboxSimulators
import Synchronization
import Testing

@Suite struct DeliveryTests {
    @Test func `the shipped gateway.yaml turns the documented webhook into two pushes`()
        async throws
    {
        var options = GatewayOptions(
            configPath: PluginRig.root.appending(path: "gateway.yaml").path)
        options.addPluginFolders([try GatewayRig.pluginFolder()])
        #expect(options.setListen("127.0.0.1:0") && options.setAdmin("127.0.0.1:0"))
        let demo = try await Demo.start(options)
        let sample = PluginRig.root.appending(path: "Tests/Fixtures/Zendesk/reply.json")
        let report = try await demo.send(Array(Data(contentsOf: sample)))
        #expect(report.status == 200)
        #expect(report.isConfirmed)
        let apns = try #require(report.arrivals.first { $0.push.provider == "apns" }?.push)
        #expect(apns.path == "/3/device/oiuytrdsdfghjk")
        #expect(apns.header("apns-topic") == "com.example.app")
        #expect(apns.header("apns-push-type") == "alert")
        #expect(apns.header("apns-priority") == "10")
        #expect(apns.header("apns-collapse-id") == "ticket/5")
        #expect(
            apns.body
                == (try JSONValue.parse(
                    """
                    {"aps":{"alert":{"title":"Agent replied","body":"Agent replied something something"},
                    "sound":"default","thread-id":"ticket/5"},"zendesk_sdk_request_id":"5","tid":"5"}
                    """)))
        let fcm = try #require(report.arrivals.first { $0.push.provider == "fcm" }?.push)
        #expect(fcm.token == "iuytfrdcvbnmkl")
        #expect(fcm.body["message"]?["data"]?["zendesk_sdk_request_id"]?.string == "5")
        #expect(fcm.body["message"]?["data"]?["tid"]?.string == "5")
        #expect(fcm.body["message"]?["data"]?["title"]?.string == "Agent replied")
        #expect(fcm.body["message"]?["android"]?["priority"]?.string == "HIGH")
        // "Send another", as the README says: at once, and with the same text.
        #expect(try await demo.send(Array(Data(contentsOf: sample))).isConfirmed)
        await demo.stop()
        // Nothing is left behind.
        let folder = demo.simulators.files.folder
        #expect(!FileManager.default.fileExists(atPath: folder))
    }

    @Test func `demo keeps the simulators' keys, whatever is in secrets/`() async throws {
        let folder = try Workshop.folder("demo")
        let secrets = folder.appending(path: "secrets")
        try FileManager.default.createDirectory(at: secrets, withIntermediateDirectories: true)
        try Data(ThrowAway.p256Key().privateKeyPEM()).write(to: secrets.appending(path: "apns.p8"))
        try FileManager.default.copyItem(
            at: PluginRig.root.appending(path: "gateway.yaml"),
            to: folder.appending(path: "gateway.yaml"))
        var options = GatewayOptions(configPath: folder.appending(path: "gateway.yaml").path)
        options.addPluginFolders([try GatewayRig.pluginFolder()])
        let log = LineStore()
        options.logger = Logger(label: "test") { _ in StoreHandler(store: log) }
        #expect(options.setListen("127.0.0.1:0") && options.setAdmin("127.0.0.1:0"))
        let demo = try await Demo.start(options)
        let sample = PluginRig.root.appending(path: "Tests/Fixtures/Zendesk/reply.json")
        #expect(try await demo.send(Array(Data(contentsOf: sample))).isConfirmed)
        // Plugins look at the files as soon as they have started.
        for words in ["reloaded a changed secret file", "the file of a secret is gone"] {
            #expect(!log.all.contains { $0.contains(words) }, "\(words)")
        }
        await demo.stop()
    }

    /// A known client bug: one client object whose host is changed per request.
    @Test func `two apps in two environments never meet`() async throws {
        let sandbox = try await Simulators.start()
        let rig = try await GatewayRig(config: { production in
            var text = """
                version: 1
                gateway: { listen: "127.0.0.1:0", admin: "127.0.0.1:0" }
                plugins:

                """
            var routes = "routes:\n"
            for (place, simulators) in [("prod", production), ("sand", sandbox)] {
                for app in ["one", "two"] {
                    let name = "\(place)-\(app)"
                    text += """
                          z-\(name): { library: Zendesk, config: { path: /in/\(name) } }
                          a-\(name):
                            library: APNs
                            config:
                              team_id: SIMTEAM001
                              key_id: SIMKEY0001
                              key: "${file:\(simulators.files.apnsKey)}"
                              topic: com.example.\(app)
                              endpoint: "\(simulators.apns.origin)"
                              ca: "\(simulators.files.ca)"
                              token_check: lenient

                        """
                    routes += "  - { name: \(name), from: z-\(name), send: { ios: a-\(name) } }\n"
                }
            }
            return text + routes
        })
        try await withThrowingTaskGroup { group in
            for round in 0..<25 {
                for name in ["prod-one", "prod-two", "sand-one", "sand-two"] {
                    group.addTask {
                        try await rig.post(
                            GatewayRig.webhook([("ios", "\(name)-\(round)")]), path: "/in/\(name)"
                        )
                    }
                }
            }
            try await group.waitForAll()
        }
        for (place, simulators) in [("prod", rig.simulators), ("sand", sandbox)] {
            let pushes = await simulators.apns.wait(for: 50)
            #expect(pushes.count == 50)
            #expect(pushes.allSatisfy { $0.status == 200 && $0.token.hasPrefix(place) })
            for push in pushes {
                let app = push.token.contains("-one-") ? "one" : "two"
                #expect(push.header("apns-topic") == "com.example.\(app)")
            }
            #expect(Set(pushes.map(\.token)).count == 50)
        }
        await rig.end()
        await sandbox.shutdown()
    }

    @Test(arguments: [
        SimulatorOrder.goAway(after: 5, reason: "InternalServerError", answer: false),
        .reset(count: 7), .stall(count: 3), .cut(count: 3),
        .fail(tokens: [], status: 503, reason: "", times: 4),
    ])
    func `nothing is lost while a provider misbehaves`(order: SimulatorOrder) async throws {
        let rig = try await GatewayRig(timeoutMs: 1_500)
        // APNs has a long wait of its own after a 503; FCM's is shorter but still
        // too long for a test.
        if case .fail = order {
            try await rig.simulators.apns.take(
                .fail(tokens: [], status: 429, reason: "TooManyRequests", times: 4))
        } else {
            try await rig.simulators.apns.take(order)
            try await rig.simulators.fcm.take(order)
        }
        let webhooks = (0..<8).map { number in
            GatewayRig.webhook(
                (0..<5).flatMap {
                    [("ios", "i\(number)-\($0)"), ("android", "a\(number)-\($0)")]
                }, ticket: "\(number)")
        }
        for body in webhooks { #expect(try await rig.post(body).status == 200) }
        let ios = await rig.delivered(rig.simulators.apns, 40)
        let android = await rig.delivered(rig.simulators.fcm, 40)
        #expect(Set(ios) == Set((0..<8).flatMap { n in (0..<5).map { "i\(n)-\($0)" } }))
        #expect(Set(android) == Set((0..<8).flatMap { n in (0..<5).map { "a\(n)-\($0)" } }))
        #expect(await rig.gateway.stop() == 0)
        await rig.end()
    }

    @Test func `no token and no text reaches the log`() async throws {
        let rig = try await GatewayRig()
        try await rig.simulators.apns.take(
            .fail(tokens: ["device-token-1"], status: 400, reason: "BadDeviceToken", times: nil))
        try await rig.post(
            GatewayRig.webhook([
                ("ios", "device-token-1"), ("android", "device-token-2"),
                ("symbian", "device-token-3"),
            ]))
        try await rig.post("{\"devices\": [\"secret-body\"")
        _ = await rig.delivered(rig.simulators.fcm, 1)
        await rig.end()
        #expect(rig.log.all.contains { $0.contains("delivery failed") })
        for line in rig.log.all {
            #expect(!line.contains("device-token"), "\(line)")
            #expect(!line.contains("secret-body"), "\(line)")
            #expect(!line.contains("BEGIN"), "\(line)")
        }
    }

    @Test func `an expired access token is renewed while a request is in flight`() async throws {
        let rig = try await GatewayRig()
        try await rig.post(GatewayRig.webhook([("android", "first")]))
        #expect(await rig.delivered(rig.simulators.fcm, 1) == ["first"])
        #expect(rig.simulators.grantedCount == 1)
        // The token must be a second old before it is replaced; the delayed one is in flight.
        try await rig.simulators.fcm.take(.delay(ms: 300))
        try await rig.post(GatewayRig.webhook([("android", "in-flight")], ticket: "6"))
        #expect(await rig.delivered(rig.simulators.fcm, 2).count == 2)
        try await rig.simulators.fcm.take(.expireCredentials)
        try await rig.post(GatewayRig.webhook([("android", "after")], ticket: "7"))
        let taken = await rig.delivered(rig.simulators.fcm, 3)
        #expect(taken == ["first", "in-flight", "after"])
        #expect(rig.simulators.grantedCount == 2)
        #expect(rig.simulators.fcm.received.contains { $0.status == 401 })
        #expect(await rig.gateway.stop() == 0)
        await rig.end()
    }

    @Test func `an expired provider token is replaced while a request is in flight`() async throws {
        let clock = SharedClock()
        var options = SimulatorsOptions()
        options.nowUnixMs = { clock.now }
        let rig = try await GatewayRig(options, clock: { clock.now })
        try await rig.post(GatewayRig.webhook([("ios", "first")]))
        #expect(await rig.delivered(rig.simulators.apns, 1) == ["first"])
        try await rig.simulators.apns.take(.delay(ms: 300))
        try await rig.post(GatewayRig.webhook([("ios", "in-flight")], ticket: "6"))
        #expect(await rig.delivered(rig.simulators.apns, 2).count == 2)
        // Apple accepts no new token within 20 minutes of the last.
        clock.advance(ms: 21 * 60_000)
        try await rig.simulators.apns.take(.expireCredentials)
        try await rig.post(GatewayRig.webhook([("ios", "after")], ticket: "7"))
        let taken = await rig.delivered(rig.simulators.apns, 3)
        #expect(taken == ["first", "in-flight", "after"])
        let all = rig.simulators.apns.received
        #expect(all.contains { $0.reason == "ExpiredProviderToken" })
        #expect(!all.contains { $0.reason == "TooManyProviderTokenUpdates" })
        #expect(all.last?.connection != all.first?.connection)
        #expect(await rig.gateway.stop() == 0)
        await rig.end()
    }
}

/// A clock that tests can move forward.
final class SharedClock: Sendable {
    private let shift = Mutex<UInt64>(0)

    var now: UInt64 {
        UInt64(Date().timeIntervalSince1970 * 1000) + shift.withLock { $0 }
    }

    func advance(ms: UInt64) { shift.withLock { $0 += ms } }
}
