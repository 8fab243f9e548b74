import Foundation
import PluginRig
import SignalboxCore
import SignalboxHTTP
import SignalboxJSON
import SignalboxSimulators
import Testing

/// Zendesk messaging with the example's configuration, from the webhook to the push.
@Suite(.timeLimit(.minutes(5))) struct ZendeskMessagingFlowTests {
    @Test func `an agent's message reaches the user's devices once, in text or picture`()
        async throws
    {
        let participants = try PluginRig.fixture("ZendeskMessaging/participants.json")
        let api = try await VendorAPI.start { request in
            request.header("authorization") == "Basic a2V5OmtleS1zZWNyZXQ="
                ? HTTPServerAnswer(status: 200, body: Array(participants.utf8))
                : HTTPServerAnswer(status: 401)
        }
        let rig = try await ExampleRig(
            "zendesk-messaging",
            variables: [
                "ZENDESK_WEBHOOK_SECRET": "hook-secret", "ZENDESK_KEY_ID": "key",
                "ZENDESK_KEY_SECRET": "key-secret", "ZENDESK_ENDPOINT": "\(api.origin)/sc",
            ])
        try await rig.register("anna", "0a1b", "ios")
        try await rig.register("anna", "fcm:1", "android")
        try await rig.register("ben", "0c0d", "ios")
        let body = try PluginRig.fixture("ZendeskMessaging/message.json")
        let secret = [("x-api-key", "hook-secret")]
        // On a busy machine the look-up may take longer than Zendesk waits; it resends after a 503.
        for _ in 0..<60 {
            let (status, _, _) = try await rig.call(
                "POST", "/in/zendesk-messaging", body, headers: secret)
            if status == 200 { break }
            #expect(status == 503)
        }
        let asked = api.requests.count
        // Zendesk may resend even after a 200.
        let (again, _, _) = try await rig.call(
            "POST", "/in/zendesk-messaging", body, headers: secret)
        #expect(again == 200)
        let apple = try await rig.push(rig.simulators.apns, to: "0a1b")
        #expect(apple.body["aps"]?["alert"]?["title"]?.string == "Alice Agent")
        #expect(apple.body["aps"]?["alert"]?["body"]?.string == "Your parcel is on its way")
        #expect(apple.body["conversation_id"]?.string == "13f32c6cf7d0d38e6e0eba93")
        #expect(apple.body["app_id"]?.string == "5698edbf2a43bd081be982f1")
        let google = try await rig.push(rig.simulators.fcm, to: "fcm:1")
        let message = try #require(google.body["message"])
        #expect(message["notification"]?["body"]?.string == "Your parcel is on its way")
        #expect(message["data"]?["conversation_id"]?.string == "13f32c6cf7d0d38e6e0eba93")

        let picture = body.replacing(
            #"{ "type": "text", "text": "Your parcel is on its way" }"#,
            with: #"{"type":"image","altText":"The parcel","mediaUrl":"https://m.example/1.png"}"#
        ).replacing("0ca7d56ba7b2e081e479fe9e", with: "0ca7d56ba7b2e081e479fe9f")
        try await rig.expect(200, "POST", "/in/zendesk-messaging", picture, headers: secret)
        let pushes = await rig.simulators.apns.wait(for: 2, timeoutMs: 60_000)
        #expect(pushes.last?.body["aps"]?["alert"]?["body"]?.string == "The parcel")
        try await rig.expect(401, "POST", "/in/zendesk-messaging", body)
        await rig.gateway.stop()
        #expect(rig.simulators.apns.received.map(\.token) == ["0a1b", "0a1b"])
        #expect(rig.simulators.fcm.received.count == 2)
        // The user is known by now.
        #expect(api.requests.count == asked)
        await rig.end()
        await api.shutdown()
    }
}
