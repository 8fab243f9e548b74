import PluginRig
import SignalboxCore
import SignalboxHTTP
import SignalboxJSON
import Testing

/// `POST /explain` of a running gateway.
@Suite struct ExplainLiveTests {
    private func ask(_ rig: GatewayRig, _ body: String) async throws -> RESTAnswer {
        let port = try #require(rig.gateway.adminPort)
        return try await rig.client.patient(
            RESTCall(
                method: "POST", url: "http://127.0.0.1:\(port)/explain",
                headers: [Attribute("content-type", "application/json")], body: Array(body.utf8)))
    }

    @Test func `a webhook is explained, and nothing is sent or kept`() async throws {
        let rig = try await GatewayRig()
        let webhook = GatewayRig.webhook([("ios", "a"), ("android", "b")])
        let body = #"{"webhook":{"instance":"z","body":\#(webhook)}}"#
        let answer = try await ask(rig, body)
        #expect(answer.status == 200)
        let json = try JSONValue.parse(answer.body)
        let pushes = json["events"]?[0]?["routes"]?[0]?["pushes"]
        #expect(
            pushes?[0]?["requests"]?[0]?["headers"]?["authorization"]?.string == "bearer {secret}")
        #expect(pushes?[1]?["sender"]?.string == "fcm", "\(json.text)")
        #expect(json["stand_ins"]?.text == "[]")
        #expect(json["text"]?.string?.contains("push by apns to ios") == true)
        // The same once more, and then for real: it is no duplicate of what was only explained.
        #expect(try await ask(rig, body).status == 200)
        #expect(rig.gateway.waitingCount == 0)
        #expect(rig.simulators.apns.received.isEmpty && rig.simulators.fcm.received.isEmpty)
        try await rig.post(webhook)
        #expect(await rig.delivered(rig.simulators.apns, 1) == ["a"])
        // A request that makes no sense is refused by name.
        for (body, words) in [
            ("{", "the body is not JSON"), (#"{"event":7,"source":"z"}"#, "must be an object"),
            (#"{"webhook":{"instance":"zz"}}"#, "takes no webhooks"),
        ] {
            let answer = try await ask(rig, body)
            #expect(answer.status == 400)
            #expect(String(decoding: answer.body, as: UTF8.self).contains(words))
        }
        await rig.end()
    }
}
