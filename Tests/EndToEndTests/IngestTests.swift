import Foundation
import Signalbox
import SignalboxCore
import SignalboxHTTP
import SignalboxJSON
import Testing

@Suite struct IngestTests {
    @Test(arguments: [
        ("POST", "/in/z", "{\"devices\": [\"private", 400, "not JSON"),
        ("POST", "/in/z", "{\"devices\":[]}", 400, "notification"),
        ("POST", "/elsewhere", "{}", 404, "nothing is served"),
        ("POST", "/in/z/", "{}", 404, "nothing is served"), ("GET", "/in/z", "", 405, "takes POST"),
        ("DELETE", "/in/z", "private", 405, "takes POST"),
    ])
    func `bad requests get a problem document that leaks nothing`(
        method: String, path: String, body: String, status: UInt32, words: String
    ) async throws {
        let rig = try await GatewayRig()
        let answer = try await rig.post(body, path: path, method: method)
        #expect(answer.status == status)
        #expect(answer.header("content-type") == "application/problem+json")
        if status == 405 { #expect(answer.header("allow") == "POST") }
        let text = String(decoding: answer.body, as: UTF8.self)
        let problem = try JSONValue.parse(text)
        #expect(problem["status"]?.integer == Int64(status))
        #expect(problem["detail"]?.string?.contains(words) == true, "\(text)")
        #expect(!text.contains("private"))
        await rig.end()
    }

    @Test func `a body over 1 MiB is refused, one of 1 MiB is not`() async throws {
        let rig = try await GatewayRig()
        let base = GatewayRig.webhook([("android", "a")])
        func padded(_ count: Int) -> String {
            base + String(repeating: " ", count: count - base.utf8.count)
        }
        #expect(try await rig.post(padded((1 << 20) + 1)).status == 413)
        #expect(try await rig.post(padded(1 << 20)).status == 200)
        await rig.end()
    }

    @Test func `more devices than an event may have are refused, and nothing of them is sent`()
        async throws
    {
        let rig = try await GatewayRig()
        let many = (0...10_000).map { (type: "android", token: "t\($0)") }
        let answer = try await rig.post(GatewayRig.webhook(many))
        #expect(answer.status == 413)
        #expect(String(decoding: answer.body, as: UTF8.self).contains("too many devices"))
        #expect(await rig.gateway.stop() == 0)
        #expect(rig.simulators.fcm.received.isEmpty)
        await rig.end()
    }

    @Test func `as many devices as an event may have all get their push`() async throws {
        let rig = try await GatewayRig()
        let many = (1...10_000).map { (type: "android", token: "t\($0)") }
        #expect(try await rig.post(GatewayRig.webhook(many)).status == 200)
        #expect(Set(await rig.delivered(rig.simulators.fcm, 10_000)).count == 10_000)
        await rig.end()
    }

    @Test func `a webhook without devices is accepted and noted`() async throws {
        let rig = try await GatewayRig()
        #expect(try await rig.post(GatewayRig.webhook([])).status == 202)
        #expect(rig.log.all.contains { $0.contains("webhook names no usable device") })
        await rig.end()
    }

    @Test func `one bad device does not block the others`() async throws {
        let rig = try await GatewayRig()
        let body = GatewayRig.webhook([("symbian", "x"), ("ios", "good"), ("android", "fine")])
        #expect(try await rig.post(body).status == 200)
        #expect(await rig.delivered(rig.simulators.apns, 1) == ["good"])
        #expect(await rig.delivered(rig.simulators.fcm, 1) == ["fine"])
        let lines = rig.log.all.filter { $0.contains("reason=unknown_device_type") }
        #expect(lines.allSatisfy { $0.hasPrefix("debug item rejected") }, "\(lines)")
        let metrics = String(decoding: try await rig.admin("/metrics").body, as: UTF8.self)
        #expect(
            metrics.contains(
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
        try await rig.post(GatewayRig.webhook([("ios", "a")]))
        _ = await rig.delivered(rig.simulators.apns, 1)
        // The outcome is recorded a moment after the provider's answer.
        await rig.gateway.stop()
        await rig.end()
    }

    @Test func `a provider that accepts and says nothing is being connected to, and not idle`()
        async throws
    {
        let silent = try SilentListener()
        let rig = try await GatewayRig(config: {
            GatewayRig.plugins($0).replacing(
                "endpoint: \"\($0.fcm.origin)\"",
                with: "endpoint: \"https://127.0.0.1:\(silent.port)\"")
                + "\n" + GatewayRig.routes
        })
        try await rig.post(GatewayRig.webhook([("android", "a")]))
        var state: String?
        while state != "connecting" {
            let json = try JSONValue.parse(try await rig.admin("/readyz").body)
            state = json["senders"]?[1]?["state"]?.string
            try #require(state == "connecting" || state == "idle")
        }
        await rig.end()
        silent.end()
    }

    @Test func `metrics tell what became of deliveries`() async throws {
        let rig = try await GatewayRig()
        try await rig.post(GatewayRig.webhook([("ios", "a")]))
        _ = await rig.delivered(rig.simulators.apns, 1)
        var text = ""
        let line =
            #"signalbox_deliveries_total{route="replies",sender="apns",result="delivered",reason="ok"} 1"#
        for _ in 0..<1_000 where !text.contains(line) {
            text = String(decoding: try await rig.admin("/metrics").body, as: UTF8.self)
        }
        #expect(text.contains(line))
        #expect(text.contains(#"signalbox_requests_total{instance="z",status="200"} 1"#))
        #expect(text.contains("# TYPE signalbox_deliveries_waiting gauge"))
        await rig.end()
    }
}

/// A TCP socket that listens and accepts nobody: clients are connected and hear nothing.
private struct SilentListener {
    private let descriptor: Int32
    let port: Int

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let status = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { place in
                bind(descriptor, place, size) == 0 && listen(descriptor, 16) == 0
                    && getsockname(descriptor, place, &size) == 0
            }
        }
        try #require(status)
        port = Int(UInt16(bigEndian: address.sin_port))
    }

    func end() { close(descriptor) }
}
