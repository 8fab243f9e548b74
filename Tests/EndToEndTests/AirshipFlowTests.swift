import Foundation
import PluginRig
import SignalboxCore
import SignalboxJSON
import SignalboxSimulators
import Testing

/// `Examples/airship`: from Zendesk's webhook to Airship's channels.
@Suite(.timeLimit(.minutes(5))) struct AirshipFlowTests {
    @Test func `a reply goes to the channels that Zendesk names, and waits while Airship is busy`()
        async throws
    {
        let rig = try await ExampleRig("airship", variables: ["ZENDESK_PATH_SECRET": "s"])
        let airship = rig.simulators.airship
        try await airship.take(
            .fail(tokens: ["channel-2"], status: 429, reason: "", times: 1, retryAfter: 1))
        let body = """
            {"devices":[{"identifier":"channel-1","type":"ios"},{"identifier":"channel-2","type":"android"}],
             "notification":{"title":"Ann","body":"See you soon","ticket_id":"5"}}
            """
        try await rig.expect(200, "POST", "/in/zendesk/s", body)
        let apple = try await rig.push(airship, to: "channel-1") { $0.status == 202 }
        #expect(apple.body["device_types"]?.text == #"["ios"]"#)
        #expect(apple.body["notification"]?["alert"]?.string == "See you soon")
        let extra = apple.body["notification"]?["ios"]?["extra"]
        #expect(extra?["zendesk_sdk_request_id"]?.string == "5" && extra?["tid"]?.string == "5")
        let google = try await rig.push(airship, to: "channel-2") { $0.status == 202 }
        #expect(google.body["notification"]?["android"]?["title"]?.string == "Ann")
        #expect(airship.received.contains { $0.token == "channel-2" && $0.status == 429 })
        #expect(!rig.log.all.contains { $0.contains("sim-airship-secret") })
        await rig.end()
    }
}
