import Foundation
import PluginRig
import SignalboxCore
import SignalboxJSON
import SignalboxPluginHost
import Testing

@Suite struct HMSTests {
    let now = UInt64(Date().timeIntervalSince1970 * 1000)

    func rig(
        _ more: [JSONValue.Member] = [],
        server: @escaping RigServices.Server = { _ in FCMTests.granted("at/1==") }
    ) async throws -> SendRig {
        let config = JSONValue.object(
            [.init("client_id", .string("c-1")), .init("client_secret", .string("s&=1"))] + more)
        return try await SendRig(
            "HMS", config: config.text, services: RigServices(server: server))
    }

    /// The data of a message, which is JSON as text.
    static func data(_ request: RenderedRequest) throws -> JSONValue {
        try JSONValue.parse(try #require(request.body["message"]).at("data"))
    }

    @Test func `the client's id and secret are exchanged for one token`() async throws {
        let rig = try await rig()
        for _ in 0..<2 { _ = try await rig.render(platform: "huawei") { $0.body = "b" } }
        let call = try #require(rig.services.calls.first)
        #expect(rig.services.calls.count == 1)
        #expect(call.method == "POST")
        #expect(call.url == "https://oauth-login.cloud.huawei.com/oauth2/v3/token")
        #expect(
            String(decoding: call.body, as: UTF8.self)
                == "grant_type=client_credentials&client_id=c-1&client_secret=s%26%3D1")
        await rig.end()
    }

    @Test func `a shown message has texts, tap, tag, group and badge`() async throws {
        let rig = try await rig([
            .init("channel", .string("chan")), .init("category", .string("IM")),
            .init("badge_class", .string("com.example.app.Main")),
        ])
        let request = try await rig.render(
            platform: "huawei", token: "to\"k", deadlineUnixMs: now + 900_000
        ) {
            $0.title = "T"
            $0.body = "B"
            $0.imageURL = "https://i"
            $0.sound = "ding.caf"
            $0.badge = 140
            $0.thread = "th"
            $0.collapse = "ticket-5"
            $0.priority = .high
            $0.data = #"{"n":7}"#
        }
        #expect(request.method == "POST" && request.path == "/v1/c-1/messages:send")
        #expect(request.headers["authorization"] == "Bearer at/1==")
        let ttl = try #require(request.body["message"]?["android"]).at("ttl")
        #expect(ttl.hasSuffix("s") && (1...900).contains(Int(ttl.dropLast()) ?? 0))
        let expected = #"""
            {"message":{"token":["to\"k"],"notification":{"title":"T","body":"B","image":"https://i"},
            "data":"{\"n\":\"7\"}","android":{"category":"IM","ttl":"90s","notification":{
            "click_action":{"type":3},"default_sound":false,"sound":"/raw/ding","tag":"ticket-5","group":"th",
            "channel_id":"chan","badge":{"class":"com.example.app.Main","set_num":99}}}}}
            """#
        #expect(
            request.text.replacing("\"\(ttl)\"", with: "\"90s\"")
                == (try JSONValue.parse(expected).text))
        await rig.end()
    }

    @Test func `a data message carries everything as JSON in a text`() async throws {
        let rig = try await rig()
        let request = try await rig.render(platform: "huawei") {
            $0.isDataOnly = true
            $0.title = "T"
            $0.body = "B"
            $0.priority = .high
            $0.link = "app://x"
            $0.data = #"{"tid":"5","n":7,"o":{"a":1},"gone":null}"#
        }
        #expect(
            try Self.data(request).text
                == #"{"tid":"5","n":"7","o":"{\"a\":1}","title":"T","body":"B","link":"app://x"}"#)
        #expect(request.body["message"]?["notification"] == nil)
        // HIGH is refused unless Huawei has granted it.
        #expect(request.body["message"]?["android"]?.text == "{}")
        await rig.end()
        let granted = try await self.rig([.init("high_priority", .bool(true))])
        let high = try await granted.render(platform: "huawei") {
            $0.isSilent = true
            $0.priority = .high
        }
        #expect(high.body["message"]?["android"]?.text == #"{"urgency":"HIGH"}"#)
        #expect(high.body["message"]?.at("data") == "{}")
        await granted.end()
    }

    @Test(arguments: [
        ("", "", #"{"type":3}"#), ("", "https://a/b", #"{"type":2,"url":"https://a/b"}"#),
        ("open.ticket", "https://a/b", #"{"type":1,"action":"open.ticket"}"#),
        (
            "", "example://support/5?a=b#c",
            #"{"type":1,"intent":"intent://support/5?a=b#c#Intent;scheme=example;action=android.intent.action.VIEW;launchFlags=0x4000000;end"}"#
        ),
        ("", "no link", #"{"type":3}"#), ("", "a;b://c", #"{"type":3}"#),
    ])
    func `every notification says what a tap opens`(
        category: String, link: String, action: String
    ) async throws {
        let rig = try await rig()
        let request = try await rig.render(platform: "huawei") {
            $0.title = "T"
            $0.category = category
            $0.link = link
        }
        let notification = request.body["message"]?["android"]?["notification"]
        #expect(notification?["click_action"]?.text == action)
        // Huawei refuses a notification without title or body.
        #expect(request.body["message"]?["notification"]?.text == #"{"title":"T","body":"T"}"#)
        await rig.end()
    }

    @Test func `texts of the app are named, and the fallback goes along`() async throws {
        let rig = try await rig()
        func message(isDataOnly: Bool) async throws -> RenderedRequest {
            try await rig.render(platform: "huawei") {
                $0.title = "fallback"
                $0.body = "B"
                $0.isDataOnly = isDataOnly
                $0.overrides = [
                    PayloadOverride(
                        family: "localized",
                        json: #"{"title":{"loc_key":"REPLY","loc_args":["Ann"]}}"#)
                ]
            }
        }
        let shown = try #require(try await message(isDataOnly: false).body["message"])
        #expect(shown["notification"]?.text == #"{"title":"fallback","body":"B"}"#)
        let android = shown["android"]?["notification"]
        #expect(android?["title_loc_key"] == .string("REPLY"))
        #expect(android?["title_loc_args"] == .array([.string("Ann")]))
        #expect(
            try Self.data(try await message(isDataOnly: true)).text
                == #"{"title_loc_key":"REPLY","title_loc_args":"[\"Ann\"]","body":"B"}"#)
        await rig.end()
    }

    @Test func `withdrawal and dry run show nothing`() async throws {
        let rig = try await rig()
        let withdrawn = try await rig.render(platform: "huawei") {
            $0.isWithdrawn = true
            $0.collapse = "key"
            $0.title = "T"
        }
        #expect(
            withdrawn.text
                == #"{"message":{"token":["0a1b"],"data":"{\"signalbox_withdraw\":\"key\"}","android":{}}}"#
        )
        let dry = try await rig.render(platform: "huawei") {
            $0.isDryRun = true
            $0.title = "T"
        }
        #expect(
            dry.text
                == #"{"validate_only":true,"message":{"token":["0a1b"],"data":"{}","android":{}}}"#)
        await rig.end()
    }

    @Test(arguments: [("production", 2), ("development", 1)])
    func `a quick app gets what its engine shows or hands over`(mode: String, target: Int64)
        async throws
    {
        let rig = try await rig([.init("quick_app", .string(mode))])
        let shown = try await rig.render(platform: "huawei") {
            $0.title = "T"
            $0.body = "B"
            $0.link = "/ticket"
        }
        #expect(
            try Self.data(shown).text
                == #"{"pushtype":0,"pushbody":{"title":"T","description":"B","page":"/ticket","params":{"link":"/ticket"}}}"#
        )
        #expect(shown.body["message"]?["android"]?["fast_app_target"] == .integer(target))
        #expect(shown.body["message"]?["notification"] == nil)
        let silent = try await rig.render(platform: "huawei") {
            $0.isSilent = true
            $0.data = #"{"a":"b"}"#
        }
        #expect(
            try Self.data(silent).text == #"{"pushtype":1,"pushbody":{"data":"{\"a\":\"b\"}"}}"#)
        await rig.end()
    }

    @Test func `a project sends by v2, and overrides reach into the data`() async throws {
        let rig = try await rig([
            .init("project_id", .string("p-9")), .init("apps", .array([.string("com.a")])),
            .init("validate_only", .bool(true)),
        ])
        let request = try await rig.render(platform: "huawei") {
            $0.isDataOnly = true
            $0.title = "T"
            $0.overrides = [
                PayloadOverride(
                    family: "hms",
                    json:
                        #"{"data":{"title":null,"m":"x"},"android":{"bi_tag":"b","data":{"a":"b"}}}"#
                )
            ]
        }
        #expect(request.path == "/v2/p-9/messages:send")
        #expect(request.body["validate_only"] == .bool(true))
        #expect(try Self.data(request).text == #"{"m":"x"}"#)
        let android = try #require(request.body["message"]?["android"])
        #expect(android.at("bi_tag") == "b" && android.at("data") == #"{"a":"b"}"#)
        await #expect(throws: PluginFault.self) { try await rig.role.endpoint(app: "com.b") }
        let endpoint = try await rig.role.endpoint(app: "com.a")
        #expect(endpoint.origin == "https://push-api.cloud.huawei.com")
        await rig.end()
    }

    @Test func `a notification from overrides alone has a tap, too`() async throws {
        let rig = try await rig()
        let request = try await rig.render(platform: "huawei") {
            $0.overrides = [
                PayloadOverride(
                    family: "hms",
                    json: #"{"data":"plain","android":{"notification":{"title":"T","body":"B"}}}"#)
            ]
        }
        let message = try #require(request.body["message"])
        #expect(message.at("data") == "plain")
        #expect(
            message["android"]?["notification"]?.text
                == #"{"title":"T","body":"B","click_action":{"type":3}}"#)
        await rig.end()
    }

    @Test func `a hundred groups for devices that are offline, where that is wanted`() async throws
    {
        let rig = try await rig([.init("collapse_key", .bool(true))])
        var groups: Set<Int64> = []
        for key in ["ticket-5", "ticket-5", "ticket-6"] {
            let request = try await rig.render(platform: "huawei") {
                $0.title = "T"
                $0.collapse = key
            }
            let group = try #require(request.body["message"]?["android"]?["collapse_key"]?.integer)
            #expect((1...100).contains(group))
            groups.insert(group)
        }
        #expect(groups.count == 2)
        let without = try await rig.render(platform: "huawei") { $0.title = "T" }
        #expect(without.body["message"]?["android"]?["collapse_key"] == nil)
        await rig.end()
    }

    @Test(arguments: ["no", "production"], [false, true])
    func `a text that is too long is shortened, wherever it is`(quick: String, isDataOnly: Bool)
        async throws
    {
        let rig = try await rig([.init("quick_app", .string(quick))])
        let body = String(repeating: "안녕하세요 ", count: 2_000)
        let request = try await rig.render(platform: "huawei") {
            $0.title = "T"
            $0.body = body
            $0.isDataOnly = isDataOnly
            $0.data = #"{"id":"5"}"#
        }
        #expect(request.text.utf8.count <= 4_096 + 4)
        #expect(request.text.utf8.count > 3_900 && request.text.contains("…"))
        #expect(request.text.contains(#"id\"#))
        #expect(rig.services.shortenedFields == ["body"])
        await rig.end()
    }

    @Test func `content over the bound is refused`() async throws {
        let rig = try await rig()
        let note = SendRig.note {
            $0.data = #"{"id":"\#(String(repeating: "x", count: 4097))"}"#
        }
        let (_, settled) = try await rig.prepare([SendRig.delivery(1, note)])
        #expect(settled.first?.reason == "payload_too_large")
        let (_, empty) = try await rig.prepare([
            SendRig.delivery(1, token: "", SendRig.note { $0.title = "T" })
        ])
        #expect(empty.first?.reason == "malformed_token")
        await rig.end()
    }

    static func code(_ code: String, _ message: String = "") -> String {
        JSONValue.object([
            .init("code", .string(code)), .init("msg", .string(message)),
            .init("requestId", .string("r-1")),
        ]).text
    }

    static let partly = #"{"success":0,"failure":1,"illegal_tokens":["0a1b"]}"#

    /// Answers after a push was accepted.
    @Test(arguments: [
        (200, code("80100000", partly), Outcome.Kind.unregistered, Outcome.Scope.item, 0),
        (200, code("80100000", "rubbish"), .rejected, .item, 0),
        (200, code("80100000", #"{"success":1,"failure":0}"#), .delivered, .item, 0),
        (400, code("80100001"), .rejected, .item, 0), (200, code("80100002"), .rejected, .item, 0),
        (400, code("80100003"), .rejected, .item, 0), (200, code("80100004"), .rejected, .item, 0),
        (200, code("80100013"), .rejected, .item, 0), (200, code("80100016"), .rejected, .item, 0),
        (200, code("80100017"), .throttled, .item, 60_000),
        (200, code("80100018"), .rejected, .item, 0), (200, code("80200001"), .auth, .item, 0),
        (401, code("80200003"), .auth, .item, 0), (200, code("80200005"), .auth, .item, 0),
        (200, code("80300002"), .config, .item, 0),
        (200, code("80300007"), .unregistered, .item, 0),
        (200, code("80300008"), .rejected, .item, 0), (200, code("80300010"), .rejected, .item, 0),
        (200, code("80300011"), .config, .item, 0), (200, code("80300013"), .config, .item, 0),
        (200, code("80600003"), .retry, .item, 10_000),
        (500, code("81000001"), .retry, .item, 10_000),
        (200, code("82000001"), .rejected, .item, 0), (200, code("82000013"), .rejected, .item, 0),
        (200, code("89999999"), .rejected, .item, 0), (200, "", .retry, .item, 0),
        (200, #"{"code":80300007}"#, .unregistered, .item, 0), (400, "", .rejected, .item, 0),
        (401, "", .auth, .item, 0), (403, "", .config, .instance, 0),
        (404, "Not Found", .config, .instance, 0), (429, "", .throttled, .instance, 10_000),
        (502, "<html>", .retry, .item, 10_000), (503, "", .throttled, .instance, 10_000),
    ])
    func `every code has its class, also with status 200`(
        status: UInt32, body: String, kind: Outcome.Kind, scope: Outcome.Scope, waitMs: UInt64
    ) async throws {
        let rig = try await rig()
        let accepted = try rig.outcome(200, Self.code("80000000", "Success"))
        #expect(accepted.kind == .delivered && accepted.providerID == "r-1")
        let outcome = try rig.outcome(status, body)
        #expect(outcome.kind == kind)
        #expect(outcome.scope == scope)
        #expect(outcome.retryAfterMs == waitMs)
        #expect(outcome.credential == (kind == .auth ? "access_token" : ""))
        #expect(!outcome.detail.contains("0a1b"))
        await rig.end()
    }

    @Test(arguments: ["80300007", "80100000"])
    func `no token dies before a push was accepted, and a dry run does not count`(code: String)
        async throws
    {
        let rig = try await rig()
        let refused = Self.code(code, Self.partly)
        let first = try rig.outcome(200, refused)
        #expect(first.kind == .retry && first.retryAfterMs == 60_000 && first.scope == .item)
        #expect(first.detail.contains("the token is kept"))
        let permission = try rig.outcome(200, Self.code("80300002"))
        #expect(permission.kind == .config && permission.scope == .instance)
        // Huawei checks a dry run's format, and no token.
        let dry = SendRig.delivery(9, SendRig.note { $0.isDryRun = true })
        _ = try await rig.prepare([dry])
        #expect(try rig.outcome(200, Self.code("80000000")).kind == .delivered)
        #expect(try rig.outcome(200, refused).kind == .retry)
        #expect(try rig.outcome(200, Self.code("80000000")).kind == .delivered)
        #expect(try rig.outcome(200, refused).kind == .unregistered)
        await rig.end()
    }

    @Test func `flow control waits as long as Huawei says`() async throws {
        let rig = try await rig()
        for status in [UInt32(429), 503] {
            let outcome = try rig.outcome(
                status, "", headers: [Attribute("retry-after", "120")])
            #expect(outcome.kind == .throttled && outcome.retryAfterMs == 120_000)
        }
        await rig.end()
    }

    @Test func `a refused client says so, without its secret, and is not repeated for ever`()
        async throws
    {
        let body = #"{"error":1101,"sub_error":20043,"error_description":"s&=1 is wrong"}"#
        let rig = try await rig(server: { _ in
            .success(PluginHTTPAnswer(status: 400, body: Array(body.utf8)))
        })
        for _ in 0..<3 {
            let fault = await #expect(throws: PluginFault.self) {
                try await rig.prepare([SendRig.delivery(1, SendRig.note { $0.body = "b" })])
            }
            #expect(fault?.kind == .auth)
        }
        func isWritten() -> Bool { rig.services.lines.contains { $0.contains("400: 1101/20043") } }
        await rig.services.waitFor(isWritten)
        #expect(isWritten())
        #expect(!rig.services.lines.contains { $0.contains("s&=1") })
        #expect(rig.services.calls.count == 1)
        await rig.end()
    }
}
