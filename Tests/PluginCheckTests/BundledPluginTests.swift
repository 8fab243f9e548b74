import Foundation
import PluginRig
import SignalboxCore
import SignalboxCrypto
import SignalboxJSON
import Testing

/// The conformance suite on every bundled plugin.
@Suite(.serialized) struct BundledPluginTests {
    /// A config with secrets, and requests and events that the plugin must accept.
    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var config: String
        var samples: @Sendable () throws -> JSONValue = { .object([]) }
        var secrets: @Sendable () throws -> [(name: String, value: [UInt8])] = { [] }
        /// Rules that cannot be checked: about requests that it never makes, or without another server.
        var idle: [String] = []
        var testDescription: String { name }
    }

    static func request(
        _ path: String, _ body: String, method: String = "POST", headers: [(String, String)] = []
    ) -> JSONValue {
        [
            "method": .string(method), "path": .string(path),
            "headers": .object(headers.map { .init($0.0, .string($0.1)) }), "body": .string(body),
        ]
    }

    static func samples(
        _ requests: [JSONValue], events: [(type: String, data: String)] = []
    ) throws -> JSONValue {
        [
            "requests": .array(requests),
            "events": .array(
                try events.map {
                    ["type": .string($0.type), "data": try JSONValue.parse($0.data)]
                }),
        ]
    }

    static let all: [Case] = [
        Case(
            name: "APNs",
            config: #"{"team_id":"ABCDE12345","key_id":"FGHIJ67890","topic":"com.example.app"}"#,
            secrets: { [("key", try ThrowAway.p256Key().privateKeyPEM())] }),
        Case(
            name: "FCM", config: "{}",
            secrets: {
                let key = String(decoding: try ThrowAway.rsaKey().privateKeyPEM(), as: UTF8.self)
                let account: JSONValue = [
                    "project_id": "p", "private_key_id": "k", "client_email": "a@example.org",
                    "private_key": .string(key), "token_uri": "https://oauth.example/token",
                ]
                return [("service_account", Array(account.text.utf8))]
            }),
        Case(
            name: "WebPush", config: #"{"subject":"mailto:ops@example.org"}"#,
            secrets: { [("key", try ThrowAway.p256Key().privateKeyPEM())] },
            // Made-up devices are no subscriptions.
            idle: [
                "send-http.leaks", "send-http.reasons", "send-http.equal", "send-http.classify",
            ]),
        Case(
            name: "Webhook", config: "{}",
            secrets: { [("url", Array("https://hooks.example.org/in/{{ token }}".utf8))] }),
        Case(
            name: "Telegram", config: "{}",
            secrets: { [("bot_token", Array("123456789:AAE-a_token_of_a_bot".utf8))] },
            // Made-up devices are no chats.
            idle: [
                "send-http.leaks", "send-http.reasons", "send-http.equal", "send-http.classify",
            ]),
        Case(
            name: "QuietHours",
            config: #"{"from":"22:00","to":"07:00","timezone":"Europe/Vienna"}"#),
        Case(
            name: "Airship", config: #"{"app_key":"app-key"}"#,
            secrets: { [("master_secret", Array("airship-master-secret".utf8))] }),
        Case(
            name: "HMS", config: #"{"client_id":"100000001"}"#,
            secrets: { [("client_secret", Array("hms-client-secret".utf8))] }),
        Case(
            name: "HMS", config: "{}",
            secrets: {
                let key = String(decoding: try ThrowAway.rsaKey().privateKeyPEM(), as: UTF8.self)
                let account: JSONValue = [
                    "project_id": "p", "key_id": "k", "sub_account": "s",
                    "private_key": .string(key),
                ]
                return [("service_account", Array(account.text.utf8))]
            }),
        Case(
            name: "AppLinks",
            config: #"{"apple":[{"app_id":"TEAMID1234.com.example.app","paths":["/support/*"]}]}"#,
            samples: {
                try samples([
                    request("/.well-known/apple-app-site-association", "", method: "GET")
                ])
            }),
        Case(
            name: "Zendesk",
            config: """
                {"path":"/in/zendesk","api":{"subdomain":"d3v","email":"a@example.org",
                 "api_token":"zendesk-api-token"}}
                """,
            samples: {
                let body = try PluginRig.fixture("Zendesk/reply.json")
                let data = #"{"ticket_id":"5","notification":{"title":"T","body":"B"}}"#
                return try samples(
                    [request("/in/zendesk", body)], events: [("ticket.replied", data)])
            }),
        Case(
            name: "ZendeskMessaging",
            config: """
                {"path":"/in/zm","webhook_secret":"hook-secret",
                 "api":{"subdomain":"d3v","key_id":"key","key_secret":"zendesk-key-secret"}}
                """,
            samples: {
                // There is no API to ask about the user.
                let body = try PluginRig.fixture("ZendeskMessaging/message.json").replacing(
                    #""payload": {"#, with: #""payload": {"user":{"externalId":"anna"},"#)
                let data = #"{"text":"B","message":{"author":{"displayName":"T"}}}"#
                return try samples(
                    [request("/in/zm", body, headers: [("x-api-key", "hook-secret")])],
                    events: [("conversation.message", data)])
            }),
        Case(
            name: "LivePerson", config: #"{"path":"/in/lp","user":"lp","password":"secret:word"}"#,
            samples: {
                let basic = "Basic " + Base64.encode(Array("lp:secret:word".utf8))
                let body = try PluginRig.fixture("LivePerson/ios.json")
                return try samples([request("/in/lp", body, headers: [("authorization", basic)])])
            }),
        Case(
            name: "Gorush", config: #"{"user":"app","password":"gorush-password"}"#,
            samples: {
                let basic = "Basic " + Base64.encode(Array("app:gorush-password".utf8))
                let names = ["simple", "ios", "android", "huawei"]
                let data = #"{"platform":1,"message":"B","title":"T"}"#
                let pushes = try names.map {
                    request(
                        "/api/push", try PluginRig.fixture("Gorush/\($0).json"),
                        headers: [("authorization", basic)])
                }
                let others = ["/healthz", "/version", "/api/stat/app"].map {
                    request($0, "", method: "GET", headers: [("authorization", basic)])
                }
                return try samples(pushes + others, events: [("push.requested", data)])
            }),
        Case(
            name: "Matrix",
            config: """
                {"apps":[{"app_id":"*.ios","platform":"ios"},{"app_id":"*","platform":"android"}]}
                """,
            samples: {
                let requests = try ["message", "event-id-only", "counts"].map {
                    request(
                        "/_matrix/push/v1/notify", try PluginRig.fixture("Matrix/\($0).json"))
                }
                let data = #"{"event_id":"$1","type":"m.room.message","sender":"@a:b"}"#
                return try samples(
                    requests + [request("/health", "", method: "GET")],
                    events: [
                        ("event.received", data), ("counts.changed", #"{"counts":{"unread":1}}"#),
                    ])
            }, idle: ["register.leaks", "register.classify", "register.reasons"]),
        Case(
            name: "CustomerInsights",
            config: """
                {"server":{"org":"ORG","apps":[{"mobile_app_id":"00000000-0000-0000-0000-000000000001",
                 "api_token":"ci-api-token"}]},
                 "client":{"endpoint":"https://public.example/x","org":"O",
                 "apps":[{"mobile_app_id":"M","api_token":"ci-client-token"}]}}
                """,
            samples: {
                let path = "/api/v1.0/orgs/ORG/pushdeviceregistration/devices"
                return try samples(
                    ["registration-ios", "registration-android"].map {
                        request(path, try PluginRig.fixture("CustomerInsights/\($0).json"))
                    })
            }),
        Case(
            name: "Sendbird",
            config: #"{"path":"/in/sb","app_id":"APP","api_token":"master-api-token"}"#,
            samples: {
                let body = try PluginRig.fixture("Sendbird/message-send.json")
                let mark = Hex.encode(
                    HMACDigest.sha256(key: Array("master-api-token".utf8), data: Array(body.utf8)))
                return try samples(
                    [request("/in/sb", body, headers: [("x-sendbird-signature", mark)])],
                    events: [("message.sent", body)])
            }),
        Case(
            name: "SendbirdDesk",
            config: """
                {"app_id":"APP","path":"/in/desk","api_token":"desk-api-token",
                 "chat_path":"/in/desk-chat","chat_tokens":["chat-token-of-desk"]}
                """),
        Case(name: "Texts", config: "{}"),
        Case(
            name: "CloudEvents",
            config: """
                {"path":"/in/ce","bearer":["a-token-of-sixteen"],
                 "recipients":[{"each":"/devices","token":"/token","platform":"/platform"}]}
                """,
            samples: {
                let event = #"""
                    {"specversion":"1.0","id":"1","source":"/shop","type":"order.paid",
                     "data":{"title":"T","devices":[{"token":"t","platform":"ios"}]}}
                    """#
                return try samples(
                    [
                        request(
                            "/in/ce", event,
                            headers: [
                                ("authorization", "Bearer a-token-of-sixteen"),
                                ("content-type", "application/cloudevents+json"),
                            ])
                    ], events: [("order.paid", #"{"title":"T"}"#)])
            }),
        Case(
            name: "Kafka",
            config: #"{"brokers":["127.0.0.1:1"],"topics":["orders"],"publish":"outcomes"}"#,
            idle: ["source.blocks", "source.events", "source.tokens"]),
        Case(
            name: "NATS",
            config: #"{"servers":["nats://127.0.0.1:1"],"stream":"EVENTS","publish":"outcomes"}"#,
            idle: ["source.blocks", "source.events", "source.pause", "source.tokens"]),
        Case(
            name: "SMTP",
            config: #"{"host":"127.0.0.1","port":1,"security":"none","from":"a@example.org"}"#),
    ]

    /// Plugins in Swift are memory-safe and share the kit, so one of them speaks for all;
    /// `scripts/weekly.sh` examines every one.
    private static func checksMemory(_ one: Case) -> Bool {
        ["APNs", "SMTP", "CloudEvents", "NATS", "Kafka"].contains(one.name)
            || ProcessInfo.processInfo.environment["SIGNALBOX_MEMORY"] == "all"
    }

    @Test(arguments: all)
    func `a bundled plugin keeps every rule`(one: Case) async throws {
        let checksMemory = Self.checksMemory(one)
        if one.name == "CloudEvents" { try await RustRig.plugins() }
        let report = try await CheckRig.check(
            try PluginRig.bundled(one.name), config: one.config,
            samples: try one.samples().text, checksMemory: checksMemory, secrets: try one.secrets())
        #expect(CheckRig.failures(report) == [])
        // Nothing is left unchecked except what has no sample.
        let left = CheckRig.unchecked(report).filter {
            !$0.hasSuffix(".samples") && (checksMemory || !$0.hasPrefix("memory."))
        }
        #expect(Set(left) == Set(one.idle))
    }

    @Test func `every plugin of the project is here`() async throws {
        let folder = PluginRig.root.appending(path: "Plugins").path
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        // Checked below, or code that plugins share.
        let others: Set = ["BusEvents", "HelloC", "SendbirdPush"]
        #expect(Set(names) == Set(Self.all.map(\.name)).union(others))
    }

    @Test func `HelloC keeps every rule`() async throws {
        let file = PluginRig.root.appending(path: "Plugins/HelloC/hello.c")
        let report = try await CheckRig.check(
            try await CheckRig.compile(file), checksMemory: true)
        #expect(CheckRig.failures(report) == [])
        #expect(CheckRig.unchecked(report) == [])
    }
}
