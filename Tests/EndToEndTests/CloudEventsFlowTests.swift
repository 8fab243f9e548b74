import Foundation
import PluginRig
import SignalboxCore
import SignalboxJSON
import Testing

/// A Rust plugin in a running gateway: from an HTTP request to the pushes.
@Suite(.timeLimit(.minutes(5))) struct CloudEventsFlowTests {
    static let bearer = ("authorization", "Bearer token-of-the-shop")
    static let path = "/in/cloudevents"

    static func attributes(_ id: String) -> [(String, String)] {
        [
            bearer, ("content-type", "application/json"), ("ce-specversion", "1.0"), ("ce-id", id),
            ("ce-source", "https://shop.example.com"), ("ce-type", "com.example.order.sent"),
            ("ce-subject", "order%2F7"), ("ce-customerid", "bob"),
        ]
    }

    @Test func `CloudEvents of every mode reach tokens and registered devices, each once`()
        async throws
    {
        try await RustRig.plugins()
        let rig = try await ExampleRig(
            "cloudevents", variables: ["CLOUDEVENTS_TOKEN": "token-of-the-shop"])
        try await rig.register("bob", "fcm:1", "android")

        let binary =
            #"{"text":"On its way","order":{"number":7},"devices":[{"token":"0a1b","platform":"ios"}]}"#
        for _ in 0..<2 {
            // The second one is a duplicate and gets the same answer.
            try await rig.expect(200, "POST", Self.path, binary, headers: Self.attributes("1"))
        }
        let apple = try await rig.push(rig.simulators.apns, to: "0a1b")
        #expect(apple.body["aps"]?["alert"]?["title"]?.string == "Order 7")
        #expect(apple.body["aps"]?["alert"]?["body"]?.string == "On its way")
        #expect(apple.body["aps"]?["thread-id"]?.string == "order/7")
        let google = try await rig.push(rig.simulators.fcm, to: "fcm:1")
        #expect(google.body["message"]?["notification"]?["title"]?.string == "Order 7")

        let event =
            #"{"specversion":"1.0","id":"2","source":"https://shop.example.com","type":"com.example.order.sent","data":{"text":"T","order":{"number":8},"devices":[{"token":"0a1c","platform":"ios"}]}}"#
        let json = try await rig.expect(
            200, "POST", Self.path, "[\(event),{}]",
            headers: [Self.bearer, ("content-type", "application/cloudevents-batch+json")])
        #expect(json["accepted"] == .integer(1))
        #expect(json["refused"]?[0]?["index"] == .integer(1))
        let second = try await rig.push(rig.simulators.apns, to: "0a1c")
        #expect(second.body["aps"]?["alert"]?["title"]?.string == "Order 8")
        // A duplicate of the first event would have arrived by now.
        let all = await rig.simulators.apns.wait(for: 2, timeoutMs: 60_000)
        #expect(all.map(\.token) == ["0a1b", "0a1c"])
        await rig.end()
    }
}
