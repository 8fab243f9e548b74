import Foundation
import Signalbox
import SignalboxCore
import SignalboxHTTP
import SignalboxJSON
import Testing

@Suite struct IngestTests {
    @Test func `bad requests get a problem document that leaks nothing, and 1 MiB is enough`()
        async throws
    {
        let rig = try await GatewayRig()
        for (method, path, body, status, words) in [
            ("POST", "/in/z", "{\"devices\": [\"private", 400, "not JSON"),
            ("POST", "/in/z", "{\"devices\":[]}", 400, "notification"),
            ("POST", "/elsewhere", "{}", 404, "nothing is served"),
            ("POST", "/in/z/", "{}", 404, "nothing is served"),
            // Nobody may use the registry, so its path does not exist.
            ("GET", "/v1/devices?user=u", "", 404, "nothing is served"),
            ("GET", "/in/z", "", 405, "takes POST"),
            ("DELETE", "/in/z", "private", 405, "takes POST"),
        ] as [(String, String, String, UInt32, String)] {
            let answer = try await rig.post(body, path: path, method: method)
            #expect(answer.status == status)
            #expect(answer.header("content-type") == "application/problem+json")
            if status == 405 { #expect(answer.header("allow") == "POST") }
            let text = String(decoding: answer.body, as: UTF8.self)
            let problem = try JSONValue.parse(text)
            #expect(problem["status"]?.integer == Int64(status))
            #expect(problem["detail"]?.string?.contains(words) == true, "\(text)")
            #expect(!text.contains("private"))
        }
        // A body has at most 1 MiB.
        let base = GatewayRig.webhook([("android", "a")])
        func padded(_ count: Int) -> String {
            base + String(repeating: " ", count: count - base.utf8.count)
        }
        #expect(try await rig.post(padded((1 << 20) + 1)).status == 413)
        #expect(
            rig.gateway.metricsText.contains(
                #"signalbox_requests_total{instance="z",status="413"} 1"#))
        #expect(try await rig.post(padded(1 << 20)).status == 200)
        await rig.end()
    }

    @Test func `as many devices as an event may have all get their push`() async throws {
        let rig = try await GatewayRig()
        let many = (1...10_000).map { (type: "android", token: "t\($0)") }
        #expect(try await rig.post(GatewayRig.webhook(many)).status == 200)
        #expect(Set(await rig.delivered(rig.simulators.fcm, 10_000)).count == 10_000)
        await rig.end()
    }

    @Test func `one bad device does not block the others, and none is no fault`() async throws {
        let rig = try await GatewayRig()
        #expect(try await rig.post(GatewayRig.webhook([])).status == 202)
        #expect(rig.log.all.contains { $0.contains("webhook names no usable device") })
        let body = GatewayRig.webhook([("symbian", "x"), ("ios", "good"), ("android", "fine")])
        #expect(try await rig.post(body).status == 200)
        #expect(await rig.delivered(rig.simulators.apns, 1) == ["good"])
        #expect(await rig.delivered(rig.simulators.fcm, 1) == ["fine"])
        let lines = rig.log.all.filter { $0.contains("reason=unknown_device_type") }
        #expect(lines.allSatisfy { $0.hasPrefix("debug item rejected") }, "\(lines)")
        #expect(
            rig.metrics.contains(
                #"signalbox_items_rejected_total{instance="z",reason="unknown_device_type"} 1"#))
        await rig.end()
    }

    @Test func `the admin listener answers`() async throws {
        let rig = try await GatewayRig()
        #expect(try await rig.admin("/livez").status == 200)
        #expect(try await rig.admin("/healthz").status == 200)
        let ready = try await rig.admin("/readyz")
        #expect(ready.status == 200)
        let json = try JSONValue.parse(ready.body)
        #expect(json["status"]?.string == "ready")
        #expect(json["gateway"]?.string?.contains(":pid-") == true)
        #expect(json["senders"]?[0]?["sender"]?.string == "apns")
        #expect(json["senders"]?[1]?["state"]?.string == "idle")
        #expect(try await rig.admin("/other").status == 404)
        await rig.end()
    }

    @Test func `a provider that accepts and says nothing is being connected to, and not idle`()
        async throws
    {
        // A socket that listens and accepts nobody: clients are connected and hear nothing.
        let silent = try HeldSocket()
        let rig = try await GatewayRig(config: {
            GatewayRig.plugins($0).replacing(
                "endpoint: \"\($0.fcm.origin)\"",
                with: "endpoint: \"https://127.0.0.1:\(silent.port)\""
            ).replacing("drain: 5s", with: "drain: 0s") + "\n" + GatewayRig.routes
        })
        try await rig.post(GatewayRig.webhook([("android", "a")]))
        var state: String?
        while state != "connecting" {
            let json = try await rig.json("/readyz")
            state = json["senders"]?[1]?["state"]?.string
            try #require(state == "connecting" || state == "idle")
        }
        await rig.end()
        withExtendedLifetime(silent) {}
    }
}
