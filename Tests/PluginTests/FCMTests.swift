import Foundation
import PluginRig
import SignalboxCore
import SignalboxCrypto
import SignalboxJSON
import SignalboxPluginHost
import Testing

@Suite struct FCMTests {
    static let key = Result { try ThrowAway.rsaKey() }
    let now = UInt64(Date().timeIntervalSince1970 * 1000)

    static func account() throws -> String {
        let key = String(decoding: try Self.key.get().privateKeyPEM(), as: UTF8.self)
        return JSONValue.object([
            .init("project_id", .string("demo-1")), .init("client_email", .string("a@b")),
            .init("private_key_id", .string("kid1")), .init("private_key", .string(key)),
            .init("token_uri", .string("https://oauth.example/token")),
        ]).text
    }

    func rig(
        _ more: [JSONValue.Member] = [], account: String? = nil,
        server: @escaping RigServices.Server = { _ in FCMTests.granted("at-1") }
    ) async throws -> SendRig {
        let config = JSONValue.object(
            [.init("service_account", .string(try account ?? Self.account()))] + more)
        return try await SendRig(
            "FCM", config: config.text, services: RigServices(server: server))
    }

    static func granted(_ token: String) -> Result<PluginHTTPAnswer, PluginFault> {
        let body = #"{"access_token":"\#(token)","token_type":"Bearer","expires_in":3599}"#
        return .success(PluginHTTPAnswer(status: 200, body: Array(body.utf8)))
    }

    @Test(arguments: [86_401, 92_233_720_368_547_758, Int64.max])
    func `a token endpoint that promises years is believed for a day`(seconds: Int64) async throws {
        let rig = try await rig { _ in
            let body = #"{"access_token":"a","token_type":"Bearer","expires_in":\#(seconds)}"#
            return .success(PluginHTTPAnswer(status: 200, body: Array(body.utf8)))
        }
        let request = try await rig.render(platform: "android") { $0.body = "b" }
        #expect(request.headers["authorization"] == "Bearer a")
        await rig.end()
    }

    @Test func `the assertion is signed and names who asks for what`() async throws {
        let rig = try await rig()
        _ = try await rig.render(platform: "android") { $0.body = "b" }
        let call = try #require(rig.services.calls.first)
        #expect(rig.services.calls.count == 1)
        #expect(call.method == "POST" && call.url == "https://oauth.example/token")
        let body = String(decoding: call.body, as: UTF8.self)
        let mark = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="
        #expect(body.hasPrefix(mark))
        let parts = body.dropFirst(mark.count).split(separator: ".").map { String($0) }
        try #require(parts.count == 3)
        let claims = try JSONValue.parse(try #require(Base64.decode(parts[1])))
        #expect(claims["iss"]?.string == "a@b")
        #expect(claims["aud"]?.string == "https://oauth.example/token")
        #expect(
            claims["scope"]?.string == "https://www.googleapis.com/auth/firebase.messaging")
        let issued = try #require(claims["iat"]?.integer)
        #expect((Int64(now / 1000)...Int64(now / 1000) + 600).contains(issued))
        #expect(claims["exp"]?.integer == issued + 3600)
        let header = try JSONValue.parse(try #require(Base64.decode(parts[0])))
        #expect(header["kid"]?.string == "kid1" && header["alg"]?.string == "RS256")
        let verifier = try VerifyingKey(pem: Self.key.get().publicKeyPEM())
        #expect(
            verifier.verifyRS256(
                try #require(Base64.decode(parts[2])), data: Array("\(parts[0]).\(parts[1])".utf8)))
        await rig.end()
    }

    @Test func `a data-only message carries everything as text`() async throws {
        let rig = try await rig()
        let request = try await rig.render(
            platform: "android", token: "to\"k:e-n", deadlineUnixMs: now + 900_000
        ) {
            $0.isDataOnly = true
            $0.title = "T"
            $0.body = "B"
            $0.priority = .high
            $0.collapse = "c"
            $0.data = #"{"tid":"5","n":7,"f":true,"o":{"a":1},"gone":null}"#
        }
        #expect(request.method == "POST" && request.path == "/v1/projects/demo-1/messages:send")
        #expect(request.headers["authorization"] == "Bearer at-1")
        #expect(request.headers["content-type"] == "application/json")
        let ttl = try #require(request.body["message"]?["android"]?["ttl"]?.string)
        #expect(ttl.hasSuffix("s") && (1...900).contains(Int(ttl.dropLast()) ?? 0))
        #expect(
            request.text.replacing("\"\(ttl)\"", with: "\"90s\"")
                == (try JSONValue.parse(
                    #"""
                    {"message":{"token":"to\"k:e-n","data":{"tid":"5","n":"7","f":"true","o":"{\"a\":1}",
                    "title":"T","body":"B"},"android":{"priority":"HIGH","ttl":"90s"}}}
                    """#
                ).text))
        await rig.end()
    }

    @Test func `topics and conditions are audiences of their own, and no answer kills them`()
        async throws
    {
        let rig = try await rig()
        for (token, key, value) in [
            ("topic:news-1.de~%20", "topic", "news-1.de~%20"),
            (
                "condition:'a' in topics && ('b' in topics || 'c' in topics)", "condition",
                "'a' in topics && ('b' in topics || 'c' in topics)"
            ),
            ("cK3-yx:APA91bE", "token", "cK3-yx:APA91bE"), ("topics:x", "token", "topics:x"),
        ] {
            let message = try await rig.render(platform: "android", token: token) {
                $0.title = "T"
            }.body["message"]
            #expect(message?[key]?.string == value)
            let keys = ["token", "topic", "condition"].filter { message?[$0] != nil }
            #expect(keys == [key] && message?["android"] != nil)
        }
        let many = (0..<6).map { "'\($0)' in topics" }.joined(separator: " || ")
        for token in [
            "topic:", "topic:a b", "topic:ü", "condition:", "condition:x", "condition:\(many)",
        ] {
            let (requests, settled) = try await rig.prepare([
                SendRig.delivery(
                    1, token: token, platform: "android", SendRig.note { $0.title = "T" })
            ])
            #expect(requests.isEmpty && settled.first?.reason == "malformed_token", "\(token)")
        }
        let gone =
            #"{"error":{"details":[{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"UNREGISTERED"}]}}"#
        for (context, kind) in [("", Outcome.Kind.unregistered), ("group", .rejected)] {
            var response = HTTPResponse(status: 404, body: Array(gone.utf8), items: [9])
            response.context = Array(context.utf8)
            #expect(rig.role.classify(app: "", responses: [response]).0.first?.kind == kind)
        }
        await rig.end()
    }

    @Test func `a shown message has the system's fields`() async throws {
        let rig = try await rig([.init("android_channel", .string("chan"))])
        let request = try await rig.render(platform: "android") {
            $0.title = "T"
            $0.body = "B"
            $0.imageURL = "https://i"
            $0.sound = "ding"
            $0.badge = 4
            $0.category = "open"
            $0.link = "app://x"
        }
        #expect(
            request.body
                == (try JSONValue.parse(
                    #"""
                    {"message":{"token":"0a1b","notification":{"title":"T","body":"B","image":"https://i"},
                    "data":{"link":"app://x"},"android":{"priority":"NORMAL","notification":{"sound":"ding",
                    "click_action":"open","channel_id":"chan","notification_count":4}}}}
                    """#)))
        await rig.end()
    }

    @Test func `a withdrawal is data that names what is shown`() async throws {
        let rig = try await rig()
        let long = String(repeating: "k", count: 80)
        let android = try await rig.render(platform: "android") {
            $0.isWithdrawn = true
            $0.collapse = long
        }
        // The tag of a visible notification is the whole key.
        #expect(
            android.body["message"]?["data"]
                == .object([.init("signalbox_withdraw", .string(long))]))
        #expect(android.body["message"]?["notification"] == nil)
        #expect(android.body["message"]?["android"]?["notification"] == nil)
        let ios = try await rig.render(platform: "ios") {
            $0.isWithdrawn = true
            $0.collapse = long
        }
        let shown = try await rig.render(platform: "ios") {
            $0.body = "B"
            $0.collapse = long
        }
        let apns = try #require(ios.body["message"]?["apns"])
        let name = shown.body["message"]?["apns"]?["headers"]?["apns-collapse-id"]?.string
        #expect(name?.utf8.count ?? 0 > 40)
        #expect(apns["headers"]?["apns-collapse-id"]?.string == name)
        #expect(apns["headers"]?["apns-push-type"]?.string == "background")
        #expect(apns["headers"]?["apns-priority"]?.string == "5")
        #expect(apns["payload"]?["aps"]?.text == #"{"content-available":1}"#)
        #expect(apns["payload"]?["signalbox"]?["withdraw"]?.string == name)
        #expect(ios.body["message"]?["data"]?["signalbox_withdraw"]?.string == name)
        await rig.end()
    }

    @Test func `iOS and web devices get their own blocks`() async throws {
        let rig = try await rig()
        let ios = try await rig.render(platform: "ios", deadlineUnixMs: now + 1000) {
            $0.isDataOnly = true
            $0.title = "T"
            $0.badge = 1
            $0.priority = .high
        }
        let apns = ios.body["message"]?["apns"]
        #expect(apns?["headers"]?["apns-priority"]?.string == "10")
        #expect(apns?["payload"]?["aps"]?["alert"]?["title"]?.string == "T")
        #expect(apns?["payload"]?["aps"]?["badge"]?.integer == 1)
        #expect(ios.body["message"]?["android"] == nil)
        let web = try await rig.render(platform: "web", deadlineUnixMs: now + 900_000) {
            $0.title = "T"
            $0.link = "https://l"
        }
        let push = web.body["message"]?["webpush"]
        #expect((1...900).contains(Int(push?["headers"]?["TTL"]?.string ?? "") ?? 0))
        #expect(push?["fcm_options"]?["link"]?.string == "https://l")
        await rig.end()
    }

    @Test func `a number on the icon is no notification on Android, and no alert on iOS`()
        async throws
    {
        let rig = try await rig()
        func message(_ platform: String, isDataOnly: Bool) async throws -> JSONValue? {
            try await rig.render(platform: platform) {
                $0.badge = 7
                $0.isDataOnly = isDataOnly
            }.body["message"]
        }
        for isDataOnly in [true, false] {
            let android = try await message("android", isDataOnly: isDataOnly)
            #expect(android?["notification"] == nil)
            #expect(android?["android"]?["notification"] == nil)
            let ios = try await message("ios", isDataOnly: isDataOnly)
            #expect(ios?["apns"]?["payload"]?.text == #"{"aps":{"badge":7}}"#)
            #expect(ios?["notification"] == nil)
        }
        await rig.end()
    }

    @Test func `overrides and validate_only`() async throws {
        let rig = try await rig([.init("validate_only", .bool(true))])
        let request = try await rig.render(platform: "android") {
            $0.title = "T"
            $0.overrides = [
                PayloadOverride(family: "fcm", json: #"{"fcm_options":{"analytics_label":"x"}}"#)
            ]
        }
        #expect(request.body["validate_only"] == .bool(true))
        #expect(request.body["message"]?["fcm_options"]?["analytics_label"]?.string == "x")
        #expect(request.body["message"]?["token"]?.string == "0a1b")
        await rig.end()
    }

    @Test(arguments: ["from", "message_type", "google.x", "gcm_y"])
    func `reserved keys are refused`(key: String) async throws {
        let rig = try await rig()
        let note = SendRig.note { $0.data = #"{"\#(key)":"1"}"# }
        let (requests, settled) = try await rig.prepare([SendRig.delivery(1, note)])
        #expect(requests.isEmpty)
        #expect(settled.first?.reason == "reserved_data_key")
        await rig.end()
    }

    @Test func `content over the bound is refused`() async throws {
        let rig = try await rig()
        let note = SendRig.note {
            $0.data = #"{"id":"\#(String(repeating: "x", count: 4097))"}"#
        }
        let (_, settled) = try await rig.prepare([SendRig.delivery(1, note)])
        #expect(settled.first?.reason == "payload_too_large")
        await rig.end()
    }

    @Test(arguments: ["android", "ios", "web"], [false, true])
    func `a text that is too long is shortened, as it is sent`(
        platform: String, isDataOnly: Bool
    ) async throws {
        let rig = try await rig()
        let body = String(repeating: "안녕하세요 ", count: 2_000)
        let request = try await rig.render(platform: platform) {
            $0.title = "T"
            $0.body = body
            $0.isDataOnly = isDataOnly
            $0.data = #"{"id":"5"}"#
        }
        let message = try #require(request.body["message"])
        let shown = message.at(isDataOnly ? "data" : "notification", "body")
        #expect(shown.hasSuffix("…") && body.hasPrefix(shown.dropLast()))
        #expect(message.at("data", "id") == "5")
        // Uses the available space; on iOS the text appears twice, and data shows nothing.
        #expect(shown.utf8.count > (platform == "ios" && isDataOnly ? 1_700 : 3_700))
        #expect(rig.services.shortenedFields == ["body"])
        await rig.end()
    }

    @Test func `pairs that an override puts in their place count, and those it removes do not`()
        async throws
    {
        let rig = try await rig()
        let text = String(repeating: "x", count: 3_000)
        let note: (String) -> String = { message in
            let own = JSONValue.object([.init("message", .string(message))]).text
            let pairs = JSONValue.object([
                .init("body", .null), .init("message", .string(message)),
                .init("sendbird", .string(own)),
            ])
            return JSONValue.object([.init("data", pairs)]).text
        }
        let fits = try await rig.render(platform: "android") {
            $0.isDataOnly = true
            $0.body = text
            $0.overrides = [PayloadOverride(family: "fcm", json: note("short"))]
        }
        #expect(fits.body["message"]?.at("data", "message") == "short")
        #expect(rig.services.shortenedFields == [])
        let cut = try await rig.render(platform: "android") {
            $0.isDataOnly = true
            $0.body = "b"
            $0.overrides = [
                PayloadOverride(family: "fcm", json: note(text)),
                PayloadOverride(
                    family: "shorten", json: #"{"places":["/message","/sendbird/message"]}"#),
            ]
        }
        let data = try #require(cut.body["message"]?["data"])
        let inner = try JSONValue.parse(data.at("sendbird"))
        #expect(data.at("message").utf8.count > 2_000 && inner.at("message").utf8.count > 2_000)
        #expect(rig.services.shortenedFields == ["data"])
        await rig.end()
    }

    @Test func `texts that the app has are named on every platform`() async throws {
        let rig = try await rig()
        func message(_ platform: String, isDataOnly: Bool) async throws -> JSONValue {
            let request = try await rig.render(platform: platform) {
                $0.title = "fallback"
                $0.body = "B"
                $0.isDataOnly = isDataOnly
                $0.overrides = [
                    PayloadOverride(
                        family: "localized",
                        json: #"{"title":{"loc_key":"REPLY","loc_args":["Ann"]}}"#)
                ]
            }
            return try #require(request.body["message"])
        }
        let shown = try await message("android", isDataOnly: false)
        #expect(shown["notification"] == .object([.init("body", .string("B"))]))
        let android = shown["android"]?["notification"]
        #expect(android?["title_loc_key"] == .string("REPLY"))
        #expect(android?["title_loc_args"] == .array([.string("Ann")]))
        let data = try await message("android", isDataOnly: true)["data"]
        #expect(data?["title_loc_key"] == .string("REPLY"))
        #expect(data?["title_loc_args"] == .string(#"["Ann"]"#))
        #expect(data?["title"] == nil && data?["body"] == .string("B"))
        let apple = try await message("ios", isDataOnly: true)["apns"]?["payload"]
        #expect(apple?["aps"]?["alert"]?["title-loc-key"] == .string("REPLY"))
        await rig.end()
    }

    @Test(arguments: [false, true])
    func `a device's four collapse keys are used where that is wanted`(isWanted: Bool) async throws
    {
        let rig = try await rig(isWanted ? [.init("collapse_key", .bool(true))] : [])
        let request = try await rig.render(platform: "android") {
            $0.title = "T"
            $0.collapse = "ticket-5"
        }
        let android = try #require(request.body["message"]?["android"])
        #expect(android.at("notification", "tag") == "ticket-5")
        #expect(android["collapse_key"]?.string == (isWanted ? "ticket-5" : nil))
        await rig.end()
    }

    static func error(_ code: Int, _ details: String) -> String {
        #"{"error":{"code":\#(code),"status":"X","details":[\#(details)]}}"#
    }
    static func fcm(_ code: String) -> String {
        #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"\#(code)"}"#
    }
    static func bad(_ field: String) -> String {
        #"{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"\#(field)"}]}"#
    }

    @Test(arguments: [
        (404, error(404, fcm("UNREGISTERED")), Outcome.Kind.unregistered, Outcome.Scope.item, 0),
        (400, error(400, fcm("INVALID_ARGUMENT")), .rejected, .item, 0),
        (400, error(400, fcm("INVALID_ARGUMENT") + "," + bad("message.data")), .rejected, .item, 0),
        (400, error(400, bad("message.data")), .rejected, .item, 0),
        (403, error(403, fcm("SENDER_ID_MISMATCH")), .config, .item, 0),
        (401, error(401, fcm("THIRD_PARTY_AUTH_ERROR")), .config, .item, 0),
        (401, error(401, fcm("APNS_AUTH_ERROR")), .config, .item, 0), (401, "", .auth, .item, 0),
        (403, error(403, ""), .config, .instance, 0), (404, "{}", .config, .instance, 0),
        (429, error(429, fcm("QUOTA_EXCEEDED")), .throttled, .app, 60_000),
        (500, error(500, fcm("INTERNAL")), .retry, .item, 10_000),
        (503, error(503, fcm("UNAVAILABLE")), .retry, .item, 10_000),
        (500, error(500, fcm("UNSPECIFIED_ERROR")), .retry, .item, 10_000),
        (502, "<html>", .retry, .item, 10_000), (307, "", .retry, .item, 0),
        (400, "", .rejected, .item, 0),
    ])
    func `every error has its class`(
        status: UInt32, body: String, kind: Outcome.Kind, scope: Outcome.Scope, waitMs: UInt64
    ) async throws {
        let rig = try await rig()
        let outcome = try rig.outcome(status, body)
        #expect(outcome.kind == kind)
        #expect(outcome.scope == scope)
        #expect(outcome.retryAfterMs == waitMs)
        if kind == .auth { #expect(outcome.credential == "access_token") }
        await rig.end()
    }

    @Test func `a token is dead by UNREGISTERED alone, and suspected only where FCM names it`()
        async throws
    {
        let rig = try await rig()
        let answers = try JSONValue.parse(try PluginRig.fixture("FCM/400.json"))
        for index in 0..<6 {
            let answer = try #require(answers[index])
            let body = try #require(answer["body"]).text
            let outcome = try rig.outcome(400, body)
            #expect(outcome.kind == .rejected, "\(body)")
            #expect(outcome.reason == "INVALID_ARGUMENT")
            #expect(outcome.suspectsToken == (answer["suspects"] == .bool(true)))
            #expect(outcome.detail == answer["detail"]?.string)
        }
        await rig.end()
    }

    @Test func `Retry-After is seconds or a date`() async throws {
        let rig = try await rig()
        func wait(_ value: String) throws -> UInt64 {
            try rig.outcome(
                429, Self.error(429, Self.fcm("QUOTA_EXCEEDED")),
                headers: [Attribute("retry-after", value)]
            ).retryAfterMs
        }
        #expect(try wait("120") == 120_000)
        #expect(try wait("rubbish") == 60_000)
        #expect(try wait("Sun, 06 Nov 1994 08:49:37 GMT") == 0)
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(identifier: "GMT")
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        let date = try wait(format.string(from: Date(timeIntervalSinceNow: 600)))
        #expect((500_000...600_000).contains(date))
        await rig.end()
    }

    @Test(arguments: [
        (#"{"name":"projects/demo-1/messages/9"}"#, "projects/demo-1/messages/9"),
        ("{\n  \"name\": \"projects/demo-1/messages/9\"\n}\n", "projects/demo-1/messages/9"),
        (#"{"x":1,"name":"a"}"#, "a"), (#"{"name":"a\u002fb"}"#, "a/b"), (#"{"name":"é"}"#, "é"),
        (#"{"name":""}"#, ""), (#"{"other":"a"}"#, ""), (#"{"name":"a"}}"#, ""),
        (#"{"name":"a","name":"b"}"#, "a"), (#"{"name" "a"}"#, ""), (#"{"name":"a""#, ""), ("", ""),
        (#"["name":"a"]"#, ""), (#"{"name":7}"#, ""),
    ])
    func `success has the message's name, however it is written`(
        body: String, name: String
    ) async throws {
        let rig = try await rig()
        let outcome = try rig.outcome(200, body)
        #expect(outcome.kind == .delivered)
        #expect(outcome.providerID == name)
        await rig.end()
    }

    @Test func `a refused assertion says so and is not repeated for ever`() async throws {
        let rig = try await rig(server: { _ in
            .success(PluginHTTPAnswer(status: 400, body: Array(#"{"error":"invalid_grant"}"#.utf8)))
        })
        let note = SendRig.note { $0.body = "b" }
        for _ in 0..<3 {
            let fault = await #expect(throws: PluginFault.self) {
                try await rig.prepare([SendRig.delivery(1, note)])
            }
            // Not `again`: only a new key helps, so the sender is held and nobody is asked.
            #expect(fault?.kind == .auth)
        }
        // Written by the thread that had the answer, maybe a moment later.
        func isWritten() -> Bool { rig.services.lines.contains { $0.contains("invalid_grant") } }
        await rig.services.waitFor(isWritten)
        #expect(isWritten())
        #expect(rig.services.calls.count == 1)
        await rig.end()
    }

    @Test(arguments: [
        ("[]", "not a JSON object"), (#"{"project_id":"p"}"#, "client_email"),
        (
            #"{"project_id":"p","client_email":"c","token_uri":"http://x","private_key":"k"}"#,
            "https://"
        ),
    ])
    func `an unusable service account is refused by name`(
        account: String, words: String
    ) async throws {
        let fault = await #expect(throws: PluginFault.self) { try await rig(account: account) }
        #expect(fault?.message.contains(words) == true)
    }
}
