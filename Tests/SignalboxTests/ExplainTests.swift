import Foundation
import PluginRig
import Signalbox
import SignalboxConfig
import SignalboxCore
import SignalboxJSON
import Testing

/// What comes in, followed through a configuration without network.
@Suite struct ExplainTests {
    /// A trial with a configuration of the repository or of its own; there are no secrets.
    static func trial(_ path: String = "gateway.yaml", yaml: String? = nil) throws -> Trial {
        var file = PluginRig.root.appending(path: path)
        if let yaml {
            file = try Workshop.folder().appending(path: "gateway.yaml")
            try yaml.write(to: file, atomically: true, encoding: .utf8)
        }
        var options = GatewayOptions(configPath: file.path)
        options.environment.variables = [:]
        options.addPluginFolders([
            URL(filePath: try PluginRig.bundled("APNs")).deletingLastPathComponent().path
        ])
        options.setRunner(try PluginRig.runner())
        return try Trial(options)
    }

    static func explain(
        _ trial: Trial, _ request: String
    ) async throws -> JSONValue {
        try await trial.run(try TrialRequest(json: try JSONValue.parse(request))).json
    }

    @Test func `a webhook is followed to the requests, without any secret`() async throws {
        let body = try String(
            contentsOf: PluginRig.root.appending(path: "Tests/Fixtures/Zendesk/reply.json"),
            encoding: .utf8
        ).replacing("oiuytrdsdfghjk", with: "00aa")
        let report = try await Self.explain(
            try Self.trial(),
            #"{"webhook":{"instance":"zendesk","body":\#(body)},"now_unix_ms":1767225600000}"#)
        #expect(report["webhook"]?["status"] == .integer(200))
        #expect(report["webhook"]?["path"]?.string == "/in/zendesk/ZENDESKPATHSECRET")
        let route = report["events"]?[0]?["routes"]?[0]
        #expect(route?["matched"] == .bool(true))
        let push = route?["pushes"]?[0]
        #expect(push?["sender"]?.string == "apns", "\(report.text)")
        let request = push?["requests"]?[0]
        #expect(request?["url"]?.string == "https://api.push.apple.com/3/device/{token}")
        #expect(request?["headers"]?["authorization"]?.string == "bearer {secret}")
        #expect(request?["headers"]?["apns-expiration"]?.string == "1767312000")
        #expect(request?["bytes_max"] == .integer(4096))
        let bytes = try #require(request?["bytes"]?.integer)
        #expect(bytes == Int64(request?["body"]?.text.utf8.count ?? 0))
        let toAndroid = route?["pushes"]?[1]?["requests"]?[0]
        #expect(toAndroid?["body"]?["message"]?["token"]?.string == "{token}")
        #expect(toAndroid?["bytes_max"] == .integer(4096))
        #expect(report["stand_ins"]?.text.contains("${file:secrets/apns.p8}") == true)
        #expect(!report.text.contains("PRIVATE KEY"))
    }

    @Test func `an event says why a route does not take it`() async throws {
        let report = try await Self.explain(
            try Self.trial(yaml: ShopConfig.yaml),
            #"{"source":"shop","event":{"type":"order.shipped","data":{"order":{"total":0}}}}"#)
        let route = report["events"]?[0]?["routes"]?[0]
        #expect(route?["matched"] == .bool(false))
        #expect(route?["why_not"]?.text == #"["order.total is 0, wanted not \"0\""]"#)
        #expect(route?["pushes"]?.text == "[]")
    }

    @Test func `users get the devices that are given, or invented ones`() async throws {
        let trial = try Self.trial(yaml: ShopConfig.yaml)
        let event = """
            {"type":"order.shipped","data":{"order":{"total":1},"title":"A","body":"is on its way"},
             "recipients":[{"user":"u-1"},{"user":"u-2"}]}
            """
        let invented = try await Self.explain(trial, #"{"source":"shop","event":\#(event)}"#)
        let pushes = invented["events"]?[0]?["routes"]?[0]?["pushes"]
        #expect(pushes?[1]?["invented"] == .bool(true), "\(invented.text)")
        #expect(pushes?[1]?["alert"]?["badge"] == .integer(1))
        #expect(pushes?[1]?["alert"]?["title"]?.string == "A")
        #expect(pushes?[1]?["requests"]?[0]?["body"]?["aps"]?["badge"] == .integer(1))
        let devices = #"[{"user":"u-2","platform":"ios","token":"AB","app":"com.example.shop"}]"#
        let given = try await Self.explain(
            trial, #"{"source":"shop","event":\#(event),"devices":\#(devices)}"#)
        let route = given["events"]?[0]?["routes"]?[0]
        #expect(
            route?["skipped"]?.text == #"[{"user":"u-1","platform":"","reason":"unknown_user"}]"#)
        #expect(route?["pushes"]?[0]?["user"]?.string == "u-2")
        #expect(route?["pushes"]?[0]?["invented"] == .bool(false))
    }

    @Test func `a long text shows what was shortened`() async throws {
        let text = String(repeating: "long ", count: 2_000)
        let report = try await Self.explain(
            try Self.trial(yaml: ShopConfig.yaml),
            #"{"source":"shop","event":{"type":"order.shipped","data":{"order":{"total":1},"title":"A","body":"\#(text)"}}}"#
        )
        let request = report["events"]?[0]?["routes"]?[0]?["pushes"]?[0]?["requests"]?[0]
        #expect(request?["shortened"]?.text == #"["body"]"#, "\(report.text)")
        #expect((request?["bytes"]?.integer ?? 9_999) <= 4_096)
    }

    @Test func `signatures are not checked, unless somebody asks for it`() async throws {
        let yaml = ShopConfig.yaml.replacing("[shop] }", with: "[] }")
            .replacing(
                "  texts:",
                with:
                    "  shop: { library: Sendbird, config: { path: /in/s, app_id: A, api_token: \"${env:T}\" } }\n  texts:"
            )
        let body = #"{"category":"group_channel:message_send","app_id":"A"}"#
        func webhook(_ check: Bool, _ headers: String) -> String {
            #"{"webhook":{"instance":"shop","headers":\#(headers),"body":\#(body)},"check_signatures":\#(check)}"#
        }
        let own = try Self.trial(yaml: yaml)
        let open = try await Self.explain(own, webhook(false, #"{"x-sendbird-signature":"00"}"#))
        #expect(open["webhook"]?["status"] != .integer(401), "\(open.text)")
        let strict = try await Self.explain(own, webhook(true, #"{"x-sendbird-signature":"00"}"#))
        #expect(strict["webhook"]?["status"] == .integer(401), "\(strict.text)")
    }

    @Test func `a message of a bus is not taken for an event, and the words say so`() async throws {
        let bus = """
              bus: { library: NATS, config: { servers: ["nats://127.0.0.1:1"], stream: S, map: { type: /kind } } }
              texts:
            """
        let trial = try Self.trial(
            yaml: ShopConfig.yaml.replacing("  texts:", with: bus).replacing(
                "from: shop", with: "from: [shop, bus]"))
        await #expect(throws: TrialFault.self) {
            try await Self.explain(trial, #"{"source":"bus","event":{"kind":"x"}}"#)
        }
        do {
            _ = try await Self.explain(trial, #"{"source":"bus","event":{"kind":"x"}}"#)
        } catch {
            #expect("\(error)".contains("unknown key \"kind\""))
            #expect("\(error)".contains("give the event that \"bus\" makes of a message"))
        }
        do {
            _ = try await Self.explain(trial, #"{"event":{"type":"x"}}"#)
        } catch {
            #expect("\(error)".contains("known: shop, bus"), "\(error)")
        }
    }

    @Test(arguments: [
        (#"{}"#, "give webhook or event"),
        (#"{"event":{"type":"t"},"sources":"x"}"#, "did you mean \"source\""),
        (
            #"{"event":{"type":"t"},"source":"shoe"}"#,
            "unknown source \"shoe\" (did you mean \"shop\"?)"
        ),
        (#"{"event":{"typ":"t"},"source":"shop"}"#, "unknown key \"typ\""),
        (#"{"webhook":{"path":"/x"}}"#, "no plugin takes webhooks"),
    ])
    func `a request that makes no sense is refused by name`(_ request: String, _ words: String)
        async throws
    {
        let trial = try Self.trial(yaml: ShopConfig.yaml)
        do {
            _ = try await Self.explain(trial, request)
            Issue.record("it was taken")
        } catch {
            #expect("\(error)".contains(words), "\(error)")
        }
    }
}
