import Foundation
import PluginRig
import SignalboxConformance
import SignalboxCore
import SignalboxCrypto
import SignalboxJSON
import SignalboxPluginHost
import Testing

@Suite struct GorushTests {
    static func post(
        _ rig: RoleRig, _ body: String, headers: [(String, String)] = []
    ) async -> IngestResult {
        await rig.handle(body, path: "/api/push", headers: headers)
    }

    /// A request with one notification.
    static func one(_ fields: String) -> String {
        #"{"notifications":[{"tokens":["0a"],\#(fields)}]}"#
    }

    static func json(_ result: IngestResult) throws -> JSONValue {
        try JSONValue.parse(try #require(result.answer).body)
    }

    /// The notification that a request with one becomes.
    static func built(_ body: String) async throws -> PushNotification {
        let rig = try await RoleRig("Gorush", config: "{}")
        let event = try #require(await post(rig, body).events.first)
        let note = try #require(try rig.build(event, event.recipients).contents.first).notification
        #expect(await rig.end() == [])
        return note
    }

    static func override(_ note: PushNotification, _ family: String) throws -> JSONValue {
        let found = note.overrides.first { $0.family == family }
        return try JSONValue.parse(try #require(found?.json))
    }

    // MARK: Requests

    @Test func `each notification is an event for its tokens, and the answer is gorush's`()
        async throws
    {
        let rig = try await RoleRig("Gorush", config: #"{"app":"com.example.app"}"#)
        let result = await Self.post(rig, try PluginRig.fixture("Gorush/simple.json"))
        #expect(result.answer?.status == 200)
        #expect(
            String(decoding: try #require(result.answer).body, as: UTF8.self)
                == #"{"counts":4,"logs":[],"success":"ok"}"#)
        #expect(Set(result.events.map(\.type)) == ["push.requested"])
        #expect(
            result.events.map { $0.recipients.map(\.device.token) } == [
                ["0a1b", "0c0d"], ["fcm:1"], ["hms-1"],
            ])
        #expect(
            result.events.map { $0.recipients.map(\.device.platform) } == [
                ["ios", "ios"], ["android"], ["huawei"],
            ])
        #expect(result.events.allSatisfy { $0.recipients[0].device.app == "com.example.app" })
        #expect(result.events.allSatisfy { $0.dedupe.isEmpty })
        #expect(await rig.end() == [])
    }

    @Test(arguments: [
        ("", "Missing notifications field."), ("[]", "Missing notifications field."),
        ("{}", "Missing notifications field."),
        (#"{"notifications":{}}"#, "Missing notifications field."),
        (#"{"notifications":[]}"#, "Notifications field is empty."),
        (#"{"notifications":[1,2,3]}"#, "Number of notifications(3) over limit(2)"),
    ])
    func `an unusable request is refused in gorush's words`(body: String, words: String)
        async throws
    {
        let rig = try await RoleRig("Gorush", config: #"{"max_notification":2}"#)
        let result = await Self.post(rig, body)
        #expect(result.fault?.kind == .invalid && result.answer?.status == 400)
        let json = try Self.json(result)
        #expect(json["code"]?.integer == 400 && json["message"]?.string == words)
        #expect(await rig.end() == [])
    }

    @Test(arguments: [
        ("7", "not_an_object", "must be an object"),
        (#"{"tokens":["a"],"message":"m"}"#, "unknown_platform", "1 (iOS)"),
        (#"{"tokens":["a"],"platform":4}"#, "unknown_platform", "1 (iOS)"),
        (#"{"platform":1}"#, "no_tokens", "tokens must name a device"),
        (#"{"platform":1,"tokens":[""]}"#, "no_tokens", "tokens must name a device"),
        (#"{"platform":1,"tokens":"a"}"#, "wrong_type", "tokens must be a list"),
        (#"{"platform":1,"tokens":["a"],"badge":"x"}"#, "wrong_type", "badge must be an integer"),
        (#"{"platform":1,"tokens":["a"],"alert":"x"}"#, "wrong_type", "alert must be an object"),
        (#"{"platform":3,"tokens":["a"],"topic":"t"}"#, "topic_unsupported", "topics"),
        (#"{"platform":1,"condition":"'a' in topics"}"#, "topic_unsupported", "topics"),
        (#"{"platform":1,"to":"/topics/foo-bar"}"#, "topic_unsupported", "topics"),
    ])
    func `one bad notification harms no other, and the answer says what is wrong`(
        bad: String, reason: String, words: String
    ) async throws {
        let rig = try await RoleRig("Gorush", config: "{}")
        let good = #"{"platform":1,"tokens":["0a"],"message":"m"}"#
        let result = await Self.post(rig, #"{"notifications":[\#(good),\#(bad),\#(good)]}"#)
        #expect(result.answer?.status == 200 && result.events.count == 2)
        #expect(result.rejects.map(\.reason) == [reason])
        let json = try Self.json(result)
        #expect(json["counts"]?.integer == 2 && json["success"]?.string == "ok")
        #expect(json["logs"]?[0]?["type"]?.string == "failed-push")
        #expect(json["logs"]?[0]?["error"]?.string?.contains(words) == true)
        #expect(await rig.end() == [])
    }

    @Test(arguments: [
        (#"{"platform":2,"topic":"news","message":"m"}"#, "topic:news"),
        (#"{"platform":2,"to":"/topics/foo-bar","message":"m"}"#, "topic:foo-bar"),
        (
            #"{"platform":2,"condition":"'a' in topics","topic":"x","message":"m"}"#,
            "condition:'a' in topics"
        ),
    ])
    func `topics and conditions on Android go to their subscribers`(
        push: String, token: String
    ) async throws {
        let rig = try await RoleRig("Gorush", config: "{}")
        let result = await Self.post(rig, #"{"notifications":[\#(push)]}"#)
        #expect(result.events.first?.recipients.map(\.device.token) == [token])
        #expect(try Self.json(result)["counts"]?.integer == 1)
        #expect(await rig.end() == [])
    }

    @Test func `one bad token harms no other`() async throws {
        let rig = try await RoleRig("Gorush", config: "{}")
        let long = String(repeating: "a", count: 5_000)
        let body =
            #"{"notifications":[{"platform":2,"tokens":["x",7,"","x","\#(long)"],"to":"y"}]}"#
        let result = await Self.post(rig, body)
        #expect(result.events.first?.recipients.map(\.device.token) == ["x", "y"])
        #expect(
            result.rejects.map(\.reason) == ["bad_token", "bad_token", "duplicate", "bad_token"])
        #expect(try Self.json(result)["counts"]?.integer == 2)
        #expect(await rig.end() == [])
    }

    @Test func `notif_id names the event, and a repeat of it is the same event`() async throws {
        let rig = try await RoleRig("Gorush", config: "{}")
        func event(_ fields: String) async throws -> Event {
            try #require(await Self.post(rig, Self.one(fields)).events.first)
        }
        let first = try await event(#""platform":1,"notif_id":"n-1","message":"m""#)
        #expect(first.subject == "n-1" && first.dedupeWindowMs == 600_000)
        let again = try await event(#""platform":1,"notif_id":"n-1","message":"m""#)
        #expect(first.dedupe == again.dedupe && !first.dedupe.isEmpty)
        for other in [
            #""platform":2,"notif_id":"n-1","message":"m""#,
            #""platform":1,"notif_id":"n-1","message":"n""#,
            #""platform":1,"notif_id":"n-2","message":"m""#,
        ] {
            #expect(try await event(other).dedupe != first.dedupe)
        }
        #expect(await rig.end() == [])
    }

    @Test(arguments: [
        ("com.example.app", "", "com.example.app"),
        ("com.example.app.voip", "voip", "com.example.app"),
        ("com.example.app.push-type.liveactivity", "liveactivity", "com.example.app"),
        ("com.example.app.voip", "alert", "com.example.app.voip"), ("", "", "com.example.default"),
    ])
    func `an APNs topic selects the app`(topic: String, pushType: String, app: String) async throws
    {
        let rig = try await RoleRig("Gorush", config: #"{"app":"com.example.default"}"#)
        let body = Self.one(
            #""platform":1,"topic":"\#(topic)","push_type":"\#(pushType)","event":"end""#)
        let event = try #require(await Self.post(rig, body).events.first)
        #expect(event.recipients[0].device.app == app)
        #expect(await rig.end() == [])
    }

    @Test func `credentials of requests and tokens are no part of the event`() async throws {
        let rig = try await RoleRig("Gorush", config: "{}")
        for name in ["android", "huawei"] {
            let result = await Self.post(rig, try PluginRig.fixture("Gorush/\(name).json"))
            let data = try #require(result.events.first).data
            for secret in ["key-of-the-former-api", "secret-of-the-app", "fcm:", "hms-1"] {
                #expect(!data.contains(secret))
            }
        }
        #expect(await rig.end() == [])
    }

    @Test func `fields that change nothing are counted`() async throws {
        let services = RigServices()
        let rig = try await RoleRig("Gorush", config: "{}", services: services)
        _ = await Self.post(rig, Self.one(#""platform":1,"apns_id":"x","retry":3,"novel":true"#))
        #expect(services.counts["fields_ignored_total"] == 3)
        _ = await Self.post(rig, try PluginRig.fixture("Gorush/simple.json"))
        #expect(services.counts["fields_ignored_total"] == 3)
        // Fields of another platform.
        _ = await Self.post(
            rig, Self.one(#""platform":1,"message":"m","time_to_live":5,"huawei_ttl":"5s""#))
        _ = await Self.post(
            rig, Self.one(#""platform":2,"message":"m","event":"start","badge":1,"bi_tag":"x""#))
        _ = await Self.post(rig, Self.one(#""platform":3,"message":"m","badge":1,"android":{}"#))
        #expect(services.counts["fields_ignored_total"] == 9)
        #expect(await rig.end() == [])
    }

    // MARK: Callers

    @Test func `credentials, if configured, are asked for before anything is parsed`()
        async throws
    {
        let rig = try await RoleRig(
            "Gorush",
            config: #"{"user":"app","password":"word","headers":[{"name":"X-Key","value":"k1"}]}"#)
        let basic = ("authorization", "Basic " + Base64.encode(Array("app:word".utf8)))
        let body = try PluginRig.fixture("Gorush/simple.json")
        let all = [basic, ("x-key", "k1")]
        #expect(await Self.post(rig, body, headers: all).fault == nil)
        for headers in [[], [basic], [("x-key", "k1")], [basic, ("x-key", "k2")]] {
            for body in [body, "{{{"] {
                let result = await Self.post(rig, body, headers: headers)
                #expect(result.fault?.kind == .auth && result.answer?.status == 401)
            }
        }
        #expect(await rig.end() == [])
    }

    @Test(arguments: [
        (#"{"user":"u"}"#, "or neither"), (#"{"password":"p"}"#, "or neither"),
        (#"{"path":"/healthz"}"#, "one of the paths that status serves"),
    ])
    func `a wrong configuration is refused with a reason`(config: String, words: String)
        async throws
    {
        let fault = await #expect(throws: PluginFault.self) {
            _ = try await RoleRig("Gorush", config: config)
        }
        #expect(fault?.message.contains(words) == true)
    }

    // MARK: Other paths

    @Test func `gorush's other paths are answered, or say where the answer is`() async throws {
        let rig = try await RoleRig("Gorush", config: "{}")
        _ = await Self.post(rig, try PluginRig.fixture("Gorush/simple.json"))
        let health = await rig.handle("", path: "/healthz", method: "GET")
        #expect(health.answer?.status == 200 && health.answer?.body == [])
        let counts = try Self.json(await rig.handle("", path: "/api/stat/app", method: "GET"))
        #expect(counts["total_count"]?.integer == 4)
        #expect(counts["ios"]?["push_accepted"]?.integer == 2)
        #expect(counts["ios"]?["push_success"] == nil)
        let version = try Self.json(await rig.handle("", path: "/version", method: "GET"))
        #expect(version["version"]?.string?.isEmpty == false)
        for path in ["/api/stat/go", "/api/config", "/sys/stats", "/metrics"] {
            let result = await rig.handle("", path: path, method: "GET")
            #expect(result.answer?.status == 404)
            #expect(try Self.json(result)["message"]?.string?.contains("admin listener") == true)
        }
        let bare = try await RoleRig("Gorush", config: #"{"status":false,"path":"/push"}"#)
        #expect(bare.ingest?.paths == [IngestPath(pattern: "/push", methods: ["POST"])])
        #expect(await bare.end() == [])
        #expect(await rig.end() == [])
    }
}
