import Foundation
import PluginRig
import SignalboxCore
import SignalboxHTTP
import SignalboxJSON
import SignalboxSimulators
import Testing

/// A real homeserver with the example's configuration.
@Suite(.timeLimit(.minutes(10))) struct SynapseTests {
    @Test func `a message in Synapse is a push, and a dead token removes the pusher`()
        async throws
    {
        let synapse = try await SynapseServer()
        let rig = try await ExampleRig("matrix")
        let gateway = "http://127.0.0.1:\(rig.gateway.port)"
        let ann = try await synapse.register("ann")
        let ben = try await synapse.register("ben")
        let room = try await synapse.room(of: ann, with: ben, name: "Mission Control")
        try await synapse.setPusher(
            "Chss", appID: "com.example.app.ios", gateway: gateway, for: ann)
        try await synapse.setPusher(
            "fcm:1", appID: "com.example.app.android", gateway: gateway,
            data: #","format":"event_id_only""#, for: ann)

        let event = try await synapse.say("Ground control to Major Tom", in: room, as: ben)
        let apple = try await rig.push(rig.simulators.apns, to: "0a1b2c") {
            $0.body["event_id"] != nil
        }
        #expect(apple.body["event_id"]?.string == event)
        #expect(apple.body["room_id"]?.string == room)
        let alert = try #require(apple.body["aps"]?["alert"])
        #expect(alert["loc-key"]?.string?.hasPrefix("MSG_FROM_USER") == true, "\(alert.text)")
        #expect(alert["loc-args"]?.text.contains("Ground control to Major Tom") == true)
        #expect(apple.body["aps"]?["badge"]?.integer == 1)
        let google = try await rig.push(rig.simulators.fcm, to: "fcm:1") {
            $0.body["message"]?["data"]?["event_id"] != nil
        }
        let data = try #require(google.body["message"]?["data"])
        #expect(data["event_id"]?.string == event && data["content_body"] == nil)

        // Reading takes the number away.
        try await synapse.call("POST", "/rooms/\(room)/receipt/m.read/\(event)", as: ann)
        let read = try await rig.push(rig.simulators.apns, to: "0a1b2c") {
            $0.number > apple.number && $0.body["event_id"] == nil
        }
        #expect(read.body.text == #"{"aps":{"badge":0}}"#)

        try await rig.simulators.apns.take(
            .fail(tokens: ["0a1b2c"], status: 410, reason: "Unregistered", times: nil))
        var left = try await synapse.pushkeys(of: ann)
        #expect(Set(left) == ["Chss", "fcm:1"])
        for number in 0..<600 where left.contains("Chss") {
            try await synapse.say("Are you there? \(number)", in: room, as: ben)
            try await Task.sleep(for: .milliseconds(100))
            left = try await synapse.pushkeys(of: ann)
        }
        #expect(left == ["fcm:1"], "\(synapse.log)")
        await rig.end()
    }
}
