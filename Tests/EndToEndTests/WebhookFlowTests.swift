import Foundation
import PluginRig
import SignalboxCore
import SignalboxHTTP
import SignalboxJSON
import Testing

@testable import Signalbox

/// Plugins/Webhook in a whole gateway, with a receiver that speaks HTTP/1.1 alone.
@Suite struct WebhookFlowTests {
    private static func rig(_ receiver: Receiver, _ path: String, more: String = "")
        async throws -> GatewayRig
    {
        let roots = try Receiver.roots.get()
        return try await GatewayRig(config: { simulators in
            GatewayRig.plugins(simulators) + """

                  hook:
                    library: Webhook
                    config: { url: "\(receiver.origin)\(path)", ca: \(roots)\(more) }

                """
                + GatewayRig.routes.replacing("ios: apns", with: "ios: hook")
        })
    }

    private static func state(_ rig: GatewayRig, _ ticket: String) async throws -> JSONValue {
        while true {
            let trace = try await rig.json("/trace?subject=ticket/\(ticket)")
            let found = trace["events"]?[0]?["recipients"]?[0]
            if let found, found["state"]?.string != "waiting" { return found }
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    @Test func `a notification is posted again after a failure, with the same id`() async throws {
        let receiver = try await Receiver(answers: [HTTPServerAnswer(status: 503)])
        let rig = try await Self.rig(receiver, "/in?x=1", more: ", secret: a-secret-of-16-bytes")
        try await rig.post(GatewayRig.webhook([("ios", "t1")], ticket: "1"))
        let requests = await receiver.wait(for: 2)
        #expect(requests.map(\.path) == ["/in", "/in"] && requests[0].query == "x=1")
        #expect(requests[0].header("signalbox-id") == requests[1].header("signalbox-id"))
        #expect(requests[0].header("signalbox-signature")?.hasPrefix("t=") == true)
        let body = try JSONValue.parse(requests[1].body)
        #expect(body["title"]?.string == "T" && body["token"]?.string == "t1")
        #expect(try await Self.state(rig, "1")["state"]?.string == "delivered")
        await rig.end()
        await receiver.end()
    }

    @Test func `a device whose own URL is gone is dead, and others go on`() async throws {
        let receiver = try await Receiver(answers: [
            HTTPServerAnswer(status: 404, body: Array("no_service".utf8))
        ])
        let rig = try await Self.rig(receiver, "/services/{{ token }}", more: ", format: slack")
        try await rig.post(GatewayRig.webhook([("ios", "T1/B1/x")], ticket: "1"))
        let dead = try await Self.state(rig, "1")
        #expect(dead["state"]?.string == "dead" && dead["reason"]?.string == "no_service")
        try await rig.post(GatewayRig.webhook([("ios", "T1/B2/y")], ticket: "2"))
        #expect(try await Self.state(rig, "2")["state"]?.string == "delivered")
        #expect(receiver.requests.map(\.path) == ["/services/T1/B1/x", "/services/T1/B2/y"])
        #expect(!rig.log.all.contains { $0.contains("T1/B1") })
        await rig.end()
        await receiver.end()
    }
}
