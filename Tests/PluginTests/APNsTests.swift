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
                    .init("aps", ["content-available": 1]),
                    .init("signalbox", ["withdraw": .string(name)]),
                ]))
        #expect(request.headers["apns-push-type"] == "background")
        #expect(request.headers["apns-priority"] == "5")
        // It replaces one that still waits at Apple.
        #expect(request.headers["apns-collapse-id"] == name)
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
        #expect(endpoint.isShared)
        #expect(!endpoint.isALPNRequired)
        #expect(endpoint.caFile == (more.contains("ca.pem") ? "/tmp/ca.pem" : nil))
        await #expect(throws: PluginFault.self) { try await rig.role.endpoint(app: "com.other") }
        await rig.end()
    }
}
