import Foundation
import PluginRig
import SignalboxCore
import SignalboxCrypto
import SignalboxJSON
import SignalboxPluginHost
import Testing

@Suite struct APNsTests {
    static let key = Result { try ThrowAway.p256Key() }
    let now = UInt64(Date().timeIntervalSince1970 * 1000)

    func rig(_ more: String = "") async throws -> SendRig {
        let key = String(decoding: try Self.key.get().privateKeyPEM(), as: UTF8.self)
            .replacingOccurrences(of: "\n", with: "\\n")
        return try await SendRig(
            "APNs",
            config: """
                {"team_id":"ABCDE12345","key_id":"FGHIJ67890","key":"\(key)",
                 "topic":"com.example.app"\(more)}
                """, services: RigServices())
    }

    @Test func `an alert has every header and its payload`() async throws {
        let rig = try await rig()
        let request = try await rig.render(deadlineUnixMs: now + 60_000) {
            $0.title = "T\"1"
            $0.subtitle = "S"
            $0.body = "B\n2"
            $0.badge = 3
            $0.sound = "default"
            $0.thread = "th"
            $0.category = "cat"
            $0.collapse = "ticket-5"
            $0.imageURL = "https://x/y.png"
            $0.priority = .high
            $0.data = #"{"zendesk_sdk_request_id":"5","n":{"a":[1,true,null]}}"#
        }
        #expect(request.method == "POST")
        #expect(request.path == "/3/device/0a1b")
        #expect(request.headers["apns-topic"] == "com.example.app")
        #expect(request.headers["apns-push-type"] == "alert")
        #expect(request.headers["apns-id"] == "123e4567-e89b-42d3-a456-426614174001")
        #expect(request.headers["apns-priority"] == "10")
        #expect(request.headers["apns-expiration"] == String((now + 60_000) / 1000))
        #expect(request.headers["apns-collapse-id"] == "ticket-5")
        #expect(request.unindexed == ["apns-id", "apns-expiration", "apns-collapse-id"])
        #expect(
            request.body
                == (try JSONValue.parse(
                    """
                    {"aps":{"alert":{"title":"T\\"1","subtitle":"S","body":"B\\n2"},"badge":3,
                    "sound":"default","thread-id":"th","category":"cat","mutable-content":1},
                    "image":"https://x/y.png","zendesk_sdk_request_id":"5","n":{"a":[1,true,null]}}
                    """)))
        #expect(request.items == [1])
        await rig.end()
    }

    @Test func `a collapse key that cannot stand in a header keeps its meaning`() async throws {
        let rig = try await rig()
        var keys: [String] = []
        for collapse in ["a\r\nb: c", "a\r\nb: c", "ab: c", "a\nb: c"] {
            let request = try await rig.render { $0.collapse = collapse }
            keys.append(request.headers["apns-collapse-id"] ?? "")
        }
        #expect(keys[0] == keys[1])
        #expect(Set(keys).count == 3)
        #expect(keys[2] == "ab: c")
        #expect(keys.allSatisfy { $0.hasPrefix("ab: c") && $0.utf8.count <= 64 })
        await rig.end()
    }

    @Test func `the provider token is signed by the key`() async throws {
        let rig = try await rig()
        let request = try await rig.render { $0.body = "b" }
        let bearer = try #require(request.headers["authorization"])
        #expect(bearer.hasPrefix("bearer "))
        let parts = bearer.dropFirst(7).split(separator: ".").map { String($0) }
        try #require(parts.count == 3)
        func json(_ part: String) throws -> JSONValue {
            try JSONValue.parse(try #require(Base64.decode(part)))
        }
        #expect(try json(parts[0]) == JSONValue.parse(#"{"alg":"ES256","kid":"FGHIJ67890"}"#))
        let claims = try json(parts[1])
        #expect(claims["iss"]?.string == "ABCDE12345")
        let issued = try #require(claims["iat"]?.integer)
        #expect((Int64(now / 1000)...Int64(now / 1000) + 600).contains(issued))
        let verifier = try VerifyingKey(pem: Self.key.get().publicKeyPEM())
        #expect(
            verifier.verifyES256(
                try #require(Base64.decode(parts[2])), data: Array("\(parts[0]).\(parts[1])".utf8)))
        await rig.end()
    }

    @Test(arguments: [
        ("voip", "com.example.app.voip", "10", "0"),
        ("complication", "com.example.app.complication", "5", "later"),
        ("fileprovider", "com.example.app.pushkit.fileprovider", "5", "later"),
        ("mdm", "com.example.app", "5", "later"),
        ("liveactivity", "com.example.app.push-type.liveactivity", "5", "later"),
        ("location", "com.example.app.location-query", "5", "later"),
        ("pushtotalk", "com.example.app.voip-ptt", "10", "0"),
        ("widgets", "com.example.app.push-type.widgets", "5", "later"),
        ("controls", "com.example.app.push-type.controls", "5", "later"),
        ("background", "com.example.app", "5", "later"),
    ])
    func `push types choose topic, priority and expiration`(
        type: String, topic: String, priority: String, expiration: String
    ) async throws {
        let rig = try await rig()
        let request = try await rig.render(deadlineUnixMs: now + 60_000) {
            $0.pushType = type
            $0.priority = .normal
            $0.data = #"{"mdm":"magic","container-identifier":"root"}"#
            if type == "liveactivity" {
                $0.overrides = [
                    PayloadOverride(family: "apns", json: #"{"aps":{"event":"end","timestamp":1}}"#)
                ]
            }
        }
        #expect(request.headers["apns-push-type"] == type)
        #expect(request.headers["apns-topic"] == topic)
        #expect(request.headers["apns-priority"] == priority)
        #expect(
            request.headers["apns-expiration"]
                == (expiration == "later" ? String((now + 60_000) / 1000) : expiration))
        switch type {
        case "mdm", "fileprovider": #expect(request.body["mdm"]?.string == "magic")
        case "liveactivity": #expect(request.body["aps"]?["event"]?.string == "end")
        case "widgets", "controls": #expect(request.body["aps"]?["content-changed"] == .bool(true))
        case "background": #expect(request.body["aps"]?["content-available"] == .integer(1))
        default: #expect(request.body["aps"] == .object([]))
        }
        await rig.end()
    }

    @Test func `a silent push is a background push without alert, badge and sound`() async throws {
        let rig = try await rig()
        let request = try await rig.render {
            $0.isSilent = true
            $0.title = "T"
            $0.badge = 1
            $0.sound = "s"
            $0.priority = .high
        }
        #expect(request.text == #"{"aps":{"content-available":1}}"#)
        #expect(request.headers["apns-push-type"] == "background")
        #expect(request.headers["apns-priority"] == "5")
        await rig.end()
    }

    @Test func `a device's own badge wins and content is shared`() async throws {
        let rig = try await rig()
        let note = SendRig.note {
            $0.body = "b"
            $0.badge = 9
        }
        let (requests, _) = try await rig.prepare([
            SendRig.delivery(1, token: "aa", badge: 2, note),
            SendRig.delivery(2, token: "bb", note),
            SendRig.delivery(3, token: "cc", badge: 0, note),
        ])
        #expect(requests.map { $0.body["aps"]?["badge"]?.integer } == [2, 9, 0])
        #expect(requests.map(\.path) == ["/3/device/aa", "/3/device/bb", "/3/device/cc"])
        await rig.end()
    }

    @Test func `overrides are laid over the payload`() async throws {
        let rig = try await rig()
        let request = try await rig.render {
            $0.title = "T"
            $0.sound = "s"
            $0.overrides = [
                PayloadOverride(
                    family: "apns",
                    json: #"{"aps":{"sound":null,"interruption-level":"time-sensitive"},"x":[1]}"#),
                PayloadOverride(family: "fcm", json: #"{"y":1}"#),
            ]
        }
        #expect(
            request.text
                == #"{"aps":{"alert":{"title":"T"},"interruption-level":"time-sensitive"},"x":[1]}"#
        )
        await rig.end()
    }

    @Test func `values of the data are the same JSON in the payload`() async throws {
        let rig = try await rig()
        let data = #"{"a":"q\"u\\o\nte","b":"","c":[1,"x"],"d":1.5,"e":null,"f":"é\u0001"}"#
        let request = try await rig.render {
            $0.body = "b"
            $0.data = data
        }
        let members = data.dropFirst()
        #expect(request.text == #"{"aps":{"alert":{"body":"b"}},"# + members)
        await rig.end()
    }

    @Test func `a long collapse key is shortened without meeting another`() async throws {
        let rig = try await rig()
        let long = String(repeating: "é", count: 40)
        let one = try await rig.render { $0.collapse = long + "1" }
        let two = try await rig.render { $0.collapse = long + "2" }
        let first = try #require(one.headers["apns-collapse-id"])
        #expect(first.utf8.count <= 64)
        #expect(first != two.headers["apns-collapse-id"])
        await rig.end()
    }

    @Test(arguments: [("", 4096), ("voip", 5120)])
    func `a text that is too long is shortened to the limit of its push type`(
        pushType: String, bytesMax: Int
    ) async throws {
        let rig = try await rig()
        let body = String(repeating: "안녕하세요 ", count: 2_000)
        let request = try await rig.render {
            $0.pushType = pushType
            $0.title = "T"
            $0.body = body
            $0.data = #"{"id":"5","own":{"text":"\#(body)"}}"#
            $0.overrides = [
                PayloadOverride(family: "shorten", json: #"{"places":["/own/text"]}"#),
                PayloadOverride(family: "apns", json: #"{"aps":{"relevance-score":0.5}}"#),
            ]
        }
        let cut = request.body.at("aps", "alert", "body")
        #expect(cut.hasSuffix("…") && body.hasPrefix(cut.dropLast()))
        #expect(request.body.at("aps", "alert", "title") == "T")
        #expect(request.body["id"]?.string == "5")
        #expect(request.body.at("own", "text").utf8.count > bytesMax / 2 - 200)
        #expect(request.body["aps"]?["relevance-score"] == .number("0.5"))
        let bytes = request.body.text.utf8.count
        #expect(bytes <= bytesMax && bytes > bytesMax - 8, "\(bytes)")
        #expect(rig.services.shortenedFields == ["body", "data"])
        await rig.end()
    }

    @Test func `an alert that is a text alone is shortened, too`() async throws {
        let rig = try await rig()
        let request = try await rig.render {
            let text = String(repeating: "x", count: 9_000)
            $0.overrides = [
                PayloadOverride(family: "apns", json: #"{"aps":{"alert":"\#(text)"}}"#)
            ]
        }
        #expect(request.body.text.utf8.count == 4_096)
        #expect(request.body.at("aps", "alert").hasSuffix("x…"))
        await rig.end()
    }

    @Test func `texts that the app has are named, with what fills them`() async throws {
        let rig = try await rig()
        let request = try await rig.render {
            $0.title = "fallback"
            $0.body = "B"
            $0.overrides = [
                PayloadOverride(
                    family: "localized",
                    json: #"{"title":{"loc_key":"REPLY","loc_args":["Ann","5"]}}"#)
            ]
        }
        #expect(
            request.body["aps"]?["alert"]
                == (try JSONValue.parse(
                    #"{"title-loc-key":"REPLY","title-loc-args":["Ann","5"],"body":"B"}"#)))
        await rig.end()
    }

    @Test(arguments: ["ticket-5", String(repeating: "é", count: 40), " a\tb "])
    func `a withdrawal is a background push that names what is shown`(key: String) async throws {
        let rig = try await rig()
        let shown = try await rig.render {
            $0.title = "T"
            $0.collapse = key
        }
        let request = try await rig.render {
            $0.isWithdrawn = true
            $0.collapse = key
            $0.badge = 1
            $0.priority = .high
        }
        let name = try #require(shown.headers["apns-collapse-id"])
        #expect(
            request.body
                == .object([
                    .init("aps", .object([.init("content-available", .integer(1))])),
                    .init("signalbox", .object([.init("withdraw", .string(name))])),
                ]))
        #expect(request.headers["apns-push-type"] == "background")
        #expect(request.headers["apns-priority"] == "5")
        // It replaces one that still waits at Apple.
        #expect(request.headers["apns-collapse-id"] == name)
        await rig.end()
    }

    @Test func `what cannot succeed is settled without a request`() async throws {
        let rig = try await rig()
        let good = SendRig.note { $0.body = "b" }
        let blob = #"{"id":"\#(String(repeating: "x", count: 4096))"}"#
        let large = SendRig.note { $0.data = blob }
        let voip = SendRig.note {
            $0.pushType = "voip"
            $0.data = blob
        }
        let type = SendRig.note { $0.pushType = "nonsense" }
        let aps = SendRig.note { $0.data = #"{"aps":{}}"# }
        let (requests, settled) = try await rig.prepare([
            SendRig.delivery(1, token: "not hex", good),
            SendRig.delivery(2, token: "a/../b", good),
            SendRig.delivery(3, token: "", good), SendRig.delivery(4, large),
            SendRig.delivery(5, voip), SendRig.delivery(6, type), SendRig.delivery(7, aps),
            SendRig.delivery(8, good),
        ])
        #expect(requests.map(\.items) == [[5], [8]])
        let reasons = settled.sorted { $0.item < $1.item }.map(\.reason)
        #expect(
            reasons == [
                "malformed_token", "malformed_token", "malformed_token", "PayloadTooLarge",
                "unknown_push_type", "reserved_data_key",
            ])
        #expect(settled.allSatisfy { $0.kind == .rejected })
        await rig.end()
    }

    @Test(arguments: [
        (400, "BadTopic", Outcome.Kind.config, Outcome.Scope.app, false),
        (400, "MissingTopic", .config, .app, false), (400, "TopicDisallowed", .config, .app, false),
        (400, "DeviceTokenNotForTopic", .config, .item, false),
        (400, "BadDeviceToken", .rejected, .item, false),
        (400, "BadCollapseId", .rejected, .item, false),
        (400, "BadExpirationDate", .rejected, .item, false),
        (400, "BadMessageId", .rejected, .item, false),
        (400, "BadPriority", .rejected, .item, false),
        (400, "InvalidPushType", .rejected, .item, false),
        (400, "DuplicateHeaders", .rejected, .item, false),
        (400, "MissingDeviceToken", .rejected, .item, false),
        (400, "PayloadEmpty", .rejected, .item, false), (400, "IdleTimeout", .retry, .item, true),
        (403, "ExpiredProviderToken", .auth, .item, true),
        (403, "InvalidProviderToken", .config, .instance, false),
        (403, "MissingProviderToken", .config, .instance, false),
        (403, "UnrelatedKeyIdInToken", .config, .instance, false),
        (403, "BadEnvironmentKeyIdInToken", .config, .instance, false),
        (403, "BadEnvironmentKeyInToken", .config, .instance, false),
        (403, "BadCertificate", .config, .instance, false),
        (403, "BadCertificateEnvironment", .config, .instance, false),
        (403, "Forbidden", .config, .instance, false), (404, "BadPath", .rejected, .item, false),
        (405, "MethodNotAllowed", .rejected, .item, false),
        (410, "Unregistered", .unregistered, .item, false),
        (410, "ExpiredToken", .unregistered, .item, false),
        (413, "PayloadTooLarge", .rejected, .item, false),
        (429, "TooManyProviderTokenUpdates", .retry, .item, true),
        (429, "TooManyRequests", .throttled, .item, false),
        (500, "InternalServerError", .retry, .item, false),
        (503, "ServiceUnavailable", .retry, .item, false), (503, "Shutdown", .retry, .item, true),
        (403, "NeverHeardOf", .config, .instance, false),
        (401, "NeverHeardOf", .config, .instance, false), (407, "", .config, .instance, false),
        (418, "Teapot", .rejected, .item, false),
        (599, "", .retry, .item, false), (410, "", .rejected, .item, false),
        (410, "NeverHeardOf", .rejected, .item, false), (302, "", .retry, .item, false),
        (999, "", .retry, .item, false),
    ])
    func `every reason has its class`(
        status: UInt32, reason: String, kind: Outcome.Kind, scope: Outcome.Scope, reconnect: Bool
    ) async throws {
        let rig = try await rig()
        let outcome = try rig.outcome(status, #"{"reason":"\#(reason)"}"#)
        #expect(outcome.kind == kind)
        #expect(outcome.scope == scope)
        #expect(outcome.reconnect == reconnect)
        #expect(!outcome.reason.isEmpty)
        #expect(outcome.retryAfterMs == 0)
        if kind == .auth { #expect(outcome.credential == "provider_token") }
        await rig.end()
    }

    @Test func `a dead token has Apple's time, a bad one only once the app is proven`() async throws
    {
        let rig = try await rig()
        let gone = try rig.outcome(410, #"{"reason":"Unregistered","timestamp":1700000000456}"#)
        #expect(gone.goneSinceUnixMs == 1_700_000_000_456)
        #expect(try rig.outcome(400, #"{"reason":"BadDeviceToken"}"#).kind == .rejected)
        let good = try rig.outcome(200, "", headers: [Attribute("apns-id", "u-1")])
        #expect(good.kind == .delivered && good.providerID == "u-1")
        #expect(try rig.outcome(400, #"{"reason":"BadDeviceToken"}"#).kind == .unregistered)
        await rig.end()
    }

    @Test func `an answer that is not JSON is classified by its status`() async throws {
        let rig = try await rig()
        #expect(try rig.outcome(503, "<html>").kind == .retry)
        #expect(try rig.outcome(400, "").kind == .rejected)
        await rig.end()
    }

    @Test(arguments: [
        ("", "https://api.push.apple.com:443"),
        (#","port":2197"#, "https://api.push.apple.com:2197"),
        (#","environment":"sandbox""#, "https://api.sandbox.push.apple.com:443"),
        (#","endpoint":"https://127.0.0.1:9","ca":"/tmp/ca.pem""#, "https://127.0.0.1:9"),
    ])
    func `endpoints`(more: String, origin: String) async throws {
        let rig = try await rig(more)
        let endpoint = try await rig.role.endpoint(app: "")
        #expect(endpoint.origin == origin)
        #expect(endpoint.isOneStreamFirst)
        #expect(!endpoint.isALPNRequired)
        #expect(endpoint.caFile == (more.contains("ca.pem") ? "/tmp/ca.pem" : nil))
        await #expect(throws: PluginFault.self) { try await rig.role.endpoint(app: "com.other") }
        await rig.end()
    }

    @Test func `further topics are apps of their own`() async throws {
        let rig = try await rig(#","topics":["com.example.two"]"#)
        #expect(try await rig.role.endpoint(app: "com.example.two").isOneStreamFirst)
        let note = SendRig.note { $0.body = "b" }
        let (requests, _) = try await rig.prepare(
            app: "com.example.two", [SendRig.delivery(1, note)])
        #expect(requests.first?.headers["apns-topic"] == "com.example.two")
        await rig.end()
    }

    @Test(arguments: [
        (#"{"topic":"a"}"#, "give key"),
        (#"{"topic":"a","key":"k"}"#, "key_id and team_id"),
        (
            #"{"topic":"a","key":"k","certificate":"c","certificate_key":"d"}"#,
            "not both"
        ),
        (#"{"key":"k","key_id":"k","team_id":"t"}"#, "needs topic"),
        (#"{"topic":"a","certificate":"nonsense"}"#, "neither PEM nor PKCS#12"),
        (#"{"apps":[{"topic":"a"}]}"#, "apps.0: give key"),
    ])
    func `credentials that do not fit together are refused`(
        config: String, words: String
    ) async throws {
        let fault = await #expect(throws: PluginFault.self) {
            try await PluginRig.bundledInstance(
                "APNs", config: config, services: RigServices())
        }
        #expect(fault?.message.contains(words) == true)
    }
}
