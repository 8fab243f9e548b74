import Foundation
import PluginRig
import SignalboxCore
import SignalboxCrypto
import SignalboxJSON
import SignalboxPluginHost
import Testing

@Suite struct AirshipTests {
    let now = UInt64(Date().timeIntervalSince1970 * 1000)

    func rig(
        _ more: [JSONValue.Member] = [],
        login: JSONValue.Member = .init("master_secret", .string("s~?>"))
    ) async throws -> SendRig {
        let config = JSONValue.object([.init("app_key", .string("k-1")), login] + more)
        return try await SendRig("Airship", config: config.text, services: RigServices())
    }

    @Test func `requests bear the app key and the secret, or a token`() async throws {
        let rig = try await rig()
        let request = try await rig.render { $0.body = "B" }
        #expect(request.method == "POST" && request.path == "/api/push")
        #expect(
            request.headers["authorization"]
                == "Basic " + Base64.encode(Array("k-1:s~?>".utf8)))
        #expect(request.headers["accept"] == "application/vnd.urbanairship+json; version=3")
        #expect(request.headers["content-type"] == "application/json")
        #expect(request.headers["x-ua-appkey"] == nil)
        #expect(
            try await rig.role.endpoint(app: "").origin == "https://go.urbanairship.com")
        await rig.end()
        let other = try await self.rig(
            [.init("region", .string("eu"))], login: .init("token", .string("t-1")))
        let bearer = try await other.render { $0.body = "B" }
        #expect(bearer.headers["authorization"] == "Bearer t-1")
        #expect(bearer.headers["x-ua-appkey"] == "k-1")
        #expect(try await other.role.endpoint(app: "").origin == "https://go.airship.eu")
        await other.end()
    }

    @Test func `one login is needed, and no second one`() async throws {
        for more in [
            [], [JSONValue.Member("master_secret", .string("a")), .init("token", .string("b"))],
        ] {
            let config = JSONValue.object([.init("app_key", .string("k"))] + more).text
            let fault = await #expect(throws: PluginFault.self) {
                try await SendRig("Airship", config: config, services: RigServices())
            }
            #expect(fault?.message.contains("either master_secret or token") == true)
        }
    }

    @Test func `iOS gets Apple's fields, and data beside aps`() async throws {
        let rig = try await rig()
        let request = try await rig.render(platform: "ios", token: "ch\"1") {
            $0.title = "T"
            $0.subtitle = "S"
            $0.body = "B"
            $0.sound = "ding"
            $0.thread = "th"
            $0.category = "cat"
            $0.collapse = "key"
            $0.badge = 3
            $0.link = "app://x"
            $0.data = #"{"zendesk_sdk_request_id":"5","n":7}"#
        }
        #expect(
            request.text
                == (try JSONValue.parse(
                    #"""
                    {"audience":{"channel":"ch\"1"},"device_types":["ios"],"notification":{"alert":"B",
                    "ios":{"title":"T","subtitle":"S","sound":"ding","thread_id":"th","category":"cat","badge":3,
                    "collapse_id":"key","priority":10,
                    "extra":{"zendesk_sdk_request_id":"5","n":7,"link":"app://x"}}}}
                    """#
                ).text))
        await rig.end()
    }

    @Test func `Android and Huawei phones get texts alone as data`() async throws {
        let rig = try await rig([.init("android_channel", .string("chan"))])
        for platform in ["android", "huawei"] {
            let request = try await rig.render(
                platform: platform, token: "ch", deadlineUnixMs: now + 900_000
            ) {
                // Airship's SDK shows it, so data-only makes no difference.
                $0.isDataOnly = true
                $0.title = "T"
                $0.body = "B"
                $0.collapse = "key"
                $0.priority = .high
                $0.data = #"{"n":7,"o":{"a":1}}"#
            }
            let android = try #require(request.body["notification"]?["android"])
            let left = try #require(android["time_to_live"]?.integer)
            #expect((1...900).contains(left))
            #expect(
                request.text.replacing(":\(left),", with: ":90,")
                    == (try JSONValue.parse(
                        #"""
                        {"audience":{"channel":"ch"},"device_types":["android"],"notification":{"alert":"B",
                        "android":{"title":"T","delivery_priority":"high","time_to_live":90,
                        "notification_channel":"chan","notification_tag":"key",
                        "extra":{"n":"7","o":"{\"a\":1}"}}}}
                        """#
                    ).text))
        }
        await rig.end()
    }

    @Test(arguments: [
        ("channel", "ios", "", #"{"channel":"0a1b"}"#),
        ("named_user", "crm", "", #"{"named_user":"0a1b"}"#),
        ("device_token", "ios", "", #"{"device_token":"0A1B"}"#),
        ("device_token", "android", "", #"{"apid":"0a1b"}"#),
        ("channel", "ios", "named_user", #"{"named_user":"0a1b"}"#),
        ("named_user", "ios", "device_token", #"{"device_token":"0A1B"}"#),
        ("channel", "ios", "nonsense", #"{"channel":"0a1b"}"#),
    ])
    func `a device's token is a channel, a named user or a legacy token`(
        audience: String, platform: String, attribute: String, selector: String
    ) async throws {
        let rig = try await rig([.init("audience", .string(audience))])
        var delivery = SendRig.delivery(1, platform: platform, SendRig.note { $0.body = "B" })
        if !attribute.isEmpty { delivery.device.attributes = [Attribute("airship", attribute)] }
        let request = try #require(try await rig.prepare([delivery]).requests.first)
        #expect(request.body["audience"]?.text == selector)
        if platform == "crm" {
            #expect(request.body["device_types"] == .string("all"))
            #expect(request.body["notification"]?["ios"] != nil)
            #expect(request.body["notification"]?["android"] != nil)
        }
        await rig.end()
    }

    @Test func `silent pushes and withdrawals show nothing`() async throws {
        let rig = try await rig()
        func notification(_ platform: String, withdrawn: Bool) async throws -> String {
            let request = try await rig.render(platform: platform) {
                $0.isSilent = !withdrawn
                $0.isWithdrawn = withdrawn
                $0.body = "B"
                $0.collapse = "key"
                if !withdrawn { $0.data = #"{"a":"b"}"# }
            }
            return request.body["notification"]?.text ?? ""
        }
        #expect(
            try await notification("ios", withdrawn: false)
                == #"{"ios":{"content_available":true,"collapse_id":"key","priority":5,"extra":{"a":"b"}}}"#
        )
        #expect(
            try await notification("ios", withdrawn: true)
                == #"{"ios":{"content_available":true,"collapse_id":"key","priority":5,"extra":{"signalbox":{"withdraw":"key"}}}}"#
        )
        #expect(
            try await notification("android", withdrawn: true)
                == #"{"android":{"delivery_priority":"normal","extra":{"signalbox_withdraw":"key"}}}"#
        )
        await rig.end()
    }

    @Test func `dry runs are validated, and overrides merged`() async throws {
        let rig = try await rig()
        let request = try await rig.render(platform: "web") {
            $0.isDryRun = true
            $0.title = "T"
            $0.overrides = [
                PayloadOverride(family: "airship", json: #"{"options":{"no_throttle":true}}"#)
            ]
        }
        #expect(request.path == "/api/push/validate")
        #expect(
            request.text
                == #"{"audience":{"channel":"0a1b"},"device_types":["web"],"notification":{"alert":"T","web":{}},"options":{"no_throttle":true}}"#
        )
        await rig.end()
        let checked = try await self.rig([.init("validate_only", .bool(true))])
        #expect(try await checked.render { $0.body = "B" }.path == "/api/push/validate")
        await checked.end()
    }

    @Test func `texts of the app are named on iOS`() async throws {
        let rig = try await rig()
        let request = try await rig.render(platform: "ios") {
            $0.title = "fallback"
            $0.body = "B"
            $0.overrides = [
                PayloadOverride(
                    family: "localized", json: #"{"title":{"loc_key":"REPLY","loc_args":["Ann"]}}"#)
            ]
        }
        #expect(request.body["notification"]?["alert"] == .string("B"))
        #expect(
            request.body["notification"]?["ios"]?["alert"]?.text
                == #"{"title-loc-key":"REPLY","title-loc-args":["Ann"],"body":"B"}"#)
        await rig.end()
    }

    @Test(arguments: ["ios", "android", "web", ""])
    func `a text that is too long is shortened`(platform: String) async throws {
        let rig = try await rig()
        let body = String(repeating: "안녕하세요 ", count: 2_000)
        let request = try await rig.render(platform: platform) {
            $0.title = "T"
            $0.body = body
            $0.data = #"{"id":"5"}"#
        }
        let notification = try #require(request.body["notification"])
        #expect(notification.text.utf8.count <= 3_584 && notification.text.utf8.count > 3_400)
        #expect(notification.at("alert").hasSuffix("…"))
        #expect(rig.services.shortenedFields == ["body"])
        let large = SendRig.note { $0.data = #"{"id":"\#(String(repeating: "x", count: 4_000))"}"# }
        let (_, settled) = try await rig.prepare([SendRig.delivery(1, platform: platform, large)])
        #expect(settled.first?.reason == "payload_too_large")
        await rig.end()
    }

    static func refused(_ code: Int) -> String {
        #"{"ok":false,"error":"Could not parse 0a1b","error_code":\#(code),"details":{}}"#
    }

    @Test(arguments: [
        (
            202, #"{"ok":true,"operation_id":"o","push_ids":["p-1"]}"#, Outcome.Kind.delivered,
            Outcome.Scope.item, 0
        ),
        (200, #"{"ok":true}"#, .delivered, .item, 0), (200, refused(40001), .rejected, .item, 0),
        (400, refused(40001), .rejected, .item, 0), (400, "", .rejected, .item, 0),
        (401, refused(40101), .config, .instance, 0), (403, "", .config, .instance, 0),
        (404, "", .config, .instance, 0), (405, "", .rejected, .item, 0),
        (406, "", .rejected, .item, 0), (413, "", .rejected, .item, 0),
        (429, "", .throttled, .instance, 60_000), (500, "", .retry, .item, 10_000),
        (503, "<html>", .retry, .item, 10_000),
    ])
    func `every answer has its class, and none kills a token`(
        status: UInt32, body: String, kind: Outcome.Kind, scope: Outcome.Scope, waitMs: UInt64
    ) async throws {
        let rig = try await rig()
        let outcome = try rig.outcome(status, body)
        #expect(outcome.kind == kind)
        #expect(outcome.scope == scope)
        #expect(outcome.retryAfterMs == waitMs)
        #expect(outcome.providerID == (status == 202 ? "p-1" : ""))
        #expect(outcome.detail.contains("40001") == (body.contains("40001") && kind != .delivered))
        #expect(!outcome.detail.contains("0a1b"))
        let later = try rig.outcome(status, body, headers: [Attribute("retry-after", "120")])
        #expect(later.retryAfterMs == (status == 429 || status >= 500 ? 120_000 : 0))
        await rig.end()
    }
}
