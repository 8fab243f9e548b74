import Foundation
import PluginRig
import SignalboxCore
import SignalboxHTTP
import SignalboxJSON
import SignalboxSimulators
import Testing

/// Text of any length and script arrives.
///
/// From each source that repeats it in data of its own it becomes a push that the simulators accept, with its ids intact.
@Suite(.timeLimit(.minutes(10))) struct AnyTextTests {
    /// A source: its format of a message, and the id that must arrive intact.
    private struct Source: Sendable, CustomStringConvertible {
        var name: String
        var path: String
        var headers: @Sendable (String) -> [(String, String)] = { _ in [] }
        /// The requests for one message to an iOS device and an Android device, as `{"name": text}`.
        var bodies: @Sendable (_ id: String, [String]) -> [String]
        /// The id's text in the payload for Apple, and in FCM's data.
        var id: @Sendable (JSONValue) -> String?
        var description: String { name }
    }

    /// A text as JSON.
    private static func quoted(_ text: String) -> String { JSONValue.string(text).text }

    private static func sendbird(_ name: String, channelType: String) -> Source {
        Source(
            name: name, path: "/in/sendbird",
            headers: { [("x-sendbird-signature", SendbirdSignature.chat($0, "master"))] },
            bodies: { id, texts in
                [
                    """
                    {"category":"group_channel:message_send","app_id":"APP-1","type":"MESG",
                    "sender":{"user_id":"alice","nickname":\(quoted(texts[0])),"profile_url":""},
                    "members":[{"user_id":"alice"},{"user_id":"bob","push_enabled":true}],
                    "payload":{"message_id":\(id),"message":\(quoted(texts[1])),"data":"",
                    "translations":{"de":\(quoted(texts[2])),"fr":\(quoted(texts[3]))}},
                    "channel":{"channel_url":"ch_\(id)","name":"T","custom_type":"\(channelType)"}}
                    """
                ]
            },
            id: { payload in
                let inner = payload["message"]?["data"]?["sendbird"]?.string
                let own = inner.flatMap { try? JSONValue.parse($0) } ?? payload["sendbird"]
                return own?["message_id"]?.integer.map { String($0) }
            })
    }

    private static let livePerson = Source(
        name: "LivePerson", path: "/in/liveperson",
        headers: { _ in [("authorization", "Basic dTpw")] }
    ) { id, texts in
        [
            """
            {"aps":{"alert":\(quoted(texts[0])),"sound":"default"},"push-service":1,
            "device-token":"0a","conversationId":"\(id)","dialogId":"d-1","badge":1,"sequence":3}
            """,
            """
            {"data":{"message":\(quoted(texts[1])),"payload":{"conversationId":"\(id)",
            "dialogId":"d-1","badge":1}},"push-service":2,"device-token":"f:1"}
            """,
        ]
    } id: { payload in
        if let own = payload["conversationId"]?.string { return own }
        let text = payload["message"]?["data"]?["payload"]?.string ?? ""
        return (try? JSONValue.parse(text))?["conversationId"]?.string
    }

    private static let insights = Source(name: "CustomerInsights", path: "/in/insights") {
        id, texts in
        [
            """
            {"MobileAppId":"\(mobileApp)","ApiToken":"ci-api-token","UserId":"bob",
            "Title":\(quoted(texts[0])),"Body":\(quoted(texts[1])),"ImageUrl":"","Link":"https://l",
            "OriginalLink":"https://o","TrackingId":"\(id)"}
            """
        ]
    } id: { payload in
        (payload["message"]?["data"] ?? payload["data"])?["trackingId"]?.string
    }

    private static let matrix = Source(name: "Matrix", path: "/in/matrix") { id, texts in
        [
            """
            {"notification":{"event_id":"\(id)","type":"m.room.message","sender":"@ann:example.org",
            "sender_display_name":\(quoted(texts[0])),"room_name":\(quoted(texts[2])),
            "content":{"msgtype":"m.text","body":\(quoted(texts[1])),
            "formatted_body":\(quoted(texts[3]))},"devices":[
            {"app_id":"x.ios","pushkey":"Cg=="},{"app_id":"x.android","pushkey":"f:1"}]}}
            """
        ]
    } id: {
        ($0["message"]?["data"] ?? $0)["event_id"]?.string
    }

    private static let mobileApp = "00000000-0000-0000-0000-000000000001"

    private static let sources = [
        sendbird("Sendbird", channelType: "team"),
        sendbird("SendbirdDesk", channelType: "SENDBIRD_DESK_CHANNEL_CUSTOM_TYPE"), livePerson,
        insights, matrix,
    ]

    private static func yaml(_ simulators: Simulators) -> String {
        // One sender runs in the gateway, one in a process of its own.
        GatewayRig.plugins(simulators).replacing(
            "library: FCM", with: "library: FCM\n    isolation: process")
                + """

                  chat:
                    library: Sendbird
                    config: { path: /in/sendbird, app_id: APP-1, api_token: master, app: com.example.app }
                  desk:
                    library: SendbirdDesk
                    config: { app_id: APP-1, path: /in/desk, api_token: desk-api-token, app: com.example.app }
                  lp: { library: LivePerson, config: { path: /in/liveperson, app: com.example.app, user: u, password: p } }
                  matrix:
                    library: Matrix
                    config:
                      path: /in/matrix
                      apps: [ { app_id: x.ios, platform: ios }, { app_id: x.android, platform: android } ]
                  ci:
                    library: CustomerInsights
                    config:
                      server:
                        org: ORG
                        messages_path: /in/insights
                        apps: [ { mobile_app_id: \(mobileApp), api_token: ci-api-token, app: com.example.app } ]
                devices:
                  clients: [ { name: b, token: token-of-the-backend, app: com.example.app, scopes: [read, write] } ]
                routes:
                  - { name: chat, from: chat, when: { type: message.sent }, send: { ios: apns, android: fcm } }
                  - name: desk
                    from: chat
                    when: { type: desk.message.sent }
                    build: { with: desk }
                    send: { ios: apns, android: fcm }
                  - { name: lp, from: lp, send: { ios: apns, android: fcm } }
                  - { name: matrix, from: matrix, send: { ios: apns, android: fcm } }
                  - { name: ci, from: ci, when: { type: message.requested }, send: { ios: apns, android: fcm } }
                """
    }

    @Test func `any text of any script arrives, with the ids whole`() async throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = AnyText(seed: seed)
        let rig = try await GatewayRig(config: { Self.yaml($0) })
        for (token, platform) in [("0a", "ios"), ("f:1", "android")] {
            let body =
                #"{"user":"bob","token":"\#(token)","platform":"\#(platform)","locale":"de"}"#
            let made = try await DeviceTests.call(
                rig, "POST", "/v1/devices", body, token: "token-of-the-backend")
            #expect(made.status == 200)
        }
        let all = Self.sources.flatMap { source in
            (0..<8).map { _ in (source, (0..<4).map { _ in random.text(most: 100_000) }) }
        }
        for (index, (source, texts)) in all.enumerated() {
            let lengths = "\(source) \(texts.map(\.utf8.count))"
            let id = String(9_007_199_254_740_993 + index)
            for body in source.bodies(id, texts) {
                let answer = try await rig.post(
                    body, path: source.path, headers: source.headers(body))
                #expect((200...202).contains(answer.status), "seed \(seed), bytes \(lengths)")
            }
            for simulator in [rig.simulators.apns, rig.simulators.fcm] {
                let pushes = await simulator.wait(for: index + 1, timeoutMs: 60_000)
                try #require(
                    pushes.count == index + 1,
                    "seed \(seed), bytes \(lengths)\n\(rig.log.all.suffix(8).joined(separator: "\n"))"
                )
                let push = try #require(pushes.last)
                #expect(push.status == 200, "\(push.reason), seed \(seed), bytes \(lengths)")
                #expect(source.id(push.body) == id, "seed \(seed), bytes \(lengths)")
                #expect(!push.body.text.contains("\u{FFFD}"), "seed \(seed), bytes \(lengths)")
            }
        }
        let metrics = rig.metrics
        for sender in ["apns", "fcm"] {
            // Each series is there from the start, with 0.
            let isCounted = metrics.split(separator: "\n").contains {
                $0.hasPrefix("signalbox_shortened_total{sender=\"\(sender)\"")
                    && !$0.hasSuffix(" 0")
            }
            let isLong = all.contains { min($0.1[0].utf8.count, $0.1[1].utf8.count) > 9_000 }
            #expect(isCounted || !isLong, "seed \(seed)")
        }
        await rig.end()
    }
}
