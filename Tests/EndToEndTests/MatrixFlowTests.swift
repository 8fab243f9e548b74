import Foundation
import PluginRig
import SignalboxCore
import SignalboxHTTP
import SignalboxJSON
import SignalboxSimulators
import Testing

/// The Push Gateway API with the example's configuration, from the homeserver's request to the push.
@Suite(.timeLimit(.minutes(5))) struct MatrixFlowTests {
    /// A fixture with the app ids of the example.
    static func fixture(_ name: String) throws -> String {
        try PluginRig.fixture("Matrix/\(name).json").replacing(
            "org.matrix.example", with: "com.example.app")
    }

    static func notify(
        _ rig: ExampleRig, _ body: String
    ) async throws -> (status: UInt32, json: JSONValue) {
        let (status, json, _) = try await rig.call("POST", "/_matrix/push/v1/notify", body)
        return (status, json)
    }

    @Test func `a message, ids alone and counts alone reach the phones`() async throws {
        let rig = try await ExampleRig("matrix")
        let (status, answer) = try await Self.notify(rig, try Self.fixture("message"))
        #expect(status == 200 && answer.text == #"{"rejected":[]}"#)
        let apple = try await rig.push(rig.simulators.apns, to: "0a1b2c")
        #expect(apple.status == 200 && apple.header("apns-priority") == "10")
        #expect(
            apple.body["aps"]?.text
                == #"{"alert":{"loc-key":"MSG_FROM_USER_IN_ROOM_WITH_CONTENT","loc-args":["Major Tom","Mission Control","I'm floating in a most peculiar way."]},"badge":3,"sound":"bing","thread-id":"!slw48wfj34rtnrf:example.com"}"#
        )
        #expect(apple.body["event_id"]?.string == "$3957tyerfgewrf384")
        let google = try await rig.push(rig.simulators.fcm, to: "fcm:1")
        let message = try #require(google.body["message"])
        #expect(message["notification"] == nil && message["android"]?["notification"] == nil)
        #expect(message["data"]?["content_body"]?.string == "I'm floating in a most peculiar way.")
        #expect(message["data"]?["unread"]?.string == "2")

        // The homeserver got no answer and repeats itself; then another event by its id alone.
        _ = try await Self.notify(rig, try Self.fixture("message"))
        _ = try await Self.notify(
            rig, try Self.fixture("event-id-only").replacing("$3957tyerfgewrf384", with: "$2"))
        let ids = try await rig.push(rig.simulators.apns, to: "0a1b2c") { $0.number > apple.number }
        #expect(
            ids.body.text
                == #"{"aps":{"thread-id":"!slw48wfj34rtnrf:example.com","mutable-content":1,"alert":{"loc-key":"SINGLE_UNREAD","loc-args":[]}},"client":"example","room_id":"!slw48wfj34rtnrf:example.com","event_id":"$2","unread_count":2}"#
        )
        _ = try await Self.notify(rig, try Self.fixture("counts"))
        let badge = try await rig.push(rig.simulators.apns, to: "0a1b2c") {
            $0.number > ids.number
        }
        #expect(badge.body.text == #"{"aps":{"badge":0}}"#)
        await rig.gateway.stop()
        #expect(rig.simulators.apns.received.count == 3)
        #expect(rig.simulators.fcm.received.count == 1)
        await rig.end()
    }
}
