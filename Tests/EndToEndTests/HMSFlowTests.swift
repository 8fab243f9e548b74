import Foundation
import PluginRig
import SignalboxCore
import SignalboxHTTP
import SignalboxJSON
import SignalboxSimulators
import Testing

/// `Examples/hms`: from Sendbird's webhook to a Huawei phone, and a dead token back.
@Suite(.timeLimit(.minutes(5))) struct HMSFlowTests {
    static func rig(_ api: VendorAPI) async throws -> ExampleRig {
        try await ExampleRig(
            "hms",
            variables: [
                "SENDBIRD_APP_ID": "APP-1", "SENDBIRD_API_TOKEN": "master-api-token",
                "SENDBIRD_ENDPOINT": api.origin,
            ])
    }

    static func send(_ rig: ExampleRig, message: Int, category: String = "message_send")
        async throws
    {
        let body = try PluginRig.fixture("Sendbird/message-send.json")
            .replacing("9007199254740993", with: String(message))
            .replacing("message_send", with: category)
        try await rig.expect(
            200, "POST", "/in/sendbird", body, headers: SeedDocumentTests.signed(body))
    }

    @Test func `a Huawei phone gets Sendbird's payload, and a dead token leaves the registry`()
        async throws
    {
        let api = try await VendorAPI.start { _ in .json(.object([])) }
        let rig = try await Self.rig(api)
        let hms = rig.simulators.hms
        try await rig.register("bob", "fcm:1", "android")
        try await rig.register("bob", "hw-1", "huawei")
        try await rig.register("bob", "hw-2", "huawei")

        // Before anything was accepted a refused token may be the configuration's fault.
        try await Self.send(rig, message: 1)
        let push = try await rig.push(hms, to: "hw-1") { $0.status == 200 }
        #expect(push.path == "/v1/100000001/messages:send")
        let data = try JSONValue.parse(try #require(push.body["message"]?["data"]?.string))
        #expect(data["message"]?.string == #"Hello "Bob""#)
        let object = try JSONValue.parse(try #require(data["sendbird"]?.string))
        #expect(object["message_id"]?.integer == 1)
        guard case .object(let members) = data else { return }
        #expect(Set(members.map(\.key)) == ["message", "sendbird"])
        #expect(push.body["message"]?["android"]?["collapse_key"] == nil)
        _ = try await rig.push(hms, to: "hw-2")
        _ = try await rig.push(rig.simulators.fcm, to: "fcm:1")

        // HTTP 200 with a failing code.
        try await hms.take(.fail(tokens: ["hw-2"], status: 200, reason: "80300007", times: nil))
        try await Self.send(rig, message: 2)
        var left: Set = ["hw-2"]
        for _ in 0..<6_000 where left.contains("hw-2") {
            left = Set(try await rig.tokens(of: "bob"))
        }
        #expect(left == ["fcm:1", "hw-1"])

        try await Self.send(rig, message: 2, category: "message_delete")
        let withdrawn = try await rig.push(hms, to: "hw-1") {
            $0.body["message"]?["data"]?.string == #"{"signalbox_withdraw":"2"}"#
        }
        #expect(withdrawn.body["message"]?["notification"] == nil)
        #expect(!rig.log.all.contains { $0.contains("sim-hms-secret") || $0.contains("hw-2") })
        await rig.end()
        await api.shutdown()
    }

    @Test func `with a service account pushes go by v3, and an expired token is replaced`()
        async throws
    {
        let rig = try await GatewayRig(config: { simulators in
            GatewayRig.plugins(simulators) + """

                  hms:
                    library: HMS
                    config:
                      { service_account: "${file:\(simulators.files.hmsAccount)}",
                        endpoint: "\(simulators.hms.origin)", ca: "\(simulators.files.ca)",
                        token_url: "\(simulators.hms.origin)/oauth2/v3/token" }

                """
                + GatewayRig.routes.replacing("android: fcm", with: "android: hms")
        })
        let hms = rig.simulators.hms
        try await rig.post(GatewayRig.webhook([("android", "hw-1")]))
        #expect(await rig.delivered(hms, 1) == ["hw-1"])
        let push = try #require(hms.received.first)
        #expect(push.path == "/v3/200000002/messages:send" && push.header("push-type") == "0")
        #expect(push.body["payload"]?["notification"]?["title"]?.string == "T")
        try await hms.take(.expireCredentials)
        hms.forget()
        try await rig.post(GatewayRig.webhook([("android", "hw-2")], ticket: "6"))
        var isThere = false
        for count in 1...60 where !isThere {
            let all = await hms.wait(for: count, timeoutMs: 60_000)
            isThere = all.contains { $0.reason.isEmpty && $0.token == "hw-2" }
        }
        #expect(isThere && hms.received.contains { $0.reason == "80200005" })
        await rig.end()
    }
}
